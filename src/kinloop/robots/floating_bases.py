"""Bases of robots: freed from the world, or fixed to it."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from kinloop.errors import ModelError
from kinloop.model import Body, Joint, Mechanism
from kinloop.model.frame import WORLD
from kinloop.model.joints import Fixed, Free
from kinloop.model.loops import LoopClosure
from kinloop.spatial import Transform

Closing = TypeVar("Closing", bound=LoopClosure)


def with_base(m: Mechanism, floating: bool | Body | None) -> Mechanism:
    """A mechanism on a base that floats, or stands still; None leaves it as it is.

    True is for mechanisms whose base floats already or is a body that is fixed. Others stand on the world, which has
    no mass: a `Body` takes its place and floats, with all that stood on the world on it.
    """
    if floating is None:
        return m
    carried = [j for j in m.joints if j.parent == WORLD]
    base = carried[0] if len(carried) == 1 and not any(c.touches(WORLD) for c in m.closures) else None
    if isinstance(floating, Body):
        if base is not None and base.type.is_free:
            raise ModelError(f"{m.name!r} has a floating base, {base.child!r}; floating_base=True takes it as it is")
        return _standing_on(m, floating)
    if base is not None and (base.type.is_free or base.type.nv == 0):
        return _retyped(m, base, floating)
    if floating:
        raise ModelError(
            f"{m.name!r} stands on the world, which has no mass that could float; give floating_base=kinloop.Body("
            '"base", mass=..., inertia=...), a body that takes its place'
        )
    return m


def _retyped(m: Mechanism, base: Joint, floating: bool) -> Mechanism:
    """The same with a base joint that is free, or fixed."""
    if base.type.is_free == floating:
        return m
    joints = tuple(replace(j, type=Free() if floating else Fixed()) if j is base else j for j in m.joints)
    own = tuple(n for n in m.independent if n != base.name and not n.startswith(f"{base.name}["))
    return replace(m, joints=joints, independent=own)


def _standing_on(m: Mechanism, base: Body) -> Mechanism:
    """The same on a free body where the world was."""

    def moved(c: Closing) -> Closing:
        if c.ends is None or WORLD not in c.ends:
            return c
        first, second = ((base.name if end == WORLD else end, Transform.identity()) for end in c.ends)
        return c.reattached(first, second)

    joint = Joint(f"{base.name}_joint", WORLD, base.name, Free())
    joints = [replace(j, parent=base.name) if j.parent == WORLD else j for j in m.joints]
    frames = [replace(f, body=base.name) if f.body == WORLD else f for f in m.frames]
    return replace(
        m, bodies=(base, *m.bodies), joints=(joint, *joints), frames=tuple(frames), loops=tuple(map(moved, m.loops)),
        couplings=tuple(map(moved, m.couplings)),
    )  # fmt: skip
