"""Numbers, vectors and poses out of attributes and texts, checked where they stand."""

from __future__ import annotations

import re

import numpy as np

from kinloop.io.shared.failure import Where
from kinloop.io.shared.safe_xml import Node
from kinloop.model.frame import swept
from kinloop.model.frozen_arrays import frozen
from kinloop.spatial import Transform, quaternion_rotation, rpy_rotation

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\Z")
_INFINITE = {"inf": np.inf, "+inf": np.inf, "-inf": -np.inf, "infinity": np.inf, "-infinity": -np.inf}
LARGEST = 1e12
"""Figures beyond this are mistakes, not robots [SI units]."""


def numbers(text: str, count: int, where: Where, what: str) -> np.ndarray:
    """`count` finite numbers from a text."""
    words = text.replace(",", " ").split() if "," in text else text.split()
    if len(words) != count:
        raise where.error(f"{what} {_short(text)} holds {len(words)} numbers; give {count}")
    return np.array([number(word, where, what) for word in words])


def number(text: str, where: Where, what: str, unbounded: bool = False) -> float:
    """One number; `unbounded` also allows infinities (limits are written so)."""
    word = text.strip()
    if unbounded and word.lower() in _INFINITE:
        return _INFINITE[word.lower()]
    if not _NUMBER.match(word):
        raise where.error(f"{what} {_short(text)} is not a finite number; give one like 0.5 or 1e-3")
    value = float(word)
    if abs(value) > LARGEST and not unbounded:
        raise where.error(f"{what} {_short(text)} is beyond {LARGEST:g}; check its unit")
    return value


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:37] + "...")


def attribute(node: Node, name: str, default: float | None = None, unbounded: bool = False) -> float:
    """A number from an attribute; without a default it must be there."""
    text = node.get(name)
    if text is None:
        if default is None:
            raise node.error(f'has no attribute {name!r}; add {name}="..."')
        return default
    return number(text, node.where, name, unbounded)


def vector(node: Node | None, name: str = "xyz", default: tuple[float, ...] = (0.0, 0.0, 0.0)) -> np.ndarray:
    """A vector from an attribute of a node that may be absent."""
    text = None if node is None else node.get(name)
    if node is None or text is None:
        return np.array(default)
    return numbers(text, len(default), node.where, name)


def pose_of(node: Node | None) -> Transform:
    """The pose of an `<origin xyz rpy>` (or `quat`, wxyz), identity where it is absent."""
    if node is None:
        return Transform.identity()
    with node.where.blamed():
        if node.get("quat") is not None and node.get("rpy") is None:
            return quaternion_pose(vector(node), vector(node, "quat", (1.0, 0.0, 0.0, 0.0)), node.where)
        return rpy_pose(vector(node), vector(node, "rpy"), node.where)


def exact_pose(at: np.ndarray, rotation: np.ndarray) -> Transform:
    """A pose of a rotation that is one: only dust of the arithmetic itself is swept to exact zeros and ones."""
    return Transform(swept(rotation, dust=2e-15), frozen(at, (3,), "position"))


def rpy_pose(at: np.ndarray, rpy: np.ndarray, where: Where) -> Transform:
    with where.blamed():
        return exact_pose(at, rpy_rotation(*rpy) if np.any(rpy) else np.eye(3))


def quaternion_pose(at: np.ndarray, quaternion: np.ndarray, where: Where) -> Transform:
    """A pose from a position and a quaternion (w x y z) of any length but zero."""
    length = float(np.linalg.norm(quaternion))
    if not length > 1e-9:
        raise where.error(f"the quaternion {quaternion.tolist()} has no length; give a unit quaternion")
    with where.blamed():
        return exact_pose(at, quaternion_rotation(quaternion / length))
