"""XML written line by line, numbers with the shortest digits that read back to the same double."""

from __future__ import annotations

from xml.sax.saxutils import quoteattr

import numpy as np
from numpy.typing import ArrayLike


class XmlLines:
    """An XML document being written; attributes that are None are left out."""

    def __init__(self) -> None:
        self.lines = ['<?xml version="1.0"?>']
        self.depth = 0

    def _put(self, tag: str, end: str, attributes: dict[str, ArrayLike | None]) -> None:
        text = "".join(f" {k}={quoteattr(_text(v))}" for k, v in attributes.items() if v is not None)
        self.lines.append("  " * self.depth + f"<{tag}{text}{end}")

    def open(self, tag: str, **attributes: ArrayLike | None) -> None:
        """Begin an element that has children."""
        self._put(tag, ">", attributes)
        self.depth += 1

    def empty(self, tag: str, **attributes: ArrayLike | None) -> None:
        """An element without children."""
        self._put(tag, "/>", attributes)

    def close(self, tag: str) -> None:
        self.depth -= 1
        self.lines.append("  " * self.depth + f"</{tag}>")

    def text(self) -> str:
        return "\n".join(self.lines) + "\n"


def _text(x: ArrayLike) -> str:
    return x if isinstance(x, str) else " ".join(repr(float(v)) for v in np.ravel(x))
