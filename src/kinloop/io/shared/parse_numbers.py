"""Numbers, vectors and truth values out of attributes and texts, checked where they stand."""

from __future__ import annotations

import re

import numpy as np

from kinloop.io.shared.file_errors import Place
from kinloop.io.shared.safe_xml import Node

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\Z")
_INFINITE = {"inf": np.inf, "+inf": np.inf, "-inf": -np.inf, "infinity": np.inf, "-infinity": -np.inf}
_PLAIN = "0123456789+-.eE, \t\r\n"
LARGEST = 1e12
"""Numbers beyond this are mistakes, not parameters of a robot [SI units]."""


def numbers(text: str, count: int, where: Place, what: str) -> np.ndarray:
    """`count` finite numbers from a text."""
    return np.array(number_list(text, count, where, what))


def number_list(text: str, count: int, where: Place, what: str) -> list[float]:
    """`numbers` as a list."""
    words = text.replace(",", " ").split() if "," in text else text.split()
    if len(words) != count:
        raise where.error(f"{what} {_short(text)} holds {len(words)} numbers; give {count}")
    if not text.strip(_PLAIN):  # no letters but those of exponents: Python reads the same words as `number`
        try:
            found = list(map(float, words))
        except ValueError:
            found = [np.inf]
        if max(found) <= LARGEST and min(found) >= -LARGEST:
            return found
    return [number(word, where, what) for word in words]


def number(text: str, where: Place, what: str, unbounded: bool = False) -> float:
    """One number; `unbounded` also allows infinities (limits are written so)."""
    if not text.strip(_PLAIN):  # as in `number_list`, most numbers at once
        try:
            value = float(text)
        except ValueError:
            value = np.inf
        if -LARGEST <= value <= LARGEST:
            return value
    word = text.strip()
    if unbounded and word.lower() in _INFINITE:
        return _INFINITE[word.lower()]
    if not _NUMBER.match(word):
        raise where.error(f"{what} {_short(text)} is not a finite number; give one like 0.5 or 1e-3")
    value = float(word)
    if abs(value) > LARGEST and not unbounded:
        raise where.error(f"{what} {_short(text)} is beyond {LARGEST:g}; check its unit")
    return value


def truth(text: str, where: Place, what: str) -> bool:
    """A truth value, written as true, false, 1 or 0."""
    word = text.strip().lower()
    if word not in ("true", "false", "1", "0"):
        raise where.error(f"{what} {_short(text)} is neither true nor false; write one of them")
    return word in ("true", "1")


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:37] + "...")


def attribute(node: Node, name: str, default: float | None = None, unbounded: bool = False) -> float:
    """A number from an attribute; without a default it must be there."""
    text = node.attrib.get(name)
    if text is None:
        if default is None:
            raise node.error(f'has no attribute {name!r}; add {name}="..."')
        return default
    return number(text, node, name, unbounded)


def vector(node: Node | None, name: str = "xyz", default: tuple[float, ...] = (0.0, 0.0, 0.0)) -> np.ndarray:
    """A vector from an attribute of a node that may be absent."""
    return np.array(vector_list(node, name, default))


def vector_list(node: Node | None, name: str, default: tuple[float, ...]) -> list[float]:
    """`vector` as a list."""
    text = None if node is None else node.attrib.get(name)
    if node is None or text is None:
        return list(default)
    return number_list(text, len(default), node, name)


def child_number(node: Node, tag: str, default: float | None = None, unbounded: bool = False) -> float:
    """A number from the text of a child; without a default it must be there."""
    child = node.first(tag)
    if child is None or not child.text:
        if default is None:
            raise node.error(f"has no <{tag}>; add one")
        return default
    return number(child.text, child, tag, unbounded)


def child_truth(node: Node, tag: str, default: bool = False) -> bool:
    """A truth value from the text of a child that may be absent or empty."""
    child = node.first(tag)
    return default if child is None or not child.text else truth(child.text, child, tag)


def child_vector(node: Node, tag: str, default: tuple[float, ...]) -> tuple[float, ...]:
    """A vector from the text of a child that may be absent."""
    child = node.first(tag)
    return default if child is None else tuple(numbers(child.text, len(default), child, tag))


def symmetric_matrix(xx: float, yy: float, zz: float, xy: float, xz: float, yz: float) -> np.ndarray:
    """A symmetric 3x3 matrix from its six entries."""
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
