"""Between the front door and the solvers of constrained motion: checks, kernels, redundant and conflicting rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from kinloop import compiler, compute
from kinloop import scalar as sc
from kinloop.algorithms.constrained_methods import Method, method_of
from kinloop.algorithms.motion_constraints import Closure, MotionConstraint, Placed
from kinloop.constraints import rows_of
from kinloop.errors import ConflictingConstraints, MethodError, ModelError
from kinloop.model.facts import facts

if TYPE_CHECKING:
    from kinloop.robot import Robot

Array = np.ndarray
CONFLICT = 1e-6
"""Targets that miss each other by more than this part of the accelerations conflict."""


def place(robot: Robot, constraints: Sequence[MotionConstraint]) -> list[Placed]:
    """Constraints with their frames found; loops the mechanism leaves to constraints come last."""
    constraints = [constraints] if isinstance(constraints, MotionConstraint) else list(constraints)
    out = []
    for c in constraints:
        if not isinstance(c, MotionConstraint):
            raise ModelError(f"{c!r} is not a motion constraint; give kinloop.Point, Weld, Rows or Closure")
        out.append(_closure(robot, c) if isinstance(c, Closure) else _framed(robot, c))
    named = {c.frame for c in constraints if isinstance(c, Closure)}
    out += [_closure(robot, Closure(name)) for name in robot.mechanism.constrained if name not in named]
    return out


def _framed(robot: Robot, c: MotionConstraint) -> Placed:
    return Placed(c, robot.frame(c.frame), None if c.other is None else robot.frame(c.other))


def _closure(robot: Robot, c: Closure) -> Placed:
    if c.frame not in robot.mechanism.constrained:
        raise ModelError(
            f"{c.name} names no loop held by constraints; {robot.name!r} has {list(robot.mechanism.constrained)} "
            "(Mechanism.constrained)"
        )
    loop = next(p for p in robot.mechanism.loops if p.name == c.frame)
    return Placed(replace(c, rows=len(rows_of(robot.tree.top, loop, robot.tree.top.neutral()).phi)))


def constrained_dynamics(
    robot: Robot,
    q: Any,
    v: Any,
    tau: Any,
    constraints: Sequence[MotionConstraint],
    method: str | None,
    f_ext: Any,
    on_conflict: str,
) -> tuple[Array, Array]:
    """Accelerations and multipliers at one state or a batch of them."""
    if on_conflict not in ("error", "least_squares"):
        raise MethodError(f"on_conflict {on_conflict!r} is not one of 'error', 'least_squares'")
    placed = place(robot, constraints)
    tree = robot.tree
    given = [compute.checked(n, x, s) for n, x, s in zip(("q", "v", "tau"), (q, v, tau), (tree.top.nq, tree.nv, tree.nv))]
    if f_ext is not None:
        wrenches = compute.checked_wrenches(f_ext, len(tree.top))
        given.append(wrenches.reshape(*wrenches.shape[:-2], -1))
    a, multipliers, residual = _solve(robot, "constrained_dynamics", method, placed, given, f_ext is not None)
    bad = _conflicts(a, residual)
    if np.any(bad):
        if on_conflict == "error":
            raise _conflict(placed, np.atleast_2d(residual.reshape(-1, residual.shape[-1]))[bad.ravel()][0])
        a, multipliers, _ = _solve(robot, "constrained_dynamics", "least_squares", placed, given, f_ext is not None)
    return a, multipliers


def _conflicts(a: Array, residual: Array) -> Array:
    worst = np.max(np.abs(residual), axis=-1, initial=0.0)
    return ~(worst <= CONFLICT * (1.0 + np.max(np.abs(a), axis=-1, initial=0.0)))


def _conflict(placed: Sequence[Placed], residual: Array) -> ConflictingConstraints:
    rows = np.repeat(np.arange(len(placed)), [p.constraint.size for p in placed])
    worst = int(np.argmax(np.abs(residual)))
    others = [p.constraint.name for k, p in enumerate(placed) if k != rows[worst]]
    against = f"against {', '.join(others)}" if others else "alone"
    return ConflictingConstraints(
        f"{placed[rows[worst]].constraint.name} asks for an acceleration that misses by {abs(residual[worst]):.3g} "
        f"(row {worst - int(np.argmax(rows == rows[worst]))}) {against}; remove or relax one of them, or pass "
        "on_conflict='least_squares'"
    )


def _solve(
    robot: Robot, quantity: str, method: str | None, placed: list[Placed], given: list[Array], forces: bool
) -> Any:
    """The outputs of a solver, less the count of rows lost: such states are computed again from numbers."""
    name, entry = method_of(quantity, method)

    def one(*rows: Array) -> Any:
        out = run(entry, robot.tree, placed, rows, forces, None)
        return tuple(np.asarray(x, dtype=float) for x in out)

    if robot.backend == "kernel" and entry.traced and compute._can_compile():
        made = kernel(robot, quantity, name, placed, forces, "float64", True)
        numbers = all_numbers(placed)
        *out, lost = made(*given, *([numbers] if len(numbers) else []))
        if not np.any(lost):
            return tuple(out)
        lead = np.shape(lost)
        spread = [np.broadcast_to(x, (*lead, x.shape[-1])) for x in given]
        out = [np.array(x) for x in out]
        for index in np.argwhere(lost) if lead else [()]:
            for x, y in zip(out, one(*(z[tuple(index)] for z in spread)), strict=False):
                x[tuple(index)] = y
        return tuple(out)
    with np.errstate(all="ignore"):
        return compute.rowwise(one, *given)[:-1]


def all_numbers(placed: Sequence[Placed]) -> Array:
    return np.concatenate([np.zeros(0), *(p.constraint.numbers() for p in placed)])


def run(entry: Method, tree: Any, placed: Sequence[Placed], arrays: Sequence[Array], forces: bool, plan: Any) -> tuple:
    """One solver on numbers or symbols; with `forces` the last array is f_ext, flat."""
    given = [np.asarray(x) for x in arrays]
    f_ext = given.pop().reshape(len(tree.top), 6) if forces else None
    result = entry.solve(tree, *given, placed, f_ext=f_ext, plan=plan) if forces else entry.solve(tree, *given, placed, plan=plan)
    return tuple(np.asarray(x) for x in result) if isinstance(result, tuple) else (np.asarray(result),)


def kernel(
    robot: Robot, quantity: str, method: str | None, placed: Sequence[Placed], f_ext: bool, dtype: str, cache: bool
) -> compiler.Kernel:
    """The robot's kernel for a set of constraints; its last input holds their numbers, if they have any."""
    name, entry = method_of(quantity, method)
    if not entry.traced:
        raise MethodError(f"method {name!r} of {quantity} works on numbers only and has no kernel")
    structure = tuple(p.constraint.structure() for p in placed)
    key = (quantity, name, structure, f_ext, dtype, cache)
    if key not in robot._kernels:
        robot._kernels[key] = _make(robot, quantity, name, entry, list(placed), f_ext, dtype, cache)
    return robot._kernels[key]


def _make(robot, quantity, name, entry, placed, f_ext, dtype, cache) -> compiler.Kernel:  # noqa: ANN001
    tree = robot.tree
    plan = entry.plan(tree, placed) if entry.plan else None
    count = len(all_numbers(placed))
    sizes = {"q": tree.top.nq, "v": tree.nv, "tau": tree.nv, "x": sum(p.constraint.size for p in placed)}
    inputs = {n: sizes[n] for n in entry.inputs}
    inputs |= {"f_ext": 6 * len(tree.top)} if f_ext else {}
    inputs |= {"numbers": count} if count else {}

    def traced(*arrays: Array) -> dict[str, Any]:
        here, state = placed, list(arrays)
        if count:
            here = with_numbers(placed, state.pop())
        out = run(entry, tree, here, state, f_ext, plan)
        return dict(zip(entry.outputs, out, strict=True))

    charts = tuple((c.chart.rows, c.chart.dependent, c.chart.blocks) for c in tree if c.parts)
    structure = tuple(p.constraint.structure() for p in placed)
    key = (facts(robot.mechanism), compute._function_digests(tree), charts, quantity, name, structure, plan_key(plan), f_ext)
    recipe = (kernel, (robot, quantity, name, placed, f_ext, dtype, cache))
    return compiler.load_or_compile(
        key, lambda: sc.trace(traced, inputs), name=quantity, dtype=dtype, recipe=recipe, cache=cache
    )


def plan_key(plan: Any) -> str:
    return repr(plan)


def with_numbers(placed: Sequence[Placed], numbers: Array) -> list[Placed]:
    out, start = [], 0
    for p in placed:
        n = len(p.constraint.numbers())
        out.append(p._replace(constraint=p.constraint.with_numbers(numbers[start : start + n])))
        start += n
    return out
