"""Simulation: integrators on closed loops, contact, actuation, rollouts of whole batches."""

from kinloop.sim.actuation import Motor
from kinloop.sim.result import Rollout, State, load
from kinloop.sim.simulator import Simulator

__all__ = ["Motor", "Rollout", "Simulator", "State", "load"]
