"""What robots stand on: a plane, or a height field given as a function or as a table; and the protocol of grounds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from kinloop import scalar as sc
from kinloop.compiler.keys import function_digest
from kinloop.errors import MethodError
from kinloop.inputs import checked, checked_number
from kinloop.model.joints import perpendicular, unit_axis
from kinloop.scalar import Array
from kinloop.spatial.transform import cross

UPRIGHT = 1e-9
"""A plane whose normal has a smaller vertical part has no heights."""


@runtime_checkable
class Ground(Protocol):
    """A surface with Coulomb friction and Newton's restitution, below which nothing can go."""

    @property
    def friction(self) -> float:
        """The coefficient of Coulomb friction."""

    @property
    def restitution(self) -> float:
        """The part of the normal velocity that returns after an impact, from 0 to 1."""

    @property
    def key(self) -> tuple[Any, ...]:
        """What kernels depend on."""

    def surface(self, x: Array) -> tuple[Any, Array]:
        """Distance [m] of a point x (3) from the surface; axes (3, 3) there as columns: normal, tangent, tangent.

        On numbers or symbols; in the world.
        """

    def heights(self, x: ArrayLike, y: ArrayLike) -> Array:
        """Heights z (n) of the surface at arrays of positions x and y [m], of any shape."""

    def normals(self, x: ArrayLike, y: ArrayLike) -> Array:
        """Unit normals (..., 3) at arrays of positions x and y [m]."""


def _checked(friction: float, restitution: float) -> None:
    checked_number("friction", friction, "be a number not below zero", 0.0)
    checked_number("restitution", restitution, "lie between 0 and 1", 0.0, 1.0)


@dataclass(frozen=True)
class Plane:
    """The half space below a plane, level by default; `normal` is 'x', '-z', ... or three numbers."""

    friction: float = 0.8
    restitution: float = 0.0
    normal: Any = (0.0, 0.0, 1.0)  # a string or any array when given, a tuple of three floats afterwards
    height: float = 0.0

    def __post_init__(self) -> None:
        _checked(self.friction, self.restitution)
        checked_number("height of the plane", self.height, "be a finite number [m]")
        object.__setattr__(self, "normal", unit_axis(self.normal, "normal of the plane"))

    @property
    def key(self) -> tuple[Any, ...]:
        """What kernels depend on."""
        return "plane", self.friction, self.restitution, *self.normal, self.height

    def surface(self, x: Array) -> tuple[Any, Array]:
        """Distance [m] of a point x (3) from the surface; axes (3, 3) there as columns: normal, tangent, tangent."""
        n = np.array(self.normal)
        t1, t2 = perpendicular(n)
        return n @ x - self.height, np.stack([n, t1, t2], axis=1)

    def heights(self, x: ArrayLike, y: ArrayLike) -> Array:
        """Heights z (n) of the surface at arrays of positions x and y [m], of any shape."""
        a, b, c = self.normal
        if abs(c) < UPRIGHT:
            raise MethodError(f"a plane with the normal {self.normal} is upright; it has no heights over x and y")
        z: Array = (self.height - a * np.asarray(x) - b * np.asarray(y)) / c
        return z

    def normals(self, x: ArrayLike, y: ArrayLike) -> Array:
        """Unit normals (..., 3) at arrays of positions x and y [m]."""
        return np.broadcast_to(self.normal, (*np.broadcast_shapes(np.shape(x), np.shape(y)), 3))


@dataclass(frozen=True)
class HeightField:
    """Ground of height z = h(x, y), h written with `kinloop.scalar` functions; slopes (dh/dx, dh/dy) from its graph.

    A point sees the surface's tangent plane below it: exact for points, and for spheres much smaller than
    the radius of curvature of the ground. With `numbers`, a dict of names and values, the height is h(x, y, **numbers);
    a simulator may leave these open, so that every batch row walks on ground of its own (`open_numbers`).
    """

    height: Callable[..., Any]
    friction: float = 0.8
    restitution: float = 0.0
    slope: Callable[..., Any] | None = None
    numbers: Any = ()  # a dict when given, a tuple of names and values afterwards
    _function: sc.Function = field(init=False, repr=False, compare=False)  # (x, y), numbers -> height and slopes

    def __post_init__(self) -> None:
        _checked(self.friction, self.restitution)
        named = {str(n): checked_number(f"number {n!r} of the height", x, "be finite") for n, x in _items(self.numbers)}
        object.__setattr__(self, "numbers", tuple(named.items()))
        graph, sizes = sc.Graph(), {"p": 2, "numbers": len(named)}
        p, given = (graph.inputs(name, size) for name, size in sizes.items())
        own = dict(zip(named, given, strict=True))
        h = np.array([self.height(p[0], p[1], **own)], dtype=object)
        slope = sc.jacobian(h, p, "forward")[0] if self.slope is None else np.array(self.slope(p[0], p[1], **own))
        object.__setattr__(self, "_function", sc.Function(sizes, {"h": h, "slope": slope}, graph))

    @staticmethod
    def table(
        x: ArrayLike, y: ArrayLike, heights: ArrayLike, friction: float = 0.8, restitution: float = 0.0
    ) -> HeightField:
        """Bilinear between the heights (len(x), len(y)) [m] at evenly spaced x and y [m]; level beyond them.

        Every point of contact costs about 2 len(x) len(y) operations: meant for tables up to some 20 by 20.
        """
        x, y, heights = (np.asarray(a, dtype=float) for a in (x, y, heights))
        if heights.shape != (len(x), len(y)) or len(x) < 2 or len(y) < 2:
            raise MethodError(f"heights must have shape ({len(x)}, {len(y)}), received {heights.shape}")
        for name, values in (("x", x), ("y", y), ("heights", heights)):
            checked(f"{name} of the table of heights", values, values.shape[-1])

        def height(px: Any, py: Any) -> Any:
            return _hats(x, px) @ (heights @ _hats(y, py))

        def slope(px: Any, py: Any) -> Any:
            return [_steps(x, px) @ (heights @ _hats(y, py)), _hats(x, px) @ (heights @ _steps(y, py))]

        return HeightField(height, friction, restitution, slope)

    @property
    def key(self) -> tuple[Any, ...]:
        """What kernels depend on."""
        own = (self.numbers,) if self.numbers else ()
        return "heights", self.friction, self.restitution, function_digest(self._function), *own

    def surface(self, x: Array) -> tuple[Any, Array]:
        """Distance [m] of a point x (3) from the surface; axes (3, 3) there as columns: normal, tangent, tangent."""
        h, slope = self._function(x[:2], self._values)
        a, b = slope
        n = np.array([-a, -b, 1.0]) / sc.sqrt(1.0 + a * a + b * b)
        t1 = np.array([1.0, 0.0 * a, a]) / sc.sqrt(1.0 + a * a)
        return (x[2] - h[0]) * n[2], np.stack([n, t1, cross(n, t1)], axis=1)

    @property
    def _values(self) -> list[Any]:
        return [x for _, x in self.numbers]

    def heights(self, x: ArrayLike, y: ArrayLike) -> Array:
        """Heights z (n) of the surface at arrays of positions x and y [m], of any shape."""
        return self._batch(x, y)[..., 0]

    def normals(self, x: ArrayLike, y: ArrayLike) -> Array:
        """Unit normals (..., 3) at arrays of positions x and y [m]."""
        h = self._batch(x, y)
        n = np.stack([-h[..., 1], -h[..., 2], np.ones(h.shape[:-1])], axis=-1)
        unit: Array = n / np.linalg.norm(n, axis=-1, keepdims=True)
        return unit

    def _batch(self, x: ArrayLike, y: ArrayLike) -> Array:
        """Height and slopes (..., 3) at arrays of positions; not finite where the function is not defined."""
        p = np.broadcast_arrays(np.asarray(x, dtype=float), np.asarray(y, dtype=float))
        with np.errstate(all="ignore"):
            h, slope = self._function(p, self._values)
        return np.stack([np.broadcast_to(np.asarray(a, dtype=float), p[0].shape) for a in (*h, *slope)], axis=-1)


def _items(numbers: Any) -> Any:
    """Names and values of a dict, or of what a dict became."""
    return numbers.items() if isinstance(numbers, Mapping) else numbers


def _hats(nodes: Array, x: Any) -> Array:
    """Weights of linear interpolation at x between evenly spaced nodes."""
    step = nodes[1] - nodes[0]
    if not np.allclose(np.diff(nodes), step):
        raise MethodError("the coordinates of a table of heights must be evenly spaced")
    inside = sc.minimum(sc.maximum(x, nodes[0]), nodes[-1])
    weights = [sc.maximum(0.0, 1.0 - sc.abs((inside - a) / step)) for a in nodes]
    return np.array(weights, dtype=object if sc.is_symbolic(x) else float)


def _steps(nodes: Array, x: Any) -> Array:
    """Slopes of the weights of `_hats` in the cell that holds x; at a node, in the cell beyond it."""
    step = nodes[1] - nodes[0]
    inside = [sc.where(sc.logical_and(x >= a, x < b), 1.0 / step, 0.0) for a, b in pairwise(nodes)]
    weights = [a - b for a, b in zip([0.0, *inside], [*inside, 0.0], strict=True)]
    return np.array(weights, dtype=object if sc.is_symbolic(x) else float)
