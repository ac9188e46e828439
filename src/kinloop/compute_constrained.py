"""Between the front door and the solvers of constrained motion: checks, kernels, redundant and conflicting rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from kinloop import compiler, compute
from kinloop import scalar as sc
from kinloop.algorithms.constrained.motion_constraints import Closure, MotionConstraint, Placed
from kinloop.algorithms.constrained.plans import Method, method_of
from kinloop.clusters import ClusterTree
from kinloop.errors import ConflictingConstraints, MethodError, ModelError
from kinloop.model.facts import facts

if TYPE_CHECKING:
    from kinloop.robot import Robot

Array = np.ndarray
CONFLICT = 1e-6
"""Targets that miss each other by more than this part of the accelerations conflict."""


SURER = {"pv": "pv_joint", "pv_branches": "pv_joint", "pv_early": "pv_joint"}
"""Where a method loses digits in a batch, the kernel that takes over; beyond it come numbers."""


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
    return Placed(replace(c, rows=len(loop.rows(robot.tree.top, robot.tree.top.neutral()).phi)))


def constrained_dynamics(
    robot: Robot,
    q: Any,
    v: Any,
    tau: Any,
    constraints: Sequence[MotionConstraint],
    method: str | None,
    f_ext: Any,
    on_conflict: str,
    compliance: float | None,
) -> tuple[Array, Array]:
    """Accelerations and multipliers at one state or a batch of them."""
    if on_conflict not in ("error", "least_squares"):
        raise MethodError(f"on_conflict {on_conflict!r} is not one of 'error', 'least_squares'")
    placed = place(robot, constraints)
    given = _checked(robot, {"q": q, "v": v, "tau": tau}, placed, f_ext)
    forces = f_ext is not None
    a, multipliers, residual = _solve(robot, "constrained_dynamics", method, placed, given, forces, compliance)
    bad = _conflicts(a, residual)
    if np.any(bad):
        if on_conflict == "error":
            raise _conflict(placed, np.atleast_2d(residual.reshape(-1, residual.shape[-1]))[bad.ravel()][0])
        a, multipliers, _ = _solve(robot, "constrained_dynamics", "least_squares", placed, given, forces)
    return a, multipliers


def delassus(robot: Robot, q: Any, constraints: Sequence[MotionConstraint], x: Any, method: str | None) -> Array:
    """J M^-1 J^T of the constraints' rows, or its inverse applied to x."""
    placed = place(robot, constraints)
    if x is None:
        return _solve(robot, "delassus", method, placed, _checked(robot, {"q": q}, placed), False)[0]
    return _solve(robot, "delassus_solve", method, placed, _checked(robot, {"q": q, "x": x}, placed), False)[0]


def input_sizes(robot: Robot, placed: Sequence[Placed]) -> dict[str, int]:
    nv = robot.tree.nv
    return {"q": robot.tree.top.nq, "v": nv, "tau": nv, "x": sum(p.constraint.size for p in placed)}


def _checked(robot: Robot, given: dict[str, Any], placed: Sequence[Placed], f_ext: Any = None) -> list[Array]:
    sizes = input_sizes(robot, placed)
    out = [compute.checked(name, x, sizes[name]) for name, x in given.items()]
    if f_ext is not None:
        wrenches = compute.checked_wrenches(f_ext, len(robot.tree.top))
        out.append(wrenches.reshape(*wrenches.shape[:-2], -1))
    return out


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
    robot: Robot,
    quantity: str,
    method: str | None,
    placed: list[Placed],
    given: list[Array],
    forces: bool,
    compliance: float | None = None,
) -> tuple[Array, ...]:
    """The outputs of a solver, less the count of rows lost: such states are computed again, more carefully."""
    name, entry = method_of(quantity, method)

    def one(*rows: Array) -> tuple[Array, ...]:
        out = run(entry, robot.tree, placed, rows, forces, None, compliance)
        return tuple(np.asarray(x, dtype=float) for x in out)[: max(1, len(entry.outputs) - 1)]

    with np.errstate(all="ignore"):
        if not (robot.backend == "kernel" and entry.traced and compute._can_compile()):
            return compute.rowwise(one, *given)  # type: ignore[return-value]
        made = kernel(robot, quantity, name, placed, forces, "float64", True, compliance)
        numbers = all_numbers(placed)
        out = made(*given, *([numbers] if len(numbers) else []))
        if len(entry.outputs) == 1:
            return (out,)
        *out, lost = (np.asarray(x) for x in out)
        if not np.any(lost):
            return tuple(out)
        spread = [np.broadcast_to(x, (*lost.shape, x.shape[-1]))[lost > 0] for x in given]
        if name in SURER:
            again = _solve(robot, quantity, SURER[name], placed, spread, forces)
        else:
            again = compute.rowwise(one, *spread)  # type: ignore[assignment]
        out = [np.array(x) for x in out]
        for x, y in zip(out, again, strict=True):
            x[lost > 0] = y
        return tuple(out)


def all_numbers(placed: Sequence[Placed]) -> Array:
    return np.concatenate([np.zeros(0), *(p.constraint.numbers() for p in placed)])


def run(
    entry: Method,
    tree: ClusterTree,
    placed: Sequence[Placed],
    arrays: Sequence[Array],
    forces: bool,
    plan: Any,
    compliance: float | None,
) -> tuple[Array, ...]:
    """One solver on numbers or symbols; with `forces` the last array is f_ext, flat."""
    given = [np.asarray(x) for x in arrays]
    options: dict[str, Any] = {"f_ext": given.pop().reshape(len(tree.top), 6)} if forces else {}
    if entry.soft and compliance is not None:
        options["compliance"] = compliance
    result = entry.solve(tree, *given, placed, plan=plan, **options)
    return tuple(np.asarray(x) for x in result) if isinstance(result, tuple) else (np.asarray(result),)


def kernel(
    robot: Robot,
    quantity: str,
    method: str | None,
    placed: Sequence[Placed],
    f_ext: bool,
    dtype: str,
    cache: bool,
    compliance: float | None = None,
) -> compiler.Kernel:
    """The robot's kernel for a set of constraints; its last input holds their numbers, if they have any."""
    name, entry = method_of(quantity, method)
    if not entry.traced:
        raise MethodError(f"method {name!r} of {quantity} works on numbers only and has no kernel")
    structure = tuple(p.constraint.structure() for p in placed)
    key = (quantity, name, structure, f_ext, dtype, cache, compliance)
    if key not in robot._kernels:
        robot._kernels[key] = _make(robot, quantity, name, list(placed), f_ext, dtype, cache, compliance)
    return robot._kernels[key]


def _make(
    robot: Robot,
    quantity: str,
    name: str,
    placed: list[Placed],
    f_ext: bool,
    dtype: str,
    cache: bool,
    compliance: float | None,
) -> compiler.Kernel:
    tree, entry = robot.tree, method_of(quantity, name)[1]
    plan = entry.plan(tree, placed) if entry.plan else None
    count = len(all_numbers(placed))
    inputs = {n: input_sizes(robot, placed)[n] for n in entry.inputs}
    inputs |= {"f_ext": 6 * len(tree.top)} if f_ext else {}
    inputs |= {"numbers": count} if count else {}

    def traced(*arrays: Array) -> dict[str, Any]:
        here, state = placed, list(arrays)
        if count:
            here = with_numbers(placed, state.pop())
        out = run(entry, tree, here, state, f_ext, plan, compliance)
        return dict(zip(entry.outputs, out, strict=True))

    charts = tuple((c.chart.rows, c.chart.dependent, c.chart.blocks) for c in tree if c.parts)
    structure = tuple(p.constraint.structure() for p in placed)
    parts = (facts(robot.mechanism), compute.function_digests(tree), charts, quantity, name, structure)
    recipe = (kernel, (robot, quantity, name, placed, f_ext, dtype, cache, compliance))
    return compiler.load_or_compile(
        (*parts, repr(plan), f_ext, compliance),
        lambda: sc.trace(traced, inputs),
        name=quantity,
        dtype=dtype,
        recipe=recipe,
        cache=cache,
    )


def with_numbers(placed: Sequence[Placed], numbers: Array) -> list[Placed]:
    out, start = [], 0
    for p in placed:
        n = len(p.constraint.numbers())
        out.append(p._replace(constraint=p.constraint.with_numbers(numbers[start : start + n])))
        start += n
    return out
