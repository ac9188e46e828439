"""Options of robots that must be whole numbers."""

from __future__ import annotations

from kinloop.errors import ModelError


def whole_number(name: str, value: int, least: int, step: int = 1) -> int:
    """The value of an option, or an error; with step 2 only even numbers are allowed."""
    if not isinstance(value, int) or value < least or value % step:
        kind = "an even whole number" if step == 2 else "a whole number"
        raise ModelError(f"{name} must be {kind} of at least {least}, received {value!r}")
    return value
