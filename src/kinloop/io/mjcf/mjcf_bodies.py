"""Bodies, joints and sites of a compiled MuJoCo model as links, joints and frames."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kinloop.io.mjcf.mjcf_names import Names
from kinloop.io.mjcf.mujoco_codes import (
    BALL,
    DAMPERS_DISABLED,
    FREE,
    FRICTION_DISABLED,
    HINGE,
    LIMITS_DISABLED,
    SPRINGS_DISABLED,
    TURNING,
    MjModel,
)
from kinloop.io.mjcf.safe_source import Places
from kinloop.io.mjcf.tendon_inertia import tendon_inertia
from kinloop.io.shared.exact_poses import exact_pose, free_position
from kinloop.io.shared.file_errors import Where
from kinloop.io.shared.robot_description import Link, RobotDescription
from kinloop.model import WORLD, CarriedWeight, Frame, Joint
from kinloop.model import joints as jt
from kinloop.spatial import Transform, axis_rotation, quaternion_rotation


class LinkFrames:
    """Where the links of a compiled model lie: each on the last joint of its body."""

    def __init__(self, model: MjModel) -> None:
        self.names = Names(model)
        self.origin: dict[int, np.ndarray] = {0: np.zeros(3)}
        """The origin of each body's link in MuJoCo's body frame."""

    def place(self, b: int, position: ArrayLike, quaternion: ArrayLike) -> tuple[str, Transform]:
        """The link of a body, and a pose in it that MuJoCo gives in the body's frame."""
        rotation = quaternion_rotation(np.asarray(quaternion))
        return self.names.link(b), exact_pose(np.asarray(position) - self.origin[b], rotation)


class BodyReader:
    """Puts the bodies, joints and sites of a compiled model into a description."""

    def __init__(self, model: MjModel, description: RobotDescription, places: Places) -> None:
        self.model, self.description, self.frames = model, description, LinkFrames(model)
        self.places = places
        self.names = self.frames.names

    def read(self) -> LinkFrames:
        for b in range(1, self.model.nbody):
            where = self.places.of("body", self.names.of("body", b))
            with where.blamed():
                self._body(b, where)
        return self.frames

    def _body(self, b: int, where: Where) -> None:
        """A body: one link per joint, the last of which has its mass."""
        m, name = self.model, self.names.of("body", b)
        first, count = int(m.body_jntadr[b]), int(m.body_jntnum[b])
        parent = int(m.body_parentid[b])
        at = Transform(quaternion_rotation(m.body_quat[b]), m.body_pos[b] - self.frames.origin[parent])
        above, origin = self.names.link(parent), np.zeros(3)
        joints = [j for j in range(first, first + count) if not self._pinned(j)]
        if not joints:
            self._weld(name, above, at, where)
        for j in joints:
            link = self.names.link(b) if j == joints[-1] else f"{name}@{self.names.joint(j)}"
            anchor = m.jnt_pos[j] if m.jnt_type[j] in TURNING else origin
            if link not in self.description.links:
                self.description.add_link(Link(link, where))
            self.description.add_joint(self._joint(j, above, link, at, anchor - origin), where)
            at, above, origin = Transform.identity(), link, anchor
        self.frames.origin[b] = origin
        self._mass(self.description.links[self.names.link(b)], b, origin)
        if m.body_gravcomp[b] and m.body_mass[b]:
            held = float(m.body_gravcomp[b] * m.body_mass[b])
            self.description.carried.append(CarriedWeight(self.names.link(b), held, tuple(m.body_ipos[b] - origin)))
        if self.names.link(b) != name:
            frame = Frame(name, self.names.link(b), Transform(np.eye(3), -origin))
            self.description.frames.append((frame, where))

    def _pinned(self, j: int) -> bool:
        return bool(self.model.jnt_type[j] == FREE) and self.description.options.floating_base is False

    def _weld(self, name: str, above: str, at: Transform, where: Where) -> None:
        """A body without joints: fixed, or freed where the user wants the base free."""
        free = self.description.options.floating_base is True and above == WORLD and self._bases() == 1
        joint_name = self.description.unused_joint_name(f"{name}_free" if free else f"{name}_fixed")
        if free:
            joint = Joint(joint_name, above, name, jt.Free(), home=free_position(at))
        else:
            joint = Joint(joint_name, above, name, jt.Fixed(), exact_pose(at.p, at.R))
        self.description.add_link(Link(name, where))
        self.description.add_joint(joint, where)

    def _bases(self) -> int:
        return int(np.sum(self.model.body_parentid[1:] == 0))

    def _mass(self, link: Link, b: int, origin: np.ndarray) -> None:
        m = self.model
        R = quaternion_rotation(m.body_iquat[b])
        link.mass, link.com = float(m.body_mass[b]), m.body_ipos[b] - origin
        inertia = R @ np.diag(m.body_inertia[b]) @ R.T
        link.inertia = 0.5 * (inertia + inertia.T)

    def _joint(self, j: int, parent: str, child: str, at: Transform, offset: np.ndarray) -> Joint:
        """A joint at `offset` in the frame `at`; at its reference position the child lies along `at`."""
        m = self.model
        name, kind, dof = self.names.joint(j), int(m.jnt_type[j]), int(m.jnt_dofadr[j])
        q0, off = m.qpos0[m.jnt_qposadr[j] :], int(m.opt.disableflags)
        at = at.then(Transform(np.eye(3), offset))
        parameters: dict[str, Any] = {
            "damping": 0.0 if off & DAMPERS_DISABLED else float(m.dof_damping[dof]),
            "friction": 0.0 if off & FRICTION_DISABLED else float(m.dof_frictionloss[dof]),
            "armature": float(m.dof_armature[dof]) + tendon_inertia(m, j),
        }  # fmt: skip
        if kind == FREE:
            return Joint(name, parent, child, jt.Free(), home=tuple(q0[:7]), **parameters)
        if kind == BALL:
            return Joint(name, parent, child, jt.Spherical(), exact_pose(at.p, at.R), **parameters)
        axis, ref = m.jnt_axis[j], float(q0[0])
        back = Transform(axis_rotation(axis, -ref), np.zeros(3)) if kind == HINGE else Transform(np.eye(3), -ref * axis)
        at = at.then(back)
        stiffness = 0.0 if off & SPRINGS_DISABLED else float(m.jnt_stiffness[j])
        parameters |= {"stiffness": stiffness, "rest": float(m.qpos_spring[m.jnt_qposadr[j]])}
        if m.jnt_limited[j] and not off & LIMITS_DISABLED:
            parameters |= {"lower": float(m.jnt_range[j, 0]), "upper": float(m.jnt_range[j, 1])}
        if m.jnt_actfrclimited[j]:
            low, high = (float(x) for x in m.jnt_actfrcrange[j])
            parameters |= {"max_force": high} if low == -high else {"min_force": low, "max_force": high}
        if ref:
            parameters["home"] = (ref,)
        cls = jt.Revolute if kind == HINGE else jt.Prismatic
        return Joint(name, parent, child, cls(axis), exact_pose(at.p, at.R), **parameters)


def read_sites(model: MjModel, description: RobotDescription, frames: LinkFrames, places: Places) -> None:
    """Sites become frames; ones that share a body's name get `_site` appended."""
    taken = {frames.names.of("body", b) for b in range(model.nbody)} | set(description.links)
    for s in range(model.nsite):
        name, body = frames.names.of("site", s), int(model.site_bodyid[s])
        where = places.of("site", name, body=frames.names.of("body", body))
        while name in taken:
            name += "_site"
        taken.add(name)
        with where.blamed():
            link, at = frames.place(body, model.site_pos[s], model.site_quat[s])
            description.frames.append((Frame(name, link, at), where))
