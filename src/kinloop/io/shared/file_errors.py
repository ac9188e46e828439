"""How reading a model file fails: errors that name file, line, element and reason; warnings that are kept."""

from __future__ import annotations

import contextlib
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Protocol

from kinloop.errors import ModelError


class ModelFileError(ModelError):
    """A model file that does not describe a possible robot: `file`, `line`, `element`, `reason`."""

    def __init__(self, file: str, line: int, element: str, reason: str) -> None:
        self.file, self.line, self.element, self.reason = file, line, element, reason
        super().__init__(file, line, element, reason)

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.element}: {self.reason}"


class ModelWarning(UserWarning):
    """Something in a model file that kinloop does not take over, or takes over with reservations."""


class Place(Protocol):
    """What errors can be about."""

    def error(self, reason: str) -> ModelFileError:
        """The error about this place."""

    def blamed(self) -> Blame:
        """Errors of the model layer raised inside are reported as being about this place."""


class Where(NamedTuple):
    """A place in a model file."""

    file: str
    line: int = 1
    element: str = "file"

    def error(self, reason: str) -> ModelFileError:
        return ModelFileError(self.file, self.line, self.element, reason)

    def blamed(self) -> Blame:
        """Errors of the model layer raised inside are reported as being about this place."""
        return Blame(self)


class Blame:
    """The context in which errors of the model layer are about a place: a `Where`, or an element of a file."""

    __slots__ = ("where",)

    def __init__(self, where: Place) -> None:
        self.where = where

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if isinstance(error, ModelError) and not isinstance(error, ModelFileError):
            raise self.where.error(str(error)) from error


@dataclass
class Notes:
    """What is noted while a file is read: warnings (with `strict` the first one is an error), and places of parts."""

    strict: bool = False
    lines: list[str] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)
    places: dict[str, Where] = field(default_factory=dict)
    """Where parts of the mechanism stand, by their names."""

    def warn(self, where: Where, reason: str, dropped: bool = False) -> None:
        """Note a reservation; `dropped` marks content of the file that the robot does not have."""
        if self.strict:
            raise where.error(f"{reason} (strict=True refuses this; load with strict=False to go on)")
        text = f"{where.file}:{where.line}: {where.element}: {reason}"
        self.lines.append(text)
        if dropped:
            self.dropped.append(text)

    def announce(self, stacklevel: int = 3) -> None:
        """Tell the user once about what was dropped; everything noted stays in `Mechanism.warnings`."""
        if self.dropped:
            more = f" (and {len(self.dropped) - 1} more, see mechanism.warnings)" if len(self.dropped) > 1 else ""
            warnings.warn(self.dropped[0] + more, ModelWarning, stacklevel=stacklevel)


def file_error(path: str | Path, error: Exception, places: Mapping[str, Where] | None = None) -> ModelFileError:
    """An error about a mechanism as one about its file: at the place of the part it names, or where its name stands."""
    named = re.search(r"'([^']+)'", str(error))
    name = named.group(1) if named else ""
    known = (places or {}).get(name)
    if known is not None:
        return ModelFileError(known.file, known.line, repr(name), str(error))
    line = 1
    if name:
        with contextlib.suppress(OSError):
            text = Path(path).read_text(encoding="utf-8", errors="replace").splitlines()
            line = next((k for k, content in enumerate(text, 1) if f'"{name}"' in content), 1)
    return ModelFileError(str(path), line, f"{name!r}" if name else "file", str(error))
