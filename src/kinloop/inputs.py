"""What users hand to a robot, checked: arrays of the right shape, finite, with an error that names what is wrong."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from kinloop.algorithms.constrained.motion_constraints import all_numbers
from kinloop.algorithms.quantities import QUANTITIES
from kinloop.algorithms.requests import Request, input_size
from kinloop.clusters import ClusterTree
from kinloop.errors import KinloopError, MethodError, NonFiniteInput, ShapeError, unknown
from kinloop.foreign_arrays import read_array
from kinloop.scalar import Array

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    Wrenches = ArrayLike | Mapping[str, ArrayLike]
    """External wrenches as users give them: (..., bodies, 6), or (..., 6) by the names of bodies."""

POSITIONS, POSITION = ("q", "q0", "q1"), 1e12
"""Positions, and how large they may be [m, rad]: of an angle beyond, no digit of its sine is left."""

LARGEST = 1e100
"""How large all other numbers may be: squares of them are finite."""


SHORT = 64
"""Vectors of so many numbers are looked at without NumPy, in a third of the time."""


def largest(name: str) -> float:
    """How large the numbers of an input may be."""
    return POSITION if name in POSITIONS else LARGEST


def checked(name: str, x: ArrayLike, size: int) -> Array:
    """A finite float array (..., size), or an error with what was expected and received."""
    a = x if type(x) is np.ndarray and x.dtype == float else _real(name, x, f"(..., {size})")
    if a.ndim == 0 or a.shape[-1] != size:
        raise ShapeError(f"{name} must have shape ({size},) or (..., {size}), received {a.shape}")
    limit = largest(name)
    if a.shape == (size,) and size <= SHORT and math.hypot(*a.tolist()) <= 0.5 * limit:
        return a
    if not np.maximum.reduce(np.absolute(a), axis=None, initial=0.0) <= limit:
        where = np.argwhere(~(np.abs(a) <= limit))[0].tolist()
        bound = "" if not np.isfinite(a[tuple(where)]) else f" up to {limit:.0e}"
        raise NonFiniteInput(
            f"{name} is {a[tuple(where)]} at index {where if len(where) > 1 else where[0]}; give finite numbers{bound}"
        )
    return a


def checked_wrenches(f_ext: ArrayLike, bodies: int) -> Array:
    """External wrenches (..., bodies, 6), finite, as flat vectors (..., 6 bodies)."""
    a = _real("f_ext", f_ext, f"(..., {bodies}, 6)")
    if a.shape[-2:] != (bodies, 6):
        raise ShapeError(f"f_ext must have shape (..., {bodies}, 6), one wrench per body, received {a.shape}")
    return checked("f_ext", a.reshape(*a.shape[:-2], 6 * bodies), 6 * bodies)


def wrenches_by_body(f_ext: Mapping[str, ArrayLike], bodies: Sequence[str]) -> Array:
    """External wrenches given by the names of bodies as one array (..., bodies, 6); all others are zero."""
    places, found = {name: k for k, name in enumerate(bodies)}, dict[str, Array]()
    for name, wrench in f_ext.items():
        if name not in places:
            raise unknown("body", name, places)
        found[name] = x = read_array(f"f_ext of {name!r}", wrench)
        if x.shape[-1:] != (6,):
            raise ShapeError(f"f_ext of {name!r} must have shape (6,) or (..., 6), angular first, received {x.shape}")
    try:
        rows = np.broadcast_shapes(*(x.shape[:-1] for x in found.values()))
    except ValueError:
        shapes = ", ".join(f"{name!r} {x.shape}" for name, x in found.items())
        raise ShapeError(f"f_ext must have as many rows for every body, received {shapes}") from None
    out = np.zeros((*rows, len(places), 6), dtype=np.result_type(float, *found.values()))
    for name, x in found.items():
        out[..., places[name], :] = x
    return out


def checked_inputs(
    tree: ClusterTree, asked: Request, arrays: Sequence[ArrayLike], f_ext: ArrayLike | None = None
) -> list[Array]:
    """All inputs of a request, in the order in which a kernel takes them."""
    names, constraints = QUANTITIES[asked.quantity].inputs, asked.constraints
    if len(arrays) != len(names):
        raise MethodError(f"{asked.quantity} takes {', '.join(names)}; received {len(arrays)} arrays")
    out = [checked(name, x, input_size(tree, name, constraints)) for name, x in zip(names, arrays, strict=True)]
    if f_ext is not None:
        out.append(checked_wrenches(f_ext, len(tree.top)))
    if constraints and len(numbers := all_numbers(constraints)):
        out.append(numbers)
    return out


def checked_derivative_inputs(
    tree: ClusterTree,
    asked: Request,
    sizes: Mapping[str, tuple[int, ...]],
    shapes: Mapping[str, tuple[int, ...]],
    arrays: Sequence[ArrayLike],
    f_ext: ArrayLike | None = None,
) -> list[Array]:
    """All inputs of a derivative, whose kernel takes vectors of `sizes`; weights have the `shapes` of their outputs."""
    own = QUANTITIES[asked.quantity].inputs
    known = [*own, *(["f_ext"] if asked.forces else []), *(["numbers"] if "numbers" in sizes else [])]
    further = [name for name in sizes if name not in known]
    if len(arrays) != len(own) + len(further):
        raise MethodError(
            f"the {asked.derivative} of {asked.quantity} takes {', '.join((*own, *further))}; "
            f"received {len(arrays)} arrays"
        )
    out = checked_inputs(tree, asked, arrays[: len(own)], f_ext)
    for name, x in zip(further, arrays[len(own) :], strict=True):
        shape = (len(tree.top), 6) if name == "df_ext" else shapes.get(name.removeprefix("bar_"), sizes[name])
        out.append(_flat(name, x, shape))
    return out


def _flat(name: str, x: ArrayLike, shape: tuple[int, ...]) -> Array:
    """A finite array (..., *shape) as vectors."""
    size, n = math.prod(shape), len(shape)
    a = _real(name, x, f"(..., {', '.join(map(str, shape))})" if n else "(...)")
    if n == 1:
        return checked(name, a, size)
    if a.shape[a.ndim - n :] != shape:
        raise ShapeError(f"{name} must have shape (..., {', '.join(map(str, shape))}), received {a.shape}")
    return checked(name, a.reshape(*a.shape[: a.ndim - n], size), size)


def checked_number(name: str, x: float, must: str, least: float = -np.inf, most: float = np.inf) -> float:
    """A finite number from `least` to `most`, or an error that says what it must do: "be a number not below zero"."""
    try:
        value = float("nan") if isinstance(x, str) else float(x)
    except (TypeError, ValueError, OverflowError):
        value = float("nan")
    if not (math.isfinite(value) and least <= value <= most):
        raise MethodError(f"{name} must {must}, received {x!r}")
    return value


def checked_count(name: str, x: float, least: int = 1) -> int:
    """A whole number of at least `least`, or an error."""
    if type(x) is int and x >= least:
        return x
    value = checked_number(name, x, f"be at least {least}", least)
    if value != round(value):
        raise MethodError(f"{name} must be a whole number, received {x!r}")
    return int(value)


def _real(name: str, x: ArrayLike, shape: str) -> Array:
    """A float array; complex numbers lose no part of themselves on the way, they are refused."""
    if isinstance(x, np.ndarray) and x.dtype == float:
        return x
    kind = type(x).__name__
    try:
        given = read_array(name, x)
        if given.dtype.kind in "biufO":
            return np.asarray(given, dtype=float)
        kind = str(given.dtype) if given.dtype.kind == "c" else kind
    except KinloopError:
        raise
    except (TypeError, ValueError):
        pass
    raise ShapeError(f"{name} must be real numbers of shape {shape}, received {kind}")
