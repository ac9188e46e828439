"""Every error kinloop raises on purpose: one base class, one class per mistake."""

from __future__ import annotations

from collections.abc import Iterable


class KinloopError(Exception):
    """Base of all errors raised by kinloop."""


class ModelError(KinloopError, ValueError):
    """A mechanism that cannot exist, or a model file that does not describe one."""


class UnknownName(KinloopError, KeyError):
    """A name that is not in the robot."""

    def __str__(self) -> str:
        return str(self.args[0])


class ShapeError(KinloopError, ValueError):
    """An array of the wrong shape or type."""


class NonFiniteInput(KinloopError, ValueError):
    """NaN or infinity where a number is needed."""


class NotAState(KinloopError, ValueError):
    """Positions that are no configuration of the robot: a quaternion that is not of unit length."""


class NotARollout(KinloopError, ValueError):
    """A file that holds no saved rollout, or a damaged one."""


class LoopNotClosed(KinloopError, ValueError):
    """A configuration in which a loop stands open, or cannot be closed."""


class SingularConfiguration(KinloopError, ValueError):
    """A configuration where the chosen independent coordinates do not determine the motion."""


class MethodError(KinloopError, ValueError):
    """A method or option that does not exist or does not apply."""


class ConflictingConstraints(KinloopError, ValueError):
    """Motion constraints that no acceleration can satisfy together."""


class NoSuchControl(KinloopError, ValueError):
    """A state in which no torques within limits do what has to hold."""


class CompileError(KinloopError, RuntimeError):
    """A kernel that could not be made."""


WORD, WORDS = 100, 5_000
"""Letters of a name, and names, among which near ones are looked for."""


def unknown(kind: str, name: str, known: Iterable[str]) -> UnknownName:
    """The error for an unknown name: lists the nearest known ones, or a few of all."""
    import difflib  # when first needed: it takes 1 ms of every start

    known, name = list(known), str(name)
    short = [n for n in known if len(n) <= WORD] if len(name) <= WORD else []  # the search takes time with every letter
    near = difflib.get_close_matches(name, short[:WORDS], n=3, cutoff=0.5)
    if near:
        hint = f"did you mean {' or '.join(repr(n) for n in near)}?"
    elif known:
        hint = f"known: {', '.join(repr(n) for n in known[:8])}{', ...' if len(known) > 8 else ''}"
    else:
        hint = "there are none"
    return UnknownName(f"no {kind} named {name!r}; {hint}")
