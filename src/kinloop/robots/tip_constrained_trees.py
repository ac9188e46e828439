"""Trees whose tips are to be constrained, as in [Sathya2023]: a ladder, a stalk with branches, a plain chain."""

from __future__ import annotations

from kinloop.model import Builder
from kinloop.robots.link_chains import QUARTER_TURN
from kinloop.robots.option_checks import whole_number
from kinloop.robots.solid_inertias import bar

_LENGTH = 0.2
_LINK = bar(1.0, _LENGTH, 0.04)


def _chain(b: Builder, name: str, parent: str, links: int, at: float) -> str:
    """Links with hinges across each other, the first at `at` along the parent; the last one's name."""
    for k in range(links):
        b.body(f"{name}-{k}", parent, axis="z", at=(at, 0, 0), rotation=QUARTER_TURN, **_LINK)
        parent, at = f"{name}-{k}", _LENGTH
    return parent


def _tip(b: Builder, name: str, body: str) -> None:
    b.frame(name, body, (_LENGTH, 0, 0))
    b.end_effectors.append(name)


def serial_chain(links: int = 20) -> Builder:
    """Serial chain of hinged links on the ground, its tip to be held (Figure 4a of Sathya2023)."""
    b = Builder("serial_chain")
    _tip(b, "tip", _chain(b, "link", "world", whole_number("links", links, 1), 0.0))
    return b


def ladder(rungs: int = 4, rung: int = 7, rail: int = 3) -> Builder:
    """Rail of `rail` links per step with a rung of `rung` links at each, tips to be held (Figure 4b of Sathya2023)."""
    b = Builder("ladder")
    at, parent = 0.0, "world"
    for k in range(whole_number("rungs", rungs, 1)):
        parent = _chain(b, f"rail-{k}", parent, whole_number("rail", rail, 1), at)
        _tip(b, f"tip-{k}", _chain(b, f"rung-{k}", parent, whole_number("rung", rung, 1), _LENGTH))
        at = _LENGTH
    return b


def stalk(length: int = 10, branches: int = 4, branch: int = 7) -> Builder:
    """Floating stalk with branches at both ends, their tips to be held (Figure 2e of Sathya2023)."""
    b = Builder("stalk")
    b.body("stalk-base", joint="free", **_LINK)
    end = "stalk-base"
    if whole_number("length", length, 1) > 1:
        end = _chain(b, "stalk", "stalk-base", length - 1, _LENGTH)
    for side, body in (("near", "stalk-base"), ("far", end)):
        for k in range(whole_number("branches", branches, 1)):
            _tip(b, f"{side}-tip-{k}", _chain(b, f"{side}-{k}", body, whole_number("branch", branch, 1), _LENGTH))
    return b
