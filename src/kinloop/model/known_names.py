"""Names that parts of a mechanism use, checked against those it has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kinloop.errors import ModelError, unknown
from kinloop.model.frame import WORLD

if TYPE_CHECKING:
    from kinloop.model.mechanism import Mechanism


def known_body(m: Mechanism, name: str, user: str, world: bool = False) -> None:
    """Refuse the name of a body that the mechanism does not have, used by `user`."""
    if name not in m.body_names and not (world and name == WORLD):
        names = [b.name for b in m.bodies]
        error = unknown("body", name, [*names, WORLD] if world else names)
        raise ModelError(f"{user} refers to a missing body: {error}")


def known_joints(m: Mechanism, names: Sequence[str], user: str) -> None:
    """Refuse names of joints that the mechanism does not have, or none at all, used by `user`."""
    if not names:
        raise ModelError(f"{user} names no joints; name at least one")
    for name in names:
        if name not in m.joint_types:
            raise ModelError(f"{user} refers to a missing joint: {unknown('joint', name, [j.name for j in m.joints])}")
