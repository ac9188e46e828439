"""The forces that motors within their limits can exert at joints: a polytope.

Motor forces f_y within their limits are a box, and forces at the joints are f_x = J^T f_y: the box moved by a linear
map, a zonotope with a generator per motor. Its facets are spanned by n - 1 generators each, for n joints.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kinloop.errors import MethodError, SingularConfiguration
from kinloop.inputs import checked
from kinloop.scalar import Array

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

FLAT = 1e-10
"""Generators that span less than this part of their lengths span no facet."""

SAME = 1e-9
"""Relative distance below which two facets, or two vertices, are one."""

MOST = 16
"""Motors whose vertices are looked for, at most: there are 2^16 candidates."""


@dataclass(frozen=True, eq=False)
class TorquePolytope:
    """Forces f at joints with `normals @ f <= offsets` [N m, N]: what motors can do at one position and velocity.

    `generators` (motors, joints) are the rows of J times half the range of each motor, `centre` is the middle.
    """

    joint_names: tuple[str, ...]
    centre: Array
    generators: Array
    normals: Array
    offsets: Array

    @staticmethod
    def of(J: Array, low: Array, high: Array, joint_names: Sequence[str]) -> TorquePolytope:
        """The polytope of motors with the Jacobian J (motors, joints), from `low` to `high` forces [N m, N]."""
        if not np.all(np.isfinite([low, high])):
            k = int(np.argwhere(~np.isfinite(high - low))[0, 0])
            raise MethodError(f"motor {k} has no limits, so that forces have none; give Motor(..., limit=)")
        centre, generators = J.T @ (0.5 * (low + high)), J * (0.5 * (high - low))[:, None]
        normals = _normals(generators)
        reach = np.abs(normals @ generators.T).sum(axis=1)
        normals = np.concatenate([normals, -normals])
        offsets = np.concatenate([reach, reach]) + normals @ centre
        return TorquePolytope(tuple(joint_names), centre, generators, normals, offsets)

    @cached_property
    def vertices(self) -> Array:
        """The corners (corners, joints), in the order of their angle where there are two joints."""
        m, n = self.generators.shape
        if m > MOST:
            raise MethodError(f"{m} motors have too many corners; take at most {MOST} of them, or ask for facets")
        points = self.centre + np.array(list(product((-1.0, 1.0), repeat=m))) @ self.generators
        size = float(np.abs(self.generators).sum())
        active = self.offsets - points @ self.normals.T <= SAME * size
        corners = [p for p, on in zip(points, active, strict=True) if np.linalg.matrix_rank(self.normals[on]) == n]
        kept: list[Array] = []
        for p in corners:
            if all(np.max(np.abs(p - other)) > SAME * size for other in kept):
                kept.append(p)
        out = np.array(kept)
        if n == 2:
            out = out[np.argsort(np.arctan2(*(out - self.centre).T[::-1]))]
        return out

    def contains(self, force: ArrayLike) -> Array:
        """Whether motors can exert forces (..., joints) [N m, N], but for rounding."""
        f = checked("force", force, len(self.joint_names))
        slack = SAME * float(np.abs(self.generators).sum())
        return np.asarray(np.all(f @ self.normals.T <= self.offsets + slack, axis=-1))

    def largest_along(self, direction: ArrayLike) -> Array:
        """By how much [1] a force (..., joints) [N m, N] can grow before motors are at limits; infinite for zero."""
        d = checked("direction", direction, len(self.joint_names))
        self._check_middle()
        rate = d @ self.normals.T
        with np.errstate(all="ignore"):
            return np.asarray(np.min(np.where(rate > 0.0, self.offsets / rate, np.inf), axis=-1))

    def box(self, ratio: ArrayLike | None = None) -> Array:
        """Half the sides t (joints,) [N m, N] of the largest box |f| <= t in which motors can exert every force.

        With `ratio` (joints,) its sides are in this ratio, else it is the one of the largest volume.
        """
        self._check_middle()
        C = np.abs(self.normals)
        if ratio is not None:
            w = checked("ratio", ratio, len(self.joint_names))
            if not (np.all(w >= 0.0) and np.any(w)):
                raise MethodError(f"ratio is {w}; give numbers that are not negative, and not all zero")
            with np.errstate(divide="ignore"):
                return np.asarray(w * np.min(self.offsets / (C @ w)))
        return _largest_box(C, self.offsets)

    def onto(self, joints: tuple[int, int]) -> TorquePolytope:
        """What two of the joints can have, whatever the others have."""
        k, names = list(joints), self.joint_names
        if len(set(k)) != 2 or not all(0 <= i < len(names) for i in k):
            raise MethodError(f"joints to plot are {joints}; give two different numbers from 0 to {len(names) - 1}")
        one, G = np.ones(len(self.generators)), self.generators[:, k]
        middle = TorquePolytope.of(G, -one, one, [names[i] for i in k])
        return TorquePolytope(
            middle.joint_names, self.centre[k], G, middle.normals, middle.offsets + middle.normals @ self.centre[k]
        )

    def plot(self, path: str | Path, joints: tuple[int, int] = (0, 1)) -> Path:
        """Draw what two of the joints can have, whatever the others have, and the largest box; the file's path."""
        from matplotlib.figure import Figure  # here, since it takes half a second of the first plot

        if len(self.joint_names) < 2:
            raise MethodError("a polytope of one joint is a range; see its vertices")
        flat = self.onto(joints)
        figure = Figure(figsize=(5.2, 5.0), layout="constrained")
        ax = figure.subplots()
        flat._draw(ax)
        figure.savefig(Path(path), dpi=120)
        return Path(path)

    def _draw(self, ax: Any) -> None:
        corners, (a, b) = self.vertices, self.joint_names
        ax.fill(*corners.T, color="#0b6e99", alpha=0.25)
        ax.plot(*np.concatenate([corners, corners[:1]]).T, color="#0b6e99", label="what the motors can do")
        if np.all(self.offsets > 0.0):
            x, y = self.box()
            ax.plot([-x, x, x, -x, -x], [-y, -y, y, y, -y], color="#e07b39", label="largest symmetric box")
        ax.set(xlabel=f"{a} [N m]".replace("$", r"\$"), ylabel=f"{b} [N m]".replace("$", r"\$"))
        ax.grid(alpha=0.3)
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(frameon=False, loc="upper right", fontsize=8)

    def _check_middle(self) -> None:
        if not np.all(self.offsets > 0.0):
            raise MethodError(
                "motors cannot be without force at this speed, so that there is no symmetric box and no way from zero; "
                "see facets or vertices"
            )


def _normals(generators: Array) -> Array:
    """Unit normals of all facets, one of each pair."""
    n = generators.shape[1]
    found: list[Array] = []
    sizes = np.linalg.norm(generators, axis=1)
    units = generators[sizes > 0.0] / sizes[sizes > 0.0, None]
    if not len(units) or np.linalg.matrix_rank(units, tol=FLAT) < n:
        raise SingularConfiguration(
            "motors cannot push the joints in all directions here, so that what they can do has no volume; move off "
            "this position, or add motors"
        )
    for chosen in combinations(units, n - 1):
        _, s, Vt = np.linalg.svd(np.array(chosen).reshape(n - 1, n))
        if n > 1 and s[-1] <= FLAT:
            continue
        normal = Vt[-1] * np.sign(Vt[-1][np.argmax(np.abs(Vt[-1]))])
        if all(np.max(np.abs(normal - other)) > SAME for other in found):
            found.append(normal)
    return np.array(found)


def _largest_box(C: Array, b: Array) -> Array:
    """The t > 0 with C t <= b whose product is largest, by Newton's method with a barrier that fades."""
    t = 0.5 * np.min(b / C.sum(axis=1)) * np.ones(C.shape[1])
    weight = 1.0
    while weight > 1e-14:
        for _ in range(30):
            slack = b - C @ t
            gradient = -1.0 / t + weight * (C.T @ (1.0 / slack))
            hessian = np.diag(t**-2.0) + weight * (C.T @ (C / (slack * slack)[:, None]))
            step = -np.linalg.solve(hessian, gradient)
            whole = np.concatenate([-step / t, (C @ step) / slack]).max()
            t = t + step * min(1.0, 0.9 / whole if whole > 0.0 else 1.0)
            if -gradient @ step < 1e-14:
                break
        weight *= 0.1
    return np.asarray(t * np.min(b / (C @ t)))
