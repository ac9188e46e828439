"""Simulation: integrators on closed loops, contact, actuation, rollouts of whole batches."""

from kinloop.sim.actuation import Motor
from kinloop.sim.contact.candidates import ContactPoint, box_corners, capsule_ends
from kinloop.sim.contact.ground import HeightField, Plane
from kinloop.sim.rollout import Rollout, State, load
from kinloop.sim.simulator import Simulator

__all__ = [
    "ContactPoint", "HeightField", "Motor", "Plane", "Rollout", "Simulator", "State", "box_corners", "capsule_ends",
    "load",
]  # fmt: skip
