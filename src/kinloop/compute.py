"""Between the front door and the algorithms: checks, batches, kernels or the NumPy path."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kinloop import compiler
from kinloop import scalar as sc
from kinloop.algorithms.quantities import QUANTITIES, evaluate, input_size
from kinloop.clusters import ClusterTree
from kinloop.compiler.keys import function_digest
from kinloop.errors import MethodError, NonFiniteInput, ShapeError
from kinloop.model.facts import facts, own_functions
from kinloop.model.parameters import parameter_size, with_parameters

if TYPE_CHECKING:
    from kinloop.robot import Robot

Array = np.ndarray


def checked(name: str, x: Any, size: int) -> Array:
    """A finite float array (..., size), or an error with what was expected and received."""
    try:
        a = np.asarray(x, dtype=float)
    except (TypeError, ValueError):
        raise ShapeError(f"{name} must be real numbers of shape (..., {size}), received {type(x).__name__}") from None
    if a.ndim == 0 or a.shape[-1] != size:
        raise ShapeError(f"{name} must have shape ({size},) or (..., {size}), received {a.shape}")
    if not np.all(np.isfinite(a)):
        where = np.argwhere(~np.isfinite(a))[0].tolist()
        raise NonFiniteInput(
            f"{name} is {a[tuple(where)]} at index {where if len(where) > 1 else where[0]}; give finite numbers"
        )
    return a


def checked_wrenches(f_ext: Any, bodies: int) -> Array:
    """External wrenches (..., bodies, 6) as flat rows (..., 6 bodies)."""
    a = np.asarray(f_ext, dtype=float)
    if a.shape[-2:] != (bodies, 6):
        raise ShapeError(f"f_ext must have shape (..., {bodies}, 6), one wrench per body, received {a.shape}")
    checked("f_ext", a.reshape(*a.shape[:-2], 6 * bodies), 6 * bodies)
    return a


def rowwise(f: Callable, *arrays: Array) -> Array:
    """`f` on every row of the broadcast arrays."""
    lead = np.broadcast_shapes(*(a.shape[:-1] for a in arrays))
    if not lead:
        return f(*arrays)
    spread = [np.broadcast_to(a, (*lead, a.shape[-1])) for a in arrays]
    rows = [f(*(a[k] for a in spread)) for k in np.ndindex(lead)]
    if isinstance(rows[0], tuple):
        return tuple(np.array(x).reshape(*lead, *np.shape(x[0])) for x in zip(*rows, strict=True))  # type: ignore
    return np.array(rows).reshape(*lead, *np.shape(rows[0]))


def compute(
    robot: Robot, quantity: str, arrays: Sequence[Any], method: str | None, f_ext: Any, frames: tuple[str, ...]
) -> Any:
    """A quantity of a robot at one state or a batch of them."""
    entry = QUANTITIES[quantity]
    method = entry.method(method, quantity)
    tree = robot.tree
    given = [checked(name, x, input_size(tree, name)) for name, x in zip(entry.inputs, arrays, strict=True)]
    if f_ext is not None:
        a = checked_wrenches(f_ext, len(tree.top))
        given.append(a.reshape(*a.shape[:-2], -1))
    if robot.backend == "kernel" and method not in entry.numeric and _can_compile():
        return kernel(robot, quantity, method, frames, f_ext is not None, (), "float64", True)(*given)
    places = [robot.frame(f) for f in frames]

    def one(*rows: Array) -> Any:
        out = tuple(evaluate(quantity, method, tree, rows, places, f_ext is not None).values())
        out = tuple(np.asarray(x, dtype=float) for x in out)
        return out if len(out) > 1 else out[0]

    with np.errstate(all="ignore"):
        return rowwise(one, *given)


_warned = False


def _can_compile() -> bool:
    global _warned
    if compiler.available():
        return True
    if not _warned:
        _warned = True
        warnings.warn(
            "llvmlite is not installed: kinloop computes with NumPy, exactly but slowly; pip install llvmlite",
            RuntimeWarning,
            stacklevel=4,
        )
    return False


def kernel(
    robot: Robot,
    quantity: str,
    method: str | None,
    frames: tuple[str, ...],
    f_ext: bool,
    parameters: tuple[str, ...],
    dtype: str,
    cache: bool,
) -> compiler.Kernel:
    """The robot's kernel for a quantity, made once."""
    entry = QUANTITIES[quantity]
    method = entry.method(method, quantity)
    if method in entry.numeric:
        raise MethodError(f"method {method!r} of {quantity} works on numbers only and has no kernel")
    if f_ext and not entry.forces:
        raise MethodError(f"{quantity} takes no external forces")
    if entry.frames and not frames:
        raise MethodError(f"{quantity} needs frames=[...], names of {robot.name!r}'s frames")
    key = (quantity, method, frames, f_ext, parameters, dtype, cache)
    found = robot._kernels.get(key)
    if found is None:
        found = robot._kernels[key] = _make(robot, *key)
    return found


def _make(robot, quantity, method, frames, f_ext, parameters, dtype, cache) -> compiler.Kernel:
    tree, entry = robot.tree, QUANTITIES[quantity]
    places = [robot.frame(f) for f in frames]
    names = [*entry.inputs, *(["f_ext"] if f_ext else [])]
    inputs = {name: input_size(tree, name) for name in names}
    inputs |= {name: parameter_size(tree.top, name) for name in parameters}

    def trace() -> sc.Function:
        def run(*arrays: Array) -> dict[str, Any]:
            state, values = arrays[: len(names)], arrays[len(names) :]
            here = tree
            if parameters:
                top = with_parameters(tree.top, dict(zip(parameters, values, strict=True)))
                here = tree.with_topology(top)
            return evaluate(quantity, method, here, state, places, f_ext)

        return sc.trace(run, inputs)

    charts = tuple((c.chart.rows, c.chart.dependent, c.chart.blocks) for c in tree if c.parts)
    key = (facts(robot.mechanism), function_digests(tree), charts, quantity, method, frames, f_ext, parameters)
    recipe = (_remake, (robot, quantity, method, frames, f_ext, parameters, dtype, cache))
    return compiler.load_or_compile(key, trace, name=quantity, dtype=dtype, recipe=recipe, cache=cache)


def _remake(robot: Robot, *key: Any) -> compiler.Kernel:
    return kernel(robot, *key)


def function_digests(tree: ClusterTree) -> tuple[str, ...]:
    """What functions and kinds that users wrote compute, by their traces."""
    return tuple(map(function_digest, own_functions(tree.top)))


def constrained_quantities() -> list[str]:
    """Quantities of constrained motion, which take a list of constraints."""
    from kinloop.algorithms.constrained.plans import CONSTRAINED

    return list(CONSTRAINED)
