"""What the writers of all formats share: a mechanism, or a robot that has one; and how they refuse what they lack."""

from __future__ import annotations

from typing import Protocol

from kinloop.errors import ModelError
from kinloop.model import FunctionCoupling, LoopClosure, LoopFunction, Mechanism


class HasMechanism(Protocol):
    """A robot, as far as writing it is concerned."""

    @property
    def mechanism(self) -> Mechanism: ...


def mechanism_of(x: Mechanism | HasMechanism) -> Mechanism:
    return x if isinstance(x, Mechanism) else x.mechanism


def cannot_hold(part: LoopClosure, holder: str, remedy: str) -> ModelError:
    """The error about a loop or coupling that a format has no word for; `holder` names the format."""
    kind = "a Python function" if isinstance(part, LoopFunction | FunctionCoupling) else f"a {type(part).__name__}"
    return ModelError(f"{part.what} is {kind}, which {holder} hold; {remedy}")
