"""Steps with contact between bodies, with their impulses known: the kernel of what changes along a direction.

Contacts lie in slots whose bodies are known only while a kernel runs. The kernel takes impulses x of all slots (along
their own rows) and of joints, and gives the equations F(state, x) of the active set (`active_set`), the end of the
step, and how both change along a direction in states and impulses. What remains is in `slot_slopes`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from kinloop import scalar as sc
from kinloop.algorithms.trees.kinematics import independent_change
from kinloop.clusters import ClusterTree
from kinloop.scalar import Array
from kinloop.sim.contact.contact_block import TINY
from kinloop.sim.contact.contact_frame import Measured, measured
from kinloop.sim.contact.impact import Hit, ended
from kinloop.sim.contact.joint_stops import joint_paths
from kinloop.sim.contact.pair_contact import PairContact
from kinloop.sim.contact.propagation import response
from kinloop.sim.contact.restitution import Bounce, rebound
from kinloop.sim.contact.row_steps import ContactRow
from kinloop.sim.contact.slot_solver import ROUGH
from kinloop.sim.contact.start_geometry import Start
from kinloop.sim.contact.touch import gravity_of, lowest_rate
from kinloop.sim.linearization.active_set import (
    Chosen,
    contact_choice,
    contact_missed,
    joint_missed,
    joint_mode,
    turning_missed,
)
from kinloop.sim.linearization.directional import DirectionalStep
from kinloop.sim.linearization.step_map import fresh_step, position_change, spanning_velocity
from kinloop.sim.smooth_motion import SmoothMotion


class KnownPairs(PairContact):
    """Contact between bodies with its impulses known, along the rows of every slot and of joints.

    Called once, while a step is computed: from then on it has `missed`, F of the active set, `axes` (slots, 3, 3) of
    the contacts, and `contacts` and `joint_modes`, the active set as numbers; `doubt` says that contacts are searched
    for between steps.
    """

    def __init__(self, contact: PairContact, impulses: Array) -> None:
        self.__dict__.update(contact.__dict__)
        self.impulses, self.doubt = impulses, False
        self.missed, self.axes, self.codes, self.joint_modes = (np.zeros(0),) * 4

    def begun(self, q: Array, qd: Array) -> KnownPairs:
        self.start = Start(q, qd) if self.flies else None
        return self

    def __call__(
        self, tree: ClusterTree, s: SmoothMotion, q: Array, v: Array, v_free: Array, drift: Array, memory: Array, h: Any
    ) -> Hit:
        """Where these impulses lead a step that goes from v to v_free without them."""
        carry, rows, count, near = self.filled_slots(tree, s, v, v_free, drift, memory, h)
        self.doubt = near.waits
        bounce, n = self.first_hit(carry), self.slots * self.rows
        each = [measured(row, tree.nv, self.rows) for row in rows]
        there = [float(k) < count for k in range(self.slots)]
        x = self.impulses[:n].reshape(self.slots, self.rows)
        contacts = [self._row(m, t, bounce, gravity_of(tree.top), h) for m, t in zip(each, there, strict=True)]
        paths = joint_paths(self.joints, tree, s, q, v, v_free, drift, h)
        joints = [p.row(tree, s, j.rubs) for j, p in zip(self.joints, paths, strict=True)]
        w = np.zeros(tree.nv)
        for (_, z, _), p in zip(contacts, x, strict=True):
            w = w + p @ z
        for j, p in zip(joints, self.impulses[n:], strict=True):
            w = w + _spread(p * j.z, j.at, tree.nv)
        chosen = [_choice(row, p, u + z @ w) for (row, z, u), p in zip(contacts, x, strict=True)]
        missed = [y for k, c in enumerate(contacts) for y in self._missed(*c, each[k], chosen[k], x[k], w, there[k])]
        self.joint_modes = np.array([joint_mode(j, p, j.rubs) for j, p in zip(joints, self.impulses[n:], strict=True)])
        for j, mode, p in zip(joints, self.joint_modes, self.impulses[n:], strict=True):
            velocity = j.u + j.z @ w[j.at]
            missed.append(joint_missed(j, mode, velocity if j.is_stiff else velocity + j.soft * p, p, j.own + TINY))
        self.missed, self.codes = np.array(missed), np.array([c.code for c in chosen])
        self.axes = np.array([[sc.where(t, y, 0.0) for y in m.axes.flat] for m, t in zip(each, there, strict=True)])
        change = response(tree, s.kin, s.art, w, s.soft)
        factor = rebound(tree, s, q, v + bounce.when * (v_free - v), change, w, bounce)
        flying: Any = True
        for p in x:
            flying = sc.logical_and(flying, p[0] <= 0.0)
        for path in paths:
            flying = sc.logical_and(flying, path.inside)
        return ended(tree, v, v_free, drift, factor * change, bounce, flying, np.zeros(self.memory_size), {}, h, True)

    def _row(self, m: Measured, there: Any, bounce: Bounce, gravity: float, h: Any) -> tuple[ContactRow, Array, Array]:
        """A contact's row, all its lines z and their free velocities; nothing in a slot that is not filled."""
        bound = bounce.bound(lowest_rate(gravity, m.gap, h), m.gap, m.before, m.after, h)
        z, u = (sc.where(there, x, 0.0) for x in (m.z, bounce.at(m.before, m.after)))
        bound, mu = sc.where(there, bound, 0.0), sc.where(there, m.friction[0], 0.0)
        return ContactRow(z[:3], list(range(z.shape[1])), u[:3], bound, mu), z, u

    def _missed(
        self, row: ContactRow, z: Array, u: Array, m: Measured, chosen: Chosen, p: Array, w: Array, there: Any
    ) -> list[Any]:
        """F of a slot; of one that is not filled its impulse."""
        velocity = u + z @ w
        out = contact_missed(row, chosen, velocity[:3], p[:3], z[0] @ z[0])
        for k, at in zip(range(1, 3), (slice(3, 4), slice(4, 6)), strict=True):
            if at.start < self.rows:
                limit, size = m.friction[k] * p[0], z[at.start] @ z[at.start] + TINY
                out += turning_missed(velocity[at], p[at], limit, chosen.presses, size)
        return [sc.where(there, y, own) for y, own in zip(out, p, strict=True)]


def _choice(row: ContactRow, p: Array, velocity: Array) -> Chosen:
    """What a contact does; one at the edge of its cone that does not slip sticks, since others of its body hold it."""
    found = contact_choice(row, p)
    slip = velocity[1:3]
    return found._replace(slides=sc.logical_and(found.slides, slip @ slip > ROUGH * ROUGH))


def _spread(x: Array, at: list[int], n: int) -> Array:
    out = np.zeros(n, dtype=object)
    out[at] = x
    return out


class SlotStep(DirectionalStep):
    """A step with known impulses, and how its end and the equations of its contacts change along a direction."""

    def inputs(self) -> dict[str, int]:
        """As those of `DirectionalStep`, and a direction along impulses."""
        sizes = super().inputs()
        clock = {name: sizes.pop(name) for name in self.system.clock}
        sizes["impulses"] = impulse_count(self.system.contact)
        return sizes | {"dx": sizes["impulses"]} | clock

    def __call__(
        self, q: Array, v: Array, u: Array, impulses: Array, h: Array, dy: Array, dv: Array, du: Array,
        p: Array, dp: Array, *more: Array,
    ) -> dict[str, Any]:  # fmt: skip
        """Changes of (q', v') and of F, F itself, axes of contacts, modes of contacts and joints."""
        dx, *clock = more
        assert isinstance(self.system.contact, PairContact), "slots belong to contact between bodies"
        tree, contact = self._opened(self.tree, p), KnownPairs(self.system.contact, impulses)
        system = replace(self.system, tree=self._opened(self.system.tree, p), contact=contact).at(*clock)
        step = fresh_step(system, self.method, q, spanning_velocity(tree, q, v), u, None, h[0])
        moving = [*q, *v, *u, *p, *impulses]
        along = [*position_change(tree, q, dy), *dv, *du, *dp, *dx]
        changed = sc.rolled_jvp(np.concatenate([step.q, step.qd, contact.missed]), moving, along)
        end = len(step.q) + len(step.qd)
        dq, dqd, dF = changed[: len(step.q)], changed[len(step.q) : end], changed[end:]
        change = np.concatenate([independent_change(tree, step.q, dq), dqd[tree.independent_dofs]])
        out = {"change": change, "dF": dF, "F": contact.missed, "axes": contact.axes.ravel()}
        doubt = np.array([sc.where(contact.doubt, 1.0, 0.0)])
        return out | {"contacts": contact.codes, "joints": contact.joint_modes, "doubt": doubt}


def impulse_count(contact: Any) -> int:
    """How many impulses a step with contact between bodies has."""
    return int(contact.slots * contact.rows + len(contact.joints))
