"""Whole-body control: motor torques that move a robot as tasks ask, within friction and torque limits, exactly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kinloop.algorithms.requests import refuse_constrained_loops
from kinloop.control.held_contacts import Friction, held_contacts
from kinloop.control.tasks import Task
from kinloop.control.whole_body_problem import Tracked, WholeBodyProblem, whole_body_qp
from kinloop.errors import MethodError, NoSuchControl
from kinloop.inputs import checked, checked_number
from kinloop.kernels import Computed
from kinloop.robot import Robot
from kinloop.scalar import Array
from kinloop.sim.actuators import make_drive
from kinloop.sim.contact.candidates import ContactPoint
from kinloop.sim.file_motors import FileMotor
from kinloop.sim.motors import Motor

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

INFINITE, EQUATION = 1e30, 5
"""How the QP solver daqp writes no bound, and a row that is an equation."""

SOLVED = 1
ENDS = {-1: "no torques and forces fulfil all rows", -2: "it cycles", -3: "the cost has no minimum",
        -4: "its iterations ran out", -5: "the cost is not convex", -6: "rows depend on each other"}  # fmt: skip
"""What daqp says."""

FEASIBLE = 1e-6
"""What a solution may leave of rows [N, N m], as a part of the largest force."""


class Reference(NamedTuple):
    """What a task follows: a target, and its velocity (rows) [m/s, rad/s] and acceleration (rows) [m/s^2, rad/s^2]."""

    target: ArrayLike
    velocity: ArrayLike | None = None
    acceleration: ArrayLike | None = None


@dataclass(frozen=True)
class WholeBodyStep:
    """What whole-body control found for a state.

    `torque` (nu,) [N m, N] of the motors, `force` (contacts, 3) [N] on the robot in world axes, `acceleration` (nv,)
    that they give. `status` is "solved", or says why not: then all are NaN.
    """

    torque: Array
    force: Array
    acceleration: Array
    status: str
    iterations: int


class WholeBodyControl:
    """Torques for a robot whose contacts stay where they are: one QP a step, by daqp.

    `tasks` are tasks, or `Tracked` ones with gains of their own; weights count, levels do not. `contacts` are frames or
    points that the ground holds, `friction` its cone, as a pyramid inside; `motors` as in `Simulator`, of which torques
    and limits are kept. `contact_damping` [1/s] takes out what speed contacts have. `torque_weight` and `force_weight`
    make the cheapest of equally good solutions the one. For other contacts make another.
    """

    def __init__(
        self,
        robot: Robot,
        tasks: Sequence[Task | Tracked],
        contacts: Sequence[ContactPoint | str] = (),
        motors: Sequence[Motor | FileMotor | str] | str | None = "model",
        friction: Friction | float = 0.7,
        contact_damping: float = 20.0,
        torque_weight: float = 1e-5,
        force_weight: float = 1e-6,
    ) -> None:
        refuse_constrained_loops(robot.tree.top, "WholeBodyControl")
        tracked = tuple(t if isinstance(t, Tracked) else Tracked(t) for t in tasks)
        if not tracked:
            raise MethodError("whole-body control needs at least one task, such as CenterOfMassTask()")
        if deeper := [t.task.label for t in tracked if t.task.level]:
            raise MethodError(f"whole-body control has weights and no levels; give {deeper[0]} level=0 and a weight")
        tiny = float(np.finfo(float).tiny)
        weights = [
            checked_number(name, x, "be a positive number", tiny)
            for name, x in (("torque_weight", torque_weight), ("force_weight", force_weight))
        ]
        damping = checked_number("contact_damping", contact_damping, "not be negative", 0.0)
        cone = friction if isinstance(friction, Friction) else Friction(friction)
        held, drive = held_contacts(robot.tree.top, contacts), make_drive(robot.tree, motors)
        self.robot, self.tasks, self.contacts, self.friction = robot, tracked, held.names, cone
        self._problem = WholeBodyProblem(robot.tree, tracked, held, cone, drive, damping, *weights)
        self._solve = _daqp()
        limits = [m.limit for m in self.motors]
        self._rows = _Rows.of(np.array(limits), cone, len(held.points), sum(held.row_counts))

    @property
    def motors(self) -> tuple[Motor, ...]:
        """The motors, in the order of torques: that of the simulator's controls."""
        return tuple(m for m in self._problem.drive.motors if isinstance(m, Motor))

    @cached_property
    def kernel(self) -> Computed:
        """The QP of a state as a kernel: (q, v, references) to H, f, A, b, a0, T."""
        p, robot = self._problem, self.robot
        sizes = {"q": robot.nq, "v": robot.nv, "references": sum(p.reference_sizes)}
        call = partial(whole_body_qp, p)
        return robot.kernels.make("whole_body_qp", call, sizes, key=p.key, sources=("control", "sim"))

    def reference(self, references: Sequence[ArrayLike | Reference]) -> Array:
        """References [m, rad] of all tasks as one vector (n), which `step` takes too: for who uses them often."""
        if len(references) != len(self.tasks):
            names = ", ".join(t.task.label for t in self.tasks)
            raise MethodError(f"there are {len(self.tasks)} tasks ({names}), and {len(references)} references")
        top, out = self.robot.tree.top, []
        for t, rows, x in zip(self.tasks, self._problem.row_counts, references, strict=True):
            given = x if isinstance(x, Reference) else Reference(x)
            rates = [
                np.zeros(rows) if r is None else checked(f"{name} of {t.task.label}", r, rows)
                for name, r in (("velocity", given.velocity), ("acceleration", given.acceleration))
            ]
            out += [t.task.flat_target(top, given.target), *rates]
        return np.concatenate(out)

    def step(
        self, q: ArrayLike, v: ArrayLike, references: Sequence[ArrayLike | Reference] | Array, on_failure: str = "error"
    ) -> WholeBodyStep:
        """The torques for one state q (nq) [rad, m], v (nv) [rad/s, m/s]. Where there are none, `NoSuchControl`; with
        `on_failure="status"` NaN and why."""
        if on_failure not in ("error", "status"):
            raise MethodError(f"on_failure {on_failure!r} is not one of 'error', 'status'")
        robot, rows = self.robot, self._rows
        q, v = checked("q", q, robot.nq), checked("v", v, robot.nv)
        if q.ndim > 1 or v.ndim > 1:
            raise MethodError("whole-body control takes one state, q (nq,) and v (nv,)")
        robot.check_closed(q)
        given = references if isinstance(references, np.ndarray) else self.reference(references)
        H, f, A, b, a0, T = self.kernel(q, v, given)
        low, high = rows.with_equations(b)
        z, _, flag, info = self._solve(H, f, A, high, low, rows.sense)
        status = _verdict(flag, z, A, low, high, rows.motors)
        if status != "solved":
            if on_failure == "error":
                raise NoSuchControl(
                    f"no torques within limits hold {len(self.contacts)} contacts of {robot.name!r} at this state: "
                    f"{status}; look at limits, friction and where the weight is, or take on_failure='status'"
                )
            z, a0 = np.full(len(f), np.nan), np.full(len(a0), np.nan)
        torque = z[: rows.motors]
        force = z[rows.motors :].reshape(-1, 3) @ self.friction.axes
        return WholeBodyStep(torque, force, a0 + T @ torque, status, int(info["iterations"]))


class _Rows(NamedTuple):
    """Bounds of torques, then of all rows; only those of equations change from step to step."""

    motors: int
    low: Array
    high: Array
    sense: Array

    @staticmethod
    def of(limits: Array, cone: Friction, points: int, equations: int) -> _Rows:
        least, most = cone.bounds()
        zero = np.zeros(equations)
        low = np.maximum(np.concatenate([-limits, np.tile(least, points), zero]), -INFINITE)
        high = np.minimum(np.concatenate([limits, np.tile(most, points), zero]), INFINITE)
        sense = np.zeros(len(low), dtype=np.intc)
        sense[len(low) - equations :] = EQUATION
        return _Rows(len(limits), low, high, sense)

    def with_equations(self, b: Array) -> tuple[Array, Array]:
        low, high, start = self.low.copy(), self.high.copy(), len(self.low) - len(b)
        low[start:] = high[start:] = b
        return low, high


def _daqp() -> Any:
    try:
        import daqp  # here, since only this needs it
    except ImportError as error:
        raise MethodError("whole-body control needs the QP solver daqp: pip install 'kinloop[control]'") from error
    return daqp.solve


def _verdict(flag: int, z: Array, A: Array, low: Array, high: Array, motors: int) -> str:
    """ "solved", or why not; what the solver calls solved is looked at again."""
    if flag != SOLVED:
        return f"the QP solver says that {ENDS.get(flag, f'it ended with {flag}')}"
    x = np.concatenate([z[:motors], A @ z])
    left = np.max(np.maximum(low - x, x - high), initial=0.0)
    if not left <= FEASIBLE * (1.0 + np.max(np.abs(z), initial=0.0)):
        return f"the QP solver left rows open by {left:.1e} N"
    return "solved"
