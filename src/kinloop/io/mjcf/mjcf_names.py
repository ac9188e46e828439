"""Names for the parts of a compiled MuJoCo model, those without one included."""

from __future__ import annotations

from typing import cast

import numpy as np

from kinloop.io.mjcf.mujoco_codes import TURNING, MjModel


class Names:
    """Names of the parts of a compiled model; parts without one are named after their body or number."""

    def __init__(self, model: MjModel) -> None:
        import mujoco

        self.model, self.mujoco = model, mujoco

    def of(self, kind: str, k: int) -> str:
        """The name of part number k of a kind: body, joint, geom, site, ..."""
        name = self._written(kind, k)
        return name or self._unused(kind, f"{kind}{k}")

    def _unused(self, kind: str, name: str) -> str:
        """`name`, lengthened by underscores until no part of that kind has it."""
        enum = getattr(self.mujoco.mjtObj, f"mjOBJ_{kind.upper()}")
        while self.mujoco.mj_name2id(self.model, enum, name) >= 0:
            name += "_"
        return name

    def _written(self, kind: str, k: int) -> str | None:
        enum = getattr(self.mujoco.mjtObj, f"mjOBJ_{kind.upper()}")
        return cast("str | None", self.mujoco.mj_id2name(self.model, enum, k))

    def joint(self, j: int) -> str:
        """A joint's name, or its body's with `_joint` (and a number where the body has several)."""
        name = self._written("joint", j)
        if name:
            return name
        b = int(self.model.jnt_bodyid[j])
        several = f"{j - int(self.model.body_jntadr[b])}" if self.model.body_jntnum[b] > 1 else ""
        return self._unused("joint", f"{self.of('body', b)}_joint{several}")

    def link(self, b: int) -> str:
        """The link that has a body's mass: the body's name, marked where its frame lies on a joint instead."""
        name = self.of("body", b)
        count = int(self.model.body_jntnum[b])
        if b == 0 or count == 0:
            return name
        last = int(self.model.body_jntadr[b]) + count - 1
        shifted = self.model.jnt_type[last] in TURNING and np.any(self.model.jnt_pos[last])
        return f"{name}@{self.joint(last)}" if shifted else name
