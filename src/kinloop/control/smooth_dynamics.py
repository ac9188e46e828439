"""Smooth motion of a robot with loops as a map of steps, and its exact derivatives.

With h the length of a step, a the accelerations of forward dynamics (under motion constraints, if there are any),

    tau = G(q)^T S u,      v' = v + h a(q, v, tau),      q' = integrate(q, h v'),                                 (1)

S the coordinates that motors act on: semi-implicit Euler, loops closed at every step. Changes of q and q' are those of
independent coordinates. For joints whose velocities are rates of their positions q' changes by dq + h dv'; free joints
and balls turn dq into the axes at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from kinloop import scalar as sc
from kinloop.algorithms.constrained.motion_constraints import Constraints, all_numbers
from kinloop.algorithms.differentiated import closed_rate
from kinloop.algorithms.requests import Request, ask, evaluate, make_plan
from kinloop.algorithms.trees import positions
from kinloop.algorithms.trees.kinematics import independent_change
from kinloop.control.motions import LARGE, SOURCES, Limits, Motions, rows_of
from kinloop.control.traced_cost import along_motions, tangent_gradient
from kinloop.errors import MethodError, unknown
from kinloop.inputs import checked_number
from kinloop.kernels import Computed
from kinloop.robot import Robot
from kinloop.scalar import Array
from kinloop.scalar.tracing import kept_objects
from kinloop.sim.linearization.traced import Traced


class SmoothDynamics:
    """Steps of length `dt` [s] of a robot's smooth motion, and their derivatives: (1) of the module.

    `motors` names the coordinates on which the controls act, independent or not; all independent ones unless given.
    `constraints` (`kinloop.Point`, `Weld`, `Rows`) hold during the motion, as of feet that stand. Springs, damping,
    limits and contact belong to a `Simulator`.
    """

    def __init__(
        self, robot: Robot, dt: float, motors: Sequence[str] | None = None, constraints: Constraints = ()
    ) -> None:
        self.robot, self.dt = robot, checked_number("dt", dt, "be a positive number of seconds", np.finfo(float).tiny)
        tree, names = robot.tree, list(robot.tree.top.coordinates)
        self.motors = tuple(robot.independent_names if motors is None else motors)
        for name in self.motors:
            if name not in names:
                raise unknown("coordinate", name, names)
        self._driven = [names.index(name) for name in self.motors]
        kind = "constrained_dynamics" if constraints or robot.mechanism.constrained else "forward_dynamics"
        self._asked = ask(tree.top, kind, constraints=constraints)
        self._slopes_asked = ask(tree.top, f"{kind}_derivatives", constraints=constraints)
        self._numbers = all_numbers(self._asked.constraints)
        _check_turning(robot)

    @property
    def nu(self) -> int:
        """Number of controls."""
        return len(self.motors)

    def follow(self, about: Motions, k: Array, K: Array, limits: Limits, threads: int | None = None) -> Motions:
        """Motions from the starts of others under u = clip(u + k + K dx), k (B, T, nu) [N m, N], K (B, T, nu, 2 nv).

        All rows and steps in one native call. Where loops cannot be closed or accelerations are not finite, all that
        follows is not finite.
        """
        rows, steps, nu = about.u.shape
        within = [np.tile(np.clip(x, -LARGE, LARGE), (rows, 1)) for x in limits]
        given = (about.q[:, 0], about.v[:, 0], about.q[:, :-1], about.v[:, :-1], about.u, k, K.reshape(rows, steps, -1))
        found = self.policy_kernel.iterate(
            *map(np.ascontiguousarray, given), *within, steps=steps, threads=threads,
            feedback={"q": "q_next", "v": "v_next"}, stepped=("about_q", "about_v", "about_u", "k", "K"),
        )  # fmt: skip
        q, v = (
            np.concatenate([x, found[name]], axis=1) for x, name in ((about.q[:, :1], "q_at"), (about.v[:, :1], "v_at"))
        )
        return Motions(q, v, found["u"].reshape(rows, steps, nu))

    def slopes(self, q: Array, v: Array, u: Array, t: Array, threads: int | None = None) -> tuple[Array, Array]:
        """A (B, 2 nv, 2 nv) and B (B, 2 nv, nu) of the steps from rows of q [rad, m], v [rad/s, m/s], u [N m, N]."""
        A, B = rows_of(self.slopes_kernel, q, v, u, threads=threads)
        return A, B

    def curvature(self, q: Array, v: Array, u: Array, p: Array, threads: int | None = None) -> Array:
        """Second derivatives (B, n, n) of p (dq', dv') along q [rad, m], v, u, n = 2 nv + nu, for weights p (B, 2 nv).

        Turns of free joints and balls within a step are taken as small.
        """
        nv, rows = self.robot.nv, len(q)
        w, units = self.dt * (p[:, nv:] + self.dt * p[:, :nv]), np.eye(2 * nv + self.nu)
        given = [np.repeat(x, len(units), axis=0) for x in (q, v, u, w)]
        found = rows_of(self.curvature_kernel, *given, np.tile(units, (rows, 1)), threads=threads)
        H = np.asarray(found).reshape(rows, len(units), len(units))
        return 0.5 * (H + np.swapaxes(H, 1, 2))

    @cached_property
    def curvature_kernel(self) -> Computed:
        """The kernel of second derivatives of w a along one direction."""
        tree = self.robot.tree
        sizes = {"q": tree.top.nq, "v": tree.nv, "u": self.nu, "w": tree.nv}

        def weighted(q: Array, v: Array, u: Array, w: Array) -> Array:
            return np.array([w @ self.acceleration(q, v, u)])

        function = sc.unrolled(sc.trace(weighted, sizes))
        q, v, u, _ = (function.graph.inputs(name, n) for name, n in sizes.items())
        d = function.graph.inputs("d", 2 * tree.nv + self.nu)
        with kept_objects():
            (value,) = next(iter(function.outputs.values()))
            change = along_motions(tree, tangent_gradient(tree, value, q, [*v, *u]), q, [*v, *u], d)
        sizes |= {"d": len(d)}
        return self._kernel(
            "smooth_curvature", sc.Function(sizes, {"change": change}, function.graph).named, sizes, self._plan
        )

    @cached_property
    def step_kernel(self) -> Computed:
        """The kernel of a step: q, v, u to q_next, v_next; the first number of q_next is infinite where it failed."""
        robot = self.robot
        return self._kernel("smooth_step", self._step, {"q": robot.nq, "v": robot.nv, "u": self.nu}, self._plan)

    @cached_property
    def policy_kernel(self) -> Computed:
        """The kernel of a step under feedback about a motion."""
        robot, nu = self.robot, self.nu
        state = {"q": robot.nq, "v": robot.nv}
        sizes = state | {f"about_{name}": n for name, n in state.items()} | {"about_u": nu, "k": nu}
        sizes |= {"K": nu * 2 * robot.nv, "low": nu, "high": nu}

        def call(q: Array, v: Array, near: Array, rate: Array, u: Array, k: Array, K: Array, *limits: Array) -> Any:
            dx = np.concatenate([positions.difference(robot.tree, near, q), v - rate])
            u = sc.minimum(sc.maximum(u + k + K.reshape(nu, len(dx)) @ dx, limits[0]), limits[1]) if nu else u
            after = self._step(q, v, u)
            return after | {"q_at": after["q_next"], "v_at": after["v_next"], "u": u}

        return self._kernel("smooth_policy", call, sizes, self._plan)

    def acceleration(self, q: Array, v: Array, u: Array) -> Array:
        """a (nv) [rad/s^2, m/s^2] of (1) for one state, on numbers or symbols."""
        return self._evaluated(self._asked, self._plan, q, v, self._force(q, u))[0]

    def _step(self, q: Array, v: Array, u: Array) -> dict[str, Array]:
        rate = v + self.dt * self.acceleration(q, v, u)
        return {"q_next": positions.integrate(self.robot.tree, q, rate, np.array([self.dt])), "v_next": rate}

    @cached_property
    def _plan(self) -> Any:
        return make_plan(self.robot.tree, self._asked)

    @cached_property
    def slopes_kernel(self) -> Computed:
        """The kernel of the derivatives: q, v, u to A, B."""
        tree, robot = self.robot.tree, self.robot
        plan = make_plan(tree, self._slopes_asked)
        h, one = self.dt, np.eye(tree.nv)

        def call(q: Array, v: Array, u: Array) -> dict[str, Array]:
            tau = self._force(q, u)
            a_q, a_v, a_tau = self._evaluated(self._slopes_asked, plan, q, v, tau)[:3]
            a_q = a_q + a_tau @ np.stack(self._force_changes(q, tau), axis=1)
            a_u = a_tau @ self._arms(q)
            at = v
            if any(kind.nq != kind.nv for kind in tree.top.types):
                at = v + h * self.acceleration(q, v, u)
            P, R = turned(self.robot, q, h * at)
            v_q, v_v, v_u = h * a_q, one + h * a_v, h * a_u
            R = h * R
            A = np.block([[P + R @ v_q, R @ v_v], [v_q, v_v]])
            return {"A": A, "B": np.concatenate([R @ v_u, v_u])}

        return self._kernel("smooth_slopes", call, {"q": robot.nq, "v": robot.nv, "u": self.nu}, (self._plan, plan))

    def _kernel(self, name: str, call: Any, sizes: dict[str, int], plan: Any) -> Computed:
        robot = self.robot
        key = (repr(self._asked.key), repr(plan), self._numbers, self.motors, self.dt)
        return robot.kernels.make(name, Traced(call, sizes), sizes, key=key, sources=SOURCES)

    def _evaluated(self, asked: Request, plan: Any, q: Array, v: Array, tau: Array) -> list[Array]:
        numbers = [self._numbers] if len(self._numbers) else []
        return [*evaluate(self.robot.tree, asked, q, v, tau, *numbers, plan=plan).values()]

    def _arms(self, q: Array) -> Array:
        """G^T S (nv, nu)."""
        return np.asarray(self.robot.tree.spanning_jacobian(q))[self._driven].T

    def _force(self, q: Array, u: Array) -> Array:
        return self._arms(q) @ u if self.nu else np.zeros(self.robot.nv)

    def _force_changes(self, q: Array, tau: Array) -> list[Array]:
        """How tau changes along every independent coordinate under constant u."""
        tree = self.robot.tree
        return [sc.jvp(np.asarray(tau, dtype=object), q, closed_rate(tree, q, e)) for e in np.eye(tree.nv)]


def _check_turning(robot: Robot) -> None:
    """Refuse balls of which only some coordinates are independent: a step does not simply add to these."""
    top, free = robot.tree.top, set(robot.tree.independent_dofs)
    for joint, kind, dofs in zip(top.joints, top.types, top.v_of, strict=True):
        own = set(range(top.n_spanning)[dofs])
        if kind.nq != kind.nv and own & free and not own <= free:
            raise MethodError(
                f"of joint {joint.name!r} only some coordinates are independent, so that steps do not add to them; "
                "choose others with robot.with_independent([...]), or give ILQR a Simulator"
            )


def turned(robot: Robot, q: Array, step: Array) -> tuple[Array, Array]:
    """How integrate(q, step) changes with q and with the step (nv, nv), block by block."""
    tree, top = robot.tree, robot.tree.top
    P, R = (np.eye(tree.nv).astype(object) for _ in range(2))
    place = {dof: k for k, dof in enumerate(tree.independent_dofs)}
    for kind, at, dofs in zip(top.types, top.q_of, top.v_of, strict=True):
        own = [place[d] for d in range(top.n_spanning)[dofs] if d in place]
        if kind.nq == kind.nv or not own:
            continue
        x, s = q[at], step[own]
        end = np.asarray(kind.integrate(x, s), dtype=object)
        for k, e in zip(own, np.eye(kind.nv), strict=True):
            along_q = sc.jvp(end, [*x, *s], [*kind.rate(x, e), *np.zeros(kind.nv)])
            along_s = sc.jvp(end, [*x, *s], [*np.zeros(kind.nq), *e])
            P[own, k], R[own, k] = (_step_at(robot, q, at, end, d)[own] for d in (along_q, along_s))
    return P, R


def _step_at(robot: Robot, q: Array, at: Any, end: Array, change: Array) -> Array:
    """The step of the independent coordinates along which the numbers of one joint change at its end."""
    numbers, moved = np.array(q, dtype=object), np.zeros(len(q), dtype=object)
    numbers[at], moved[at] = end, change
    return independent_change(robot.tree, numbers, moved)
