"""A mechanism being drawn at random: bodies on bodies, loops closed where the bodies happen to be.

What `kinloop.model.random` composes its mechanisms from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from kinloop import scalar as sc
from kinloop.model.annotations import Keyframe
from kinloop.model.builder import Builder, joint_type
from kinloop.model.frame import WORLD
from kinloop.model.joints import JointType, perpendicular
from kinloop.model.mechanism import Mechanism
from kinloop.scalar import Array
from kinloop.spatial import Transform, quaternion_rotation, rpy_rotation

LOOP_JOINTS = ("revolute", "prismatic", "helical", "universal", "spherical", "planar", "cylindrical", "fixed")
SINGLE = ("revolute", "prismatic", "helical")
TREE_JOINTS = (*LOOP_JOINTS, "free")
DRAWN = "drawn"
"""The keyframe at which a mechanism was drawn: its loops are closed there."""


class Sketch:
    """A mechanism being drawn: a builder, and where every body is at the drawn position."""

    def __init__(self, rng: np.random.Generator, name: str) -> None:
        self.rng, self.b = rng, Builder(name, gravity=list(rng.normal(size=3) * 5.0))
        self.pose: dict[str, Transform] = {WORLD: Transform.identity()}
        self.q: dict[str, Array] = {}

    def chance(self, p: float) -> bool:
        return bool(self.rng.random() < p)

    def pick(self, items: Sequence[Any]) -> Any:
        return items[int(self.rng.integers(len(items)))]

    def axis(self) -> Array:
        """A coordinate axis, or any direction."""
        direction: Array
        if self.chance(0.5):
            direction = self.pick((*np.eye(3), *-np.eye(3)))
            return direction
        direction = self.rng.normal(size=3)
        return direction / float(np.linalg.norm(direction))

    def rotation(self) -> Array:
        """None, some right angles, or any rotation."""
        style = self.rng.random()
        if style < 0.3:
            return np.eye(3)
        if style < 0.5:
            return rpy_rotation(*(self.rng.integers(0, 4, 3) * np.pi / 2))
        q = self.rng.normal(size=4)
        return quaternion_rotation(q / np.linalg.norm(q))

    def place(self, size: float = 0.4) -> Transform:
        return Transform(self.rotation(), self.rng.uniform(-size, size, 3))

    def joint(self, kind: str, axis: Any = None) -> JointType:
        """A joint type by name, along a random axis unless told."""
        if kind in ("fixed", "free", "spherical"):
            return joint_type(kind)
        axis = self.axis() if axis is None else np.asarray(axis)
        more: dict[str, Any] = {"pitch": self.rng.uniform(-0.2, 0.2)} if kind == "helical" else {}
        if kind == "universal":
            more["axis2"] = perpendicular(axis)[0]
        return joint_type(kind, axis, **more)

    def mass(self) -> dict[str, Any]:
        """Mass, centre and inertia of a small cloud of point masses."""
        m = self.rng.uniform(0.1, 1.0, 6)
        x = self.rng.normal(size=(6, 3)) * 0.15 + self.rng.normal(size=3) * 0.2
        com = m @ x / m.sum()
        d = x - com
        inertia = np.einsum("k,kij->ij", m, np.eye(3) * (d**2).sum(1)[:, None, None] - d[:, :, None] * d[:, None, :])
        return {"mass": m.sum(), "com": com, "inertia": 0.5 * (inertia + inertia.T)}

    def wheel(self, axis: Any) -> dict[str, Any]:
        """A body that looks the same however it spins about its axis."""
        a = np.asarray(axis)
        across = self.rng.uniform(1e-5, 1e-3)
        along = across * self.rng.uniform(0.2, 2.0)
        inertia = across * (np.eye(3) - np.outer(a, a)) + along * np.outer(a, a)
        com = a * self.rng.uniform(-0.05, 0.05) if np.max(np.abs(a)) == 1.0 else np.zeros(3)
        return {"mass": self.rng.uniform(0.05, 0.5), "com": com, "inertia": inertia}

    def body(
        self, parent: str, kind: str | JointType | None = None, at: Transform | None = None, inertial: Any = None
    ) -> str:
        """Add a body on `parent`; its name. Joint type, placement and mass are drawn where not given."""
        kind = kind or self.pick((*SINGLE, *SINGLE, *TREE_JOINTS))
        kind = kind if isinstance(kind, JointType) else self.joint(kind)
        at = at or self.place()
        inertial = self.mass() if inertial is None else inertial
        name = f"body{len(self.pose)}"
        armature = self.rng.uniform(0.0, 0.1) if kind.nv == 1 and self.chance(0.2) else 0.0
        joint = self.b.body(name, parent, joint=kind, at=at.p, rotation=at.R, armature=armature, **inertial)
        at = self.b.joints[-1].placement
        self.q[joint] = kind.random(self.rng)
        self.pose[name] = self.pose[parent].then(at).then(kind.pose(self.q[joint]))
        return name

    def chain(self, parent: str, freedom: int, kinds: Sequence[str] = TREE_JOINTS[:-1]) -> list[str]:
        """Bodies one on the other whose joints have at least `freedom` freedoms together."""
        out: list[str] = []
        while freedom > 0:
            parent = self.body(parent, self.pick((*SINGLE, *kinds)))
            out.append(parent)
            freedom -= self.b.joints[-1].type.nv
        return out

    def close(self, a: str, b: str, kind: str | JointType, at: Transform | None = None) -> None:
        """Join two bodies where they are by a loop joint, drawn at a random position of its own."""
        kind = kind if isinstance(kind, JointType) else self.joint(kind)
        at = at or self.place(0.3)
        frame = self.pose[a].then(at).then(kind.pose(kind.random(self.rng)))
        to = self.pose[b].inverse().then(frame)
        name = f"loop{len(self.b.loops)}"
        self.b.loop(name, a, b, kind, at=at.p, rotation=at.R, at_successor=to.p, rotation_successor=to.R)

    def rod(self, a: str, b: str) -> None:
        """Tie a point of each body by a rod of the length they are apart."""
        x, y = self.rng.uniform(-0.3, 0.3, (2, 3))
        gap = self.pose[a].p + self.pose[a].R @ x - self.pose[b].p - self.pose[b].R @ y
        self.b.rod(f"loop{len(self.b.loops)}", a, b, x, y, float(np.linalg.norm(gap)))

    def couple(self, dependent: str, independent: str, style: str | None = None) -> None:
        """Couple the joints of two bodies, exactly as they stand; styles: mimic, polynomial, function, implicit."""
        x, y = f"{dependent}_joint", f"{independent}_joint"
        x0, y0 = float(self.q[x][0]), float(self.q[y][0])
        style = style or self.pick(("mimic", "polynomial", "function", "implicit"))
        a, b, c = self.rng.uniform(0.3, 1.5, 3) * self.pick((1.0, -1.0))
        if style == "mimic":
            self.b.mimic(x, y, ratio=a, offset=x0 - a * y0, name=f"{x}~{y}")
        elif style == "polynomial":
            rest = x0 - (a * y0 + 0.1 * b * y0**2 - 0.02 * c * y0**3)
            self.b.polynomial(x, y, (rest, a, 0.1 * b, -0.02 * c), name=f"{x}~{y}")
        elif style == "function":
            rest = x0 - (a * y0 + 0.3 * np.sin(b * y0))
            self.b.coupling([x], [y], lambda t: rest + a * t + 0.3 * sc.sin(b * t), name=f"{x}~{y}")
        else:
            rest = a * np.sin(x0) + 2.0 * a * x0 + b * y0 + 0.2 * np.cos(c * y0)
            self.b.loop_function(
                f"{x}~{y}", [x, y], lambda s, t: a * sc.sin(s) + 2.0 * a * s + b * t + 0.2 * sc.cos(c * t) - rest
            )

    def gear(self, rotor: str, link: str, ratio: float) -> None:
        x, y = f"{rotor}_joint", f"{link}_joint"
        offset = self.q[x][0] - ratio * self.q[y][0]
        self.b.gear(x, y, ratio, offset, name=f"{x}~{y}")

    def rotor(self, parent: str) -> str:
        axis = self.axis()
        return self.body(parent, self.joint("revolute", axis), inertial=self.wheel(axis) if self.chance(0.7) else None)

    def finish(self) -> Mechanism:
        """The mechanism, its joints in any regular order, with a few frames."""
        for k, body in enumerate(self.rng.permutation([n for n in self.pose if n != WORLD])[:3]):
            at = self.place()
            self.b.frame(f"frame{k}", str(body), at=at.p, rotation=at.R)
        m = self.b.mechanism()
        if self.chance(0.5):
            m = replace(m, joints=tuple(m.joints[k] for k in self.rng.permutation(len(m.joints))))
        drawn = np.concatenate([self.q[j.name] for j in m.joints])
        return replace(m, keyframes=(Keyframe(DRAWN, tuple(drawn)),))
