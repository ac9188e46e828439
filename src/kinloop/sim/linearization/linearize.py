"""A and B of steps: the kernels that compute them, and how they are asked.

First the step itself is taken, which finds the impulses of its contacts; then one kernel differentiates at that
solution: a recursion where one serves (`recursive`, `recursive_loops`), else the graph of the step along all directions
(`directional`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from kinloop.errors import MethodError
from kinloop.model.parameters import parameter_value
from kinloop.scalar import Array
from kinloop.sim.contact.pair_contact import PairContact
from kinloop.sim.engine import Engine
from kinloop.sim.linearization.directional import DirectionalStep
from kinloop.sim.linearization.recursive import RecursiveStep, is_simple, serves
from kinloop.sim.linearization.recursive_loops import RecursiveLoopStep
from kinloop.sim.linearization.slot_slopes import Slopes, SlotSlopes
from kinloop.sim.linearization.slot_steps import SlotStep
from kinloop.sim.linearization.traced import Traced
from kinloop.sim.state import RUNNING, State
from kinloop.sim.stepper import StepMethod

METHODS = ("recursive", "graph")

AT_ONCE = 4096
"""Directions that the kernel of `directional` takes in one call, about, which keeps its arrays small."""


@dataclass(frozen=True)
class Linearization:
    """A step's derivatives A (B, 2 nv, 2 nv) and B (B, 2 nv, nu), and the active set at which they hold.

    `contacts` (B, candidates) are `ContactMode`s: 0 open, 1 sticking, 2 sliding. `joints` (B, joints with stops or dry
    friction) are `JointMode`s: 0 free, 1 held by dry friction, 2 at its lower stop, 3 at its upper one; `joint_names`
    says which joints. `residual` (B,) is by how much the equations of the active set are missed [m/s, rad/s]. `next` is
    the state that the step leads to. It can be unpacked: `A, B = sim.linearize(state, u)`.
    """

    A: Array
    B: Array
    contacts: Array
    joints: Array
    joint_names: tuple[str, ...]
    residual: Array
    next: State

    def __iter__(self) -> Iterator[Array]:
        return iter((self.A, self.B))


def solution(rows: int) -> slice:
    """Where in the memory after a step the impulses are that solve its contact problem, so many.

    Behind them is whether they were looked for in vain.
    """
    return slice(-rows - 1, -1)


class Directions(NamedTuple):
    """Directions, a line each: along q, v, u, and along parameters."""

    dy: Array
    dv: Array
    du: Array
    dp: Array

    @staticmethod
    def of_state(nv: int, nu: int) -> Directions:
        """Along every coordinate, velocity and control."""
        unit = np.eye(2 * nv + nu)
        return Directions(unit[:, :nv], unit[:, nv : 2 * nv], unit[:, 2 * nv :], unit[:, :0])

    @staticmethod
    def of_parameters(nv: int, nu: int, count: int) -> Directions:
        """Along every number of the parameters."""
        none = np.zeros((count, nv))
        return Directions(none, none, np.zeros((count, nu)), np.eye(count))


class Linearizer:
    """The derivatives of an engine's steps, by kernels that are made when first asked for."""

    def __init__(self, engine: Engine, method: StepMethod) -> None:
        if engine.system.open.names:
            raise MethodError("derivatives of steps are those of one robot; make a Simulator without open numbers")
        if engine.system.drive.states:
            names = ", ".join(
                repr(engine.system.drive.motors[k].joint) for k in dict.fromkeys(engine.system.drive.states)
            )
            raise MethodError(f"steps with activations have no derivatives ({names}); give motors=[...]")
        self.engine, self.method = engine, method
        contact = engine.system.contact
        self.pairs = contact if isinstance(contact, PairContact) else None
        self._directional: dict[tuple[str, ...], Any] = {}
        self.recursive_serves = serves(engine.robot.tree, engine.system, method)

    @cached_property
    def recursion(self) -> RecursiveStep | RecursiveLoopStep:
        """What gives A and B where recursions serve, as a function of symbols."""
        tree, system = self.engine.robot.tree, self.engine.system
        return RecursiveStep(system) if is_simple(tree, system) else RecursiveLoopStep(tree, system)

    @cached_property
    def recursive(self) -> Any:
        """The kernel of `recursion`."""
        inputs = self.recursion.inputs()
        return self.engine.kernel("linearized_step", Traced(self.recursion, inputs), inputs)

    def directional(self, parameters: tuple[str, ...] = ()) -> Any:
        """The kernel of `directional`, with some parameters of the robot open."""
        if parameters not in self._directional:
            kind = SlotStep if self.pairs else DirectionalStep
            step = kind(self.engine.robot.tree, self.engine.system, self.method, parameters)
            name = "_".join(["directional_step", *parameters])
            self._directional[parameters] = self.engine.kernel(name, Traced(step, step.inputs()), step.inputs())
        return self._directional[parameters]

    def chosen(self, method: str | None) -> str:
        """The method to use: as asked, or the fastest that serves."""
        if method is None:
            return "recursive" if self.recursive_serves else "graph"
        if method not in METHODS:
            raise MethodError(f"method {method!r} of linearize is not one of {', '.join(map(repr, METHODS))}")
        if method == "recursive" and not self.recursive_serves:
            raise MethodError(
                "method 'recursive' of linearize takes the semi_implicit integrator without forces of users, contacts "
                "of free bases without restitution, motors and stops on single coordinates; leave method out"
            )
        return method

    def __call__(
        self, q: Array, v: Array, u: Array, t: Array, after: State, dt: float, threads: int | None, method: str
    ) -> Linearization:
        """The derivatives of steps of length dt from (q, v) at times t (B,) under u (B, nu) to the states `after`."""
        contact, nv = self.engine.system.contact, self.engine.robot.nv
        impulses = self._impulses(after) if not self.pairs else np.zeros((len(q), 0))
        doubt = np.zeros(len(q), dtype=bool)
        if self.pairs:
            directions = Directions.of_state(nv, u.shape[1])
            change, missed, slopes = self._slots(directions, (), q, v, u, t, after, dt)
            contacts, joints, doubt = slopes.contacts, slopes.joints, slopes.doubt[:, 0] > 0.5
            A, B = change[..., : 2 * nv], change[..., 2 * nv :]
        elif method == "recursive":
            given = (q, v, u, impulses, np.full((len(q), 1), dt))
            A, B, missed, contacts, joints = self.recursive(*given, threads=threads)
        else:
            directions = Directions.of_state(nv, u.shape[1])
            change, missed, contacts, joints = self._along(directions, (), q, v, u, t, impulses, dt, threads)
            A, B = change[..., : 2 * nv], change[..., 2 * nv :]
        lost = (after.status != RUNNING) | (after.pace[:, 0] > 1) | doubt
        if contact:
            lost = lost | (after.memory[:, -1] > 0.0)  # impulses were looked for in vain
        if lost.any():
            A, B = (np.where(lost[:, None, None], np.nan, x) for x in (A, B))
        names = tuple(j.name(self.engine.tree.top) for j in contact.joints) if contact else ()
        touching, stopped = (np.asarray(x).astype(int) for x in (contacts, joints))
        return Linearization(A, B, touching, stopped, names, np.asarray(missed)[:, 0], after)

    def of_parameters(
        self, names: tuple[str, ...], q: Array, v: Array, u: Array, t: Array, after: State, dt: float,
        threads: int | None,
    ) -> Array:  # fmt: skip
        """How the end of a step changes with parameters of the robot (B, 2 nv, numbers of all of them)."""
        if not self.engine.system.drive.is_plain:
            raise MethodError("derivatives by parameters need motors on single coordinates; give motors=[...]")
        values = np.concatenate([parameter_value(self.engine.robot.tree.top, name) for name in names])
        directions = Directions.of_parameters(v.shape[1], u.shape[1], len(values))
        if self.pairs:
            return self._slots(directions, names, q, v, u, t, after, dt, values)[0]
        return self._along(directions, names, q, v, u, t, self._impulses(after), dt, threads, values)[0]

    def _slots(
        self, directions: Directions, names: tuple[str, ...], q: Array, v: Array, u: Array, t: Array, after: State,
        dt: float, values: Array | None = None,
    ) -> tuple[Array, Array, Slopes]:  # fmt: skip
        """Changes as `_along` gives them, of steps with contact between bodies, and what the kernel says there."""
        assert self.pairs is not None, "slots belong to contact between bodies"
        p = np.tile(np.zeros(0) if values is None else values, (len(q), 1))
        given = {"q": q, "v": v, "u": u, "h": np.full((len(q), 1), dt), "p": p, "clock": t[:, None]}
        slopes = SlotSlopes(self.directional(names), self.pairs, given, after.memory)
        change, missed = slopes.along(directions._asdict())
        return change, missed[:, None], slopes.at

    def _impulses(self, after: State) -> Array:
        """The solution of the contact problem of a step to `after`: what the next one would begin with."""
        contact = self.engine.system.contact
        return np.ascontiguousarray(after.memory[:, solution(contact.size)]) if contact else np.zeros((len(after), 0))

    def _along(
        self, directions: Directions, names: tuple[str, ...], q: Array, v: Array, u: Array, t: Array, impulses: Array,
        dt: float, threads: int | None, values: Array | None = None,
    ) -> tuple[Array, Array, Array, Array]:  # fmt: skip
        """Changes (B, 2 nv, directions), and what else the kernel says, state by state."""
        n, found = len(directions.dv), []
        size = max(1, AT_ONCE // n)
        for k in range(0, len(q), size):
            here = slice(k, k + size)
            count = len(q[here])
            states = [np.repeat(x[here], n, axis=0) for x in (q, v, u, impulses)]
            clock = [np.repeat(t[here, None], n, axis=0)] if self.engine.system.clock else []
            *steps, dp = (np.tile(x, (count, 1)) for x in directions)
            p = np.tile(np.zeros(0) if values is None else values, (count * n, 1))
            kernel = self.directional(names)
            out = kernel(*states, np.full((count * n, 1), dt), *steps, p, dp, *clock, threads=threads)
            found.append([np.asarray(x).reshape(count, n, -1) for x in out])
        change, missed, contacts, joints = (np.concatenate(x) for x in zip(*found, strict=True))
        return change.transpose(0, 2, 1), missed[:, 0], contacts[:, 0], joints[:, 0]
