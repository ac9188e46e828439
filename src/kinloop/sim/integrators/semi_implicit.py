"""The semi-implicit step: the symplectic leapfrog on closed loops, with contact.

A step moves by half with the old velocity, accelerates there, and moves by half with the new one. Velocity products
are taken at the middle of the step too, predicted with the acceleration of the step before, so that tumbling bodies
and linkages keep their energy to second order, and flight is a parabola. Damping, springs and servos without a force
limit are taken implicitly (`actuators`), impulses of contacts, joint stops and dry friction at the middle (`contact`).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from kinloop.algorithms.trees.articulated import articulate
from kinloop.algorithms.trees.kinematics import motion
from kinloop.clusters import ClusterTree
from kinloop.clusters.closing import close_dependents
from kinloop.scalar import Array
from kinloop.sim.actuators import Drive, implicit_tree, joint_forces
from kinloop.sim.integrators.fixed_step import FixedStep
from kinloop.sim.smooth_motion import SmoothMotion, accelerate, spanning
from kinloop.sim.stepper import Moved, System
from kinloop.sim.turning_axes import transport, turned

MIDDLE_ROUNDS = 1
"""Rounds of Newton that close the loops at the middle of a step, where only forces are evaluated."""


class SemiImplicit(FixedStep):
    """The leapfrog: order 2 in flight, 1 in contact; the only integrator with contact, joint stops, dry friction."""

    name = "semi_implicit"
    has_contact = True

    def memory_size(self, system: System) -> int:
        """The smooth acceleration of the last step, and its impulses."""
        return system.tree.nv + (system.contact.size if system.contact else 0)

    def prepared(self, system: System) -> System:
        return replace(system, tree=implicit_tree(system.tree, system.drive, system.dt))

    def step(self, system: System, q: Array, v: Array, qd: Array, memory: Array, u: Array) -> Moved:
        h, tree, top, contact = system.dt, system.tree, system.tree.top, system.contact
        middle, _ = close_dependents(tree, top.integrate(q, _half_step(tree, v, qd, h)), MIDDLE_ROUNDS)
        bodies = contact.bodies if contact else ()
        here = turned(tree, v, 0.5 * h)
        s, v_free = at_the_middle(tree, system.drive, middle, here, memory[: tree.nv], u, h, bodies)
        grown = (1.0 / h) * (v_free - here)
        if contact:
            hit = contact(tree, s, middle, here, v_free, memory[tree.nv :], h)
            v_next, travel, records = hit.v, hit.travel, hit.records
        else:
            v_next = turned(tree, v_free, 0.5 * h)
            travel, records = 0.5 * h * v_next, {}
        memory = np.concatenate([grown, *([hit.impulses] if contact else [])])
        # dependents to second order, so that two rounds of Newton close them to rounding
        shift = spanning(tree, s.kin, travel) + (0.125 * h * h) * s.g
        q_next, correction = close_dependents(tree, top.integrate(middle, shift))
        qd_next = spanning(tree, s.kin, v_next) + (0.5 * h) * s.g
        return Moved(q_next, v_next, qd_next, memory, correction, middle, records)


def _half_step(tree: ClusterTree, v: Array, qd: Array, h: float) -> Array:
    """The spanning step to the middle: independents with v exactly, dependents as they were heading."""
    shift = np.array(qd, dtype=np.result_type(qd, v))
    for c in tree:
        for a, i in enumerate(c.chart.independent):
            shift[c.dofs[i]] = v[c.v.start + a]
    return 0.5 * h * shift


def at_the_middle(
    tree: ClusterTree, drive: Drive, q: Array, v: Array, before: Array, u: Array, h: float, turning: Collection[int]
) -> tuple[SmoothMotion, Array]:
    """The smooth motion of a step whose middle is at q, and the velocity at its end without impulses.

    Velocity products are taken at the middle, predicted with the acceleration `before` of the last step, all other
    forces with the velocity v at the start. Velocities are in the axes of the middle, which do not turn.
    """
    v_mid = v + (0.5 * h) * before
    kin = motion(tree, q, v_mid, turning)
    f = joint_forces(drive, q, spanning(tree, kin, v), u)
    s = accelerate(tree, kin, articulate(tree, kin), q, f)
    return s, v + h * (s.a + transport(tree, v_mid))
