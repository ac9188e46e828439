"""The semi-implicit step: the leapfrog on closed loops, with contact, and with a memory where the motion is smooth.

A step moves by half with the old velocity, accelerates there, and moves by half with the new one. Velocity products
are taken at the middle of the step too, predicted from the steps before, and so are external forces of users. Damping,
springs and servos are taken implicitly (`actuators`, `implicit_springs`), impulses of contacts, joint stops and dry
friction at the middle (`contact`).

Where forces are smooth (no damping, springs or servos, nothing touches, controls stay), the accelerations of the last
steps correct the step to order 8 in linkages, 4 in other robots (`history`). So do they where the loops come so near to
a singular configuration that their accelerations are lost to rounding (`singularity`): the row passes on with the
acceleration it was going to have.

Positions and velocities are those of all joints. The tangent frame at the middle serves this one step: it takes the
velocity in, as the nearest that the loops allow, and what was not allowed is taken out of the velocity at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from kinloop import scalar as sc
from kinloop.algorithms.trees.articulated import articulate
from kinloop.algorithms.trees.kinematics import motion, still
from kinloop.clusters import ClusterTree
from kinloop.scalar import Array
from kinloop.sim.actuators import gear_friction, joint_forces
from kinloop.sim.contact.start_geometry import single_bodies
from kinloop.sim.implicit_motors import implicit, with_armature
from kinloop.sim.implicit_springs import Yielding, accelerate_outside
from kinloop.sim.integrators.fixed_step import FixedStep
from kinloop.sim.integrators.free_momentum import Ends, keep_momentum
from kinloop.sim.integrators.history import (
    Past,
    carried_on,
    coasted,
    combine,
    known_only,
    over_the_step,
    read_past,
    respaced,
    to_the_middle,
    too_rough,
    updated,
)
from kinloop.sim.integrators.starting import starting_memory
from kinloop.sim.on_loops import OPEN, closed, closed_twice, coordinates, spanning, with_followers
from kinloop.sim.singularity import is_blind, loop_speed, nearness
from kinloop.sim.smooth_motion import SmoothMotion, accelerate
from kinloop.sim.stepper import Moved, System
from kinloop.sim.transmissions import Setting
from kinloop.sim.turning_axes import accelerated, free_bodies, in_world, screwed, shifted, transport, turned, turned_by

ORDER = 8
"""Order of the smooth step of linkages, whose accelerations change fast. An even order keeps energies: what the first
difference left out does wrong is out of phase with the velocity."""

ORDER_ELSE = 4
"""Order of the smooth step without loops, that of a body which turns freely in space (`turning_axes.screwed`), and of
robots with many joints."""

FEW = 12
"""Linkages with more drivers (`on_loops.drivers`) are robots: there a longer history would cost an eighth of the step,
and order 4 keeps energies to 1e-8 as well."""

PREDICTED = 3.0
"""From so many known differences on the middle is predicted better than Newton's method could close it."""


Closing = Callable[[ClusterTree, Array, Any], tuple[Array, Any]]
"""What `on_loops.closed` does: from positions, and whether loops are to be closed, to positions and a size."""


class SemiImplicit(FixedStep):
    """The leapfrog: order 8 in smooth motion of linkages, else 4, 2 with springs, 1 with damping and in contact."""

    name = "semi_implicit"
    has_contact = True

    def memory_size(self, system: System) -> int:
        """The numbers of a `Past`."""
        impulses = system.contact.memory_size if system.contact else 0
        return kept_differences(system) * len(system.drivers) + 2 + system.nu + impulses

    def has_start(self, system: System) -> bool:
        return system.is_smooth and system.bends

    def starting_memory(self, system: System, q: Array, qd: Array, u: Array, h: Any) -> tuple[Array, Any]:
        impulses = system.contact.memory_size if system.contact else 0
        return starting_memory(system, kept_differences(system), q, qd, u, h, impulses, bool(_straight(system)))

    def respaced(self, system: System, memory: Array, h: float) -> Array:
        return respaced(memory, kept_differences(system), len(system.drivers), h, since=0.5)

    def middle(self, system: System, q: Array, qd: Array, memory: Array, u: Array, h: Any) -> tuple[Array, Array]:
        """Positions and spanning velocities at the middle of a step, where it looks at contacts."""
        past = read_past(memory, kept_differences(system), len(system.drivers), np.array([h, *u]))
        return predicted(system.tree, system, q, qd, past, h)[:2]

    def step(self, system: System, q: Array, qd: Array, memory: Array, u: Array, h: Any) -> Moved:
        past = read_past(memory, kept_differences(system), len(system.drivers), np.array([h, *u]))
        before = with_followers(system.tree, past.differences[0])
        extra, linear = implicit(system.drive, q, qd, before, u, h)
        tree = with_armature(system.tree, extra)
        middle, qd_mid, way = predicted(tree, system, q, qd, past, h)
        bodies = system.contact.bodies if system.contact else ()
        base = still(tree, middle).embedding
        s, here, v_free, outside = _at_the_middle(tree, system, middle, qd, qd_mid, base, way, u, linear, h, bodies)
        G = s.kin.embedding
        near = nearness(tree, middle)
        a = _accelerations(tree, system, s, middle)[system.drivers]
        off = qd_mid - spanning(tree, G, coordinates(tree, base, qd_mid))
        blind = is_blind(near, loop_speed(tree, qd), h)
        if system.bends:
            a, off = carried_on(a, past.differences, past.known, blind), sc.where(blind, 0.0, 1.0) * off
        moved = _finish(tree, system, q, qd, past, s, here, v_free, middle, a, off, near, h)
        # implicit forces are those at the start, less what the armature takes that stands for their change
        forces = joint_forces(system.drive, middle, spanning(tree, G, here), u, linear, h)
        pushed = h * forces - extra * (moved.qd - qd)
        working = pushed if outside is None else pushed + h * outside.working(moved.qd, moved.flying, h)
        moved = moved._replace(work=0.5 * (working @ (qd + moved.qd)))
        if "pushed" not in system.sensed:
            return moved
        return moved._replace(pushed=(pushed + _stopped(system, middle, moved.records)) * (1.0 / h))


def _stopped(system: System, q: Array, records: dict[str, Any]) -> Array:
    """Impulses of stops, dry friction and limits of tendons on the spanning coordinates, at the middle of a step."""
    out, at = np.zeros(system.tree.top.n_spanning, dtype=object), Setting(system.tree.top, q)
    limits = system.contact.joints if system.contact else []
    for limit, impulse in zip(limits, records.get("joint_impulse", ()), strict=True):
        for d, arm in limit.line(at).arms.items():
            out[d] = out[d] + arm * impulse
    return out


def order(system: System) -> int:
    """The order of the step in smooth motion."""
    return ORDER if system.bends and len(system.drivers) <= FEW else ORDER_ELSE


def kept_differences(system: System) -> int:
    """How many differences are kept: all where forces are smooth, else the last acceleration alone."""
    return order(system) - 1 if system.is_smooth else 1


def predicted(
    tree: ClusterTree, system: System, q: Array, qd: Array, past: Past, h: Any, closing: Closing = closed
) -> tuple[Array, Array, Array]:
    """Position and spanning velocity at the middle of the step, and the way there; `closing` closes the loops."""
    top, w = tree.top, to_the_middle(len(past.differences))
    gained = with_followers(tree, combine(known_only(w.velocity, past.known), past.differences, h))
    straight = _straight(system)
    fixed = in_world(tree, q, qd) if straight else qd
    shift, close = 0.5 * h * fixed, True
    if system.is_smooth:
        shift = shift + with_followers(tree, _bend(past, h))
        rate = with_followers(tree, past.differences[0])
        shift, close = screwed(top, shift, qd + 0.5 * gained, rate, 0.5 * h, straight), past.known < PREDICTED
    middle = closing(tree, shifted(tree, q, shift) if straight else top.integrate(q, shift), close)[0]
    return middle, in_world(tree, middle, fixed + gained, back=True) if straight else qd + gained, shift


def _straight(system: System) -> list[int]:
    """Free bodies whose linear velocity is brought forward in the axes of the world: those that may meet others.

    They go straight on where nothing pushes, so that what meets keeps its momentum to rounding.
    """
    return free_bodies(system.tree) if system.contact and system.contact.crowds else []


def _accelerations(tree: ClusterTree, system: System, s: SmoothMotion, middle: Array) -> Array:
    """Spanning accelerations at the middle; the linear ones of bodies that go straight in the axes of the world."""
    qdd = spanning(tree, s.kin.embedding, s.a) + s.g
    return accelerated(tree, middle, s.qd, qdd) if _straight(system) else qdd


def drift_of(tree: ClusterTree, system: System, past: Past, h: Any, base: Any, middle: Array) -> Array:
    """What the predicted middle has beyond half a step with the old velocity, in the coordinates of the middle."""
    if not system.is_smooth:
        return np.zeros(tree.nv)
    bend = with_followers(tree, _bend(past, h))
    return coordinates(tree, base, in_world(tree, middle, bend, back=True) if _straight(system) else bend)


def _bend(past: Past, h: Any) -> Array:
    """What accelerations add to half a step with the old velocity."""
    w = to_the_middle(len(past.differences)).position
    return combine(known_only(w, past.known), past.differences, h * h)


def _at_the_middle(
    tree: ClusterTree, system: System, q: Array, qd: Array, qd_mid: Array, base: Any, way: Array, u: Array,
    linear: Sequence[Any], h: Any, turning: Collection[int],
) -> tuple[SmoothMotion, Array, Array, Yielding | None]:  # fmt: skip
    """The smooth motion at the middle q, and the independent velocities at the start and at the end without impulses.

    Velocity products and external forces are taken at the middle, all other forces with the velocity at the start. Both
    velocities are in the axes of the middle, to which `way` leads and which do not turn. Last the forces of users, if
    there are any.
    """
    v = coordinates(tree, base, qd)
    here = turned_by(tree, v, coordinates(tree, base, way))
    v_mid = coordinates(tree, base, qd_mid)
    kin = motion(tree, q, v_mid, turning)
    rates = spanning(tree, kin.embedding, here)
    f = joint_forces(system.drive, q, rates, u, linear, h)
    art, beyond = articulate(tree, kin), transport(tree, v_mid)
    outside: Yielding | None = None
    if system.outside:
        touching = system.contact is not None
        outside = accelerate_outside(tree, system.outside, kin, art, q, f, here, beyond, u, h, turning, touching)
        s = outside.s
    else:
        s = accelerate(tree, kin, art, q, f)
    if system.drive.rubbing:
        s = s._replace(rub=gear_friction(system.drive, q, rates, u, linear, h))
    return s, here, here + h * (s.a + beyond), outside


def _finish(
    tree: ClusterTree, system: System, q: Array, qd: Array, past: Past, s: SmoothMotion, here: Array, v_free: Array,
    middle: Array, a: Array, off: Array, near: Any, h: Any,
) -> Moved:  # fmt: skip
    """The end of the step: by the history where nothing touches and forces are smooth, else by the leapfrog."""
    top, G, contact = tree.top, s.kin.embedding, system.contact
    records: dict[str, Any] = {}
    impulses, flying = past.impulses, True
    v_next, travel = turned(tree, v_free, 0.5 * h), None
    if contact:
        drift = drift_of(tree, system, past, h, G, middle)
        hit = contact.begun(q, qd)(tree, s, middle, here, v_free, drift, past.impulses, h)
        v_next, travel, records, impulses, flying = hit.v, hit.travel, hit.records, hit.memory, hit.flying
    differences = updated(a, past.differences)
    if system.is_smooth:
        w = over_the_step(len(differences))
        q_smooth, qd_smooth = coasted(tree, q, qd, differences, past.known + 1.0, w, h, _straight(system))
        qd_smooth = qd_smooth - off
    if not system.is_smooth or flying is not True:
        travel = 0.5 * h * v_next if travel is None else travel
        travel = spanning(tree, G, travel) + (0.125 * h * h) * s.g
        straight = _straight(system)
        q_plain = shifted(tree, middle, in_world(tree, middle, travel)) if straight else top.integrate(middle, travel)
        qd_plain = spanning(tree, G, v_next) + (0.5 * h) * s.g
    if not system.is_smooth:
        q_next, qd_next = q_plain, qd_plain
    elif flying is True:
        q_next, qd_next = q_smooth, qd_smooth
    else:
        q_next, qd_next = sc.where(flying, q_smooth, q_plain), sc.where(flying, qd_smooth, qd_plain)
    if contact and contact.flies:
        ends = Ends(q, qd, q_next, qd_next)
        q_next, qd_next = keep_momentum(tree, single_bodies(system.tree), s, ends, middle, here, v_free, hit, h)
    q_next, correction = closed_twice(tree, q_next, OPEN * near * near)
    if system.is_smooth:
        rough = sc.logical_and(flying, too_rough(differences, past.known + 1.0, qd[system.drivers], h))
        correction = sc.where(rough, np.inf, correction)
    over = sc.logical_or(contact.steps_over(tree, s, q, qd, q_next, qd_next, h), hit.throws) if contact else False
    correction = sc.where(over, np.inf, correction) if over is not False else correction
    kept = differences[: len(past.differences)]
    known = sc.where(flying, sc.minimum(past.known + 1.0, float(len(kept))), 0.0)
    memory = Past(kept, known, past.held, impulses).vector()
    untouched = flying if not (contact and contact.rubs) else False
    return Moved(q_next, qd_next, memory, correction, near, 0.0, records, untouched)
