"""The map that is linearised: one step of length dt from a state without memory, in the robot's own coordinates.

(q, v) and controls u lead to (q', v'), as `Simulator.step` leads from a fresh state: the integrator remembers nothing
but what it works out itself for a row that begins. v' is the velocity that a rollout records, the nearest which the
loops allow at q'. Small changes of q and q' are steps dy of the independent coordinates, q + dy = integrate(q, dy).
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.algorithms.trees.kinematics import scatter
from kinloop.clusters import ClusterTree
from kinloop.scalar import Array
from kinloop.sim.linearization.active_set import ActiveSet
from kinloop.sim.on_loops import projected
from kinloop.sim.smooth_motion import position_rate
from kinloop.sim.stepper import StepMethod, System


class Step(NamedTuple):
    """Where a step leads: positions, spanning velocities there that the loops allow, and its contacts, if any."""

    q: Array
    qd: Array
    active: ActiveSet | None


def fresh_step(
    system: System, method: StepMethod, q: Array, qd: Array, u: Array, impulses: Array | None, h: float
) -> Step:
    """One step from a state without memory, with the solution `impulses` of its contact problem known, if given."""
    active = ActiveSet(impulses) if system.contact and impulses is not None else None
    if system.contact and active:
        system = replace(system, contact=system.contact.solved_by(active))
    memory = np.zeros(method.memory_size(system))
    if method.has_start(system):
        found, lost = method.starting_memory(system, q, qd, u, h)
        memory = sc.where(lost, memory, found)
    moved = method.step(system, q, qd, memory, u, h)
    return Step(moved.q, projected(system.tree, moved.q, moved.qd), active)


def spanning_velocity(tree: ClusterTree, q: Array, v: Array) -> Array:
    """G v in the robot's own coordinates."""
    return scatter(tree, [tree.jacobian(c, q) @ v[c.v] for c in tree])


def position_change(tree: ClusterTree, q: Array, dy: Array) -> Array:
    """How the numbers q change along a step dy of the independent coordinates."""
    return position_rate(tree.top, q, spanning_velocity(tree, q, dy))
