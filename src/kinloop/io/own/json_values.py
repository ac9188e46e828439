"""Values out of a JSON document, checked: numbers, texts, arrays, poses and joint types, bit for bit as written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np

from kinloop.errors import ModelError
from kinloop.io.shared.file_errors import ModelFileError, Where
from kinloop.model import JOINT_TYPES, JointType, joint_type
from kinloop.spatial import Transform

Json: TypeAlias = Any
"""A value of a JSON document: text, number, list, object, or none."""
Entry: TypeAlias = dict[str, Json]
"""An object of a JSON document."""

ROTATION_TOLERANCE = 1e-6
"""How far a rotation matrix may be from orthonormal."""
UNIT_TOLERANCE = 1e-9
"""An axis nearer than this to unit length was one when it was written, and is kept bit for bit."""


@contextmanager
def blamed(find: Callable[[], Where]) -> Iterator[None]:
    """Any mistake in an entry, reported as being about it; `find` looks for its place once it is needed."""
    try:
        yield
    except ModelFileError:
        raise
    except KeyError as error:
        raise find().error(f"lacks the field {error.args[0]!r}; add it") from None
    except (ModelError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise find().error(str(error)) from None


def number(x: Json, what: str, infinite: bool = False) -> float:
    """One number; infinities, where they are allowed, are the texts "inf" and "-inf"."""
    if infinite and x in ("inf", "-inf"):
        return float(x)
    if isinstance(x, bool) or not isinstance(x, int | float):
        raise ModelError(f"{what} is {x!r}; give a number")
    return float(x)


def flag(x: Json, what: str) -> bool:
    if not isinstance(x, bool):
        raise ModelError(f"{what} is {x!r}; give true or false")
    return x


def text(x: Json, what: str) -> str:
    if not isinstance(x, str):
        raise ModelError(f"{what} is {x!r}; give a text")
    return x


def texts(x: Json, what: str) -> tuple[str, ...]:
    if not isinstance(x, list):
        raise ModelError(f"{what} is {x!r}; give a list of texts")
    return tuple(text(word, what) for word in x)


def entries(x: Json, what: str) -> list[Entry]:
    """A list of objects."""
    if not isinstance(x, list) or not all(isinstance(e, dict) for e in x):
        raise ModelError(f"{what} must be a list of objects")
    return x


def interval(x: Json, what: str) -> tuple[float, float]:
    """Two numbers, infinities included."""
    if not isinstance(x, list) or len(x) != 2:
        raise ModelError(f"{what} is {x!r}; give a list of two numbers")
    return number(x[0], what, infinite=True), number(x[1], what, infinite=True)


def array(x: Json, what: str) -> np.ndarray:
    """Nested lists of numbers, and nothing else, as an array."""
    flat, waiting = [], [x]
    while waiting:
        part = waiting.pop()
        if isinstance(part, list):
            waiting.extend(part)
        else:
            flat.append(number(part, what))
    if not isinstance(x, list) or not np.all(np.isfinite(flat)):
        raise ModelError(f"{what} is {x!r}; give a list of finite numbers")
    return np.array(x, dtype=float)


def floats(x: Json, what: str) -> tuple[float, ...]:
    """A list of finite numbers."""
    return tuple(array(x, what).tolist())


def three(x: Json, what: str) -> tuple[float, float, float]:
    """A list of three finite numbers."""
    if np.shape(x) != (3,):
        raise ModelError(f"{what} is {x!r}; give a list of three numbers")
    first, second, third = floats(x, what)
    return first, second, third


def rgba(x: Json, what: str) -> tuple[float, float, float, float]:
    """A colour: red, green, blue and opacity."""
    if np.shape(x) != (4,):
        raise ModelError(f"{what} is {x!r}; give a list of four numbers, red, green, blue and opacity")
    r, g, b, a = floats(x, what)
    return r, g, b, a


def placement(e: Json) -> Transform:
    """A pose as it was written, without the sweeping of a builder."""
    if e is None:
        return Transform.identity()
    if not isinstance(e, dict):
        raise ModelError(f"placement is {e!r}; give R and p")
    R, p = array(e["R"], "R"), array(e["p"], "p")
    if (
        R.shape != (3, 3)
        or p.shape != (3,)
        or np.max(np.abs(R @ R.T - np.eye(3))) > ROTATION_TOLERANCE
        or np.linalg.det(R) < 0
    ):
        raise ModelError("placement needs a rotation matrix R, 3x3, and a position p of three numbers")
    for a in (R, p):
        a.setflags(write=False)
    return Transform(R, p)


def type_of_joint(e: Json) -> JointType:
    """A joint type with its axes bit for bit as they were written."""
    if not isinstance(e, dict) or e.get("kind") not in JOINT_TYPES:
        raise ModelError(f"type is {e!r}; its kind must be one of {', '.join(JOINT_TYPES)}")
    parameters: dict[str, Any] = {k: v for k, v in e.items() if k != "kind"}
    axes = {k: floats(v, k) for k, v in parameters.items() if k.startswith("axis")}
    numbers = {k: number(v, k) for k, v in parameters.items() if not k.startswith("axis")}
    values: dict[str, Any] = {**numbers, **axes}
    kind = joint_type(e["kind"], **values)  # checks
    for key, axis in axes.items():
        if np.max(np.abs(np.array(getattr(kind, key)) - axis)) < UNIT_TOLERANCE:
            object.__setattr__(kind, key, axis)
    return kind
