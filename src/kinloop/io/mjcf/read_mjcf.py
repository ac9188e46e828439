"""MJCF through MuJoCo's own compiler: the compiled model's fields, taken over as they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from kinloop.io.mjcf.mjcf_parts import Names, actuators, equalities, shapes, unmodelled
from kinloop.io.mjcf.safe_source import Cleaner
from kinloop.io.shared.draft import Draft
from kinloop.io.shared.entries import Link, Options
from kinloop.io.shared.failure import Notes, Where
from kinloop.io.shared.parse_numbers import exact_pose
from kinloop.io.shared.paths import Roots
from kinloop.io.shared.safe_xml import Node
from kinloop.model import WORLD, Frame, Joint, Mechanism
from kinloop.model import joints as jt
from kinloop.spatial import Transform, axis_rotation, quaternion_rotation

FREE, BALL, SLIDE, HINGE = range(4)


def import_mujoco(where: Where) -> Any:
    try:
        import mujoco
    except ImportError:
        raise where.error("MJCF is read through MuJoCo, which is not installed; pip install 'kinloop[mjcf]'") from None
    return mujoco


def compile_mjcf(root: Node, path: Path, roots: Roots, options: Options, notes: Notes) -> tuple[Any, dict]:
    """MuJoCo's compiled model of a cleaned document, and the mesh files by mesh name."""
    mujoco = import_mujoco(root.where)
    source = Cleaner(path, roots, options.limits, notes).clean(root)
    try:
        model = mujoco.MjSpec.from_string(source.text(), assets=source.assets).compile()
    except (ValueError, TypeError, RuntimeError, UnicodeError) as error:
        raise source.blame(str(error), root.where) from None
    return model, source.meshes


def read_mjcf(root: Node, path: Path, roots: Roots, options: Options, notes: Notes) -> Mechanism:
    """The mechanism of a `<mujoco>`; q of every joint is MuJoCo's qpos, `ref` included."""
    model, meshes = compile_mjcf(root, path, roots, options, notes)
    if model.nbody - 1 > options.limits.bodies:
        raise root.error(f"has {model.nbody - 1} bodies; limits allow {options.limits.bodies}")
    reader = _Reader(model, Draft(root.get("model") or path.stem, root.where, options, notes))
    if model.ngeom > options.limits.shapes:
        raise root.error(f"has {model.ngeom} geoms; limits allow {options.limits.shapes} shapes")
    for b in range(1, model.nbody):
        reader.body(b)
    draft, names = reader.draft, reader.names
    draft.gravity = np.zeros(3) if model.opt.disableflags & 1 << 7 else model.opt.gravity.copy()
    for link, geometry in shapes(model, names, reader.shift, meshes, roots):
        if link == WORLD:
            draft.extras.setdefault("world_geometry", []).append(geometry)
        else:
            draft.links[link].geometry.append(geometry)
    reader.sites()
    equalities(model, draft, names, reader.shift)
    unmodelled(model, draft, names)
    draft.extras["actuators"] = actuators(model, names)
    draft.extras["keyframes"] = {names.of("key", k): model.key_qpos[k].tolist() for k in range(model.nkey)}
    return draft.finish()


class _Reader:
    """Bodies and joints of a compiled model put into a draft."""

    def __init__(self, model: Any, draft: Draft) -> None:
        self.m, self.draft, self.names = model, draft, Names(model)
        self.shift = {0: np.zeros(3)}
        """Where the origin of each body's link lies in MuJoCo's body frame: on its last joint."""

    def body(self, b: int) -> None:
        """A body: one link per joint, the last of which has its mass."""
        m, name = self.m, self.names.of("body", b)
        where = Where(self.draft.where.file, self.draft.where.line, f"body {name!r}")
        first, count = int(m.body_jntadr[b]), int(m.body_jntnum[b])
        parent = int(m.body_parentid[b])
        at = Transform(quaternion_rotation(m.body_quat[b]), m.body_pos[b] - self.shift[parent])
        above, origin = self.names.link(parent), np.zeros(3)
        joints = [j for j in range(first, first + count) if not self._pinned(j)]
        if not joints:
            self._weld(name, above, at, where)
        for j in joints:
            last = j == joints[-1]
            link = self.names.link(b) if last else f"{name}@{self.names.joint(j)}"
            anchor = m.jnt_pos[j] if m.jnt_type[j] in (HINGE, BALL) else origin
            if link not in self.draft.links:
                self.draft.add_link(Link(link, where))
            with where.blamed():
                self.draft.add_joint(self._joint(j, above, link, at, anchor - origin), where)
            at, above, origin = Transform.identity(), link, anchor
        self.shift[b] = origin
        self._mass(self.draft.links[self.names.link(b)], b, origin)
        if self.names.link(b) != name:
            self.draft.frames.append((Frame(name, self.names.link(b), Transform(np.eye(3), -origin)), where))

    def _pinned(self, j: int) -> bool:
        return self.m.jnt_type[j] == FREE and self.draft.options.floating_base is False

    def _weld(self, name: str, above: str, at: Transform, where: Where) -> None:
        free = self.draft.options.floating_base is True and above == WORLD and self._bases() == 1
        joint = Joint(
            self.draft._fresh(f"{name}_free" if free else f"{name}_fixed"), above, name,
            jt.Free() if free else jt.Fixed(), Transform.identity() if free else exact_pose(at.p, at.R),
            home=_home(at) if free else None,
        )  # fmt: skip
        self.draft.add_link(Link(name, where))
        self.draft.add_joint(joint, where)

    def _bases(self) -> int:
        return int(np.sum(self.m.body_parentid[1:] == 0))

    def _mass(self, link: Link, b: int, origin: np.ndarray) -> None:
        m = self.m
        R = quaternion_rotation(m.body_iquat[b])
        link.mass, link.com = float(m.body_mass[b]), m.body_ipos[b] - origin
        inertia = R @ np.diag(m.body_inertia[b]) @ R.T
        link.inertia = 0.5 * (inertia + inertia.T)

    def _joint(self, j: int, parent: str, child: str, at: Transform, offset: np.ndarray) -> Joint:
        """A joint at `offset` in the frame `at`; at its reference position the child lies along `at`."""
        m = self.m
        kind, dof = int(m.jnt_type[j]), int(m.jnt_dofadr[j])
        q0 = m.qpos0[m.jnt_qposadr[j] :]
        at = at.then(Transform(np.eye(3), offset))
        figures: dict[str, Any] = {"damping": float(m.dof_damping[dof]), "friction": float(m.dof_frictionloss[dof])}
        figures["armature"] = float(m.dof_armature[dof])
        if kind == FREE:
            return Joint(self.names.joint(j), parent, child, jt.Free(), home=tuple(q0[:7]), **figures)
        if kind == BALL:
            return Joint(self.names.joint(j), parent, child, jt.Spherical(), exact_pose(at.p, at.R), **figures)
        axis, ref = m.jnt_axis[j], float(q0[0])
        back = Transform(axis_rotation(axis, -ref), np.zeros(3)) if kind == HINGE else Transform(np.eye(3), -ref * axis)
        at = at.then(back)
        figures |= {"stiffness": float(m.jnt_stiffness[j]), "rest": float(m.qpos_spring[m.jnt_qposadr[j]])}
        if m.jnt_limited[j]:
            figures |= {"lower": float(m.jnt_range[j, 0]), "upper": float(m.jnt_range[j, 1])}
        if m.jnt_actfrclimited[j]:
            figures["max_force"] = float(np.max(np.abs(m.jnt_actfrcrange[j])))
        if ref:
            figures["home"] = (ref,)
        cls = jt.Revolute if kind == HINGE else jt.Prismatic
        return Joint(self.names.joint(j), parent, child, cls(axis), exact_pose(at.p, at.R), **figures)

    def sites(self) -> None:
        """Sites become frames; ones that share a body's name get `_site` appended."""
        m = self.m
        taken = {self.names.of("body", b) for b in range(m.nbody)} | set(self.draft.links)
        for s in range(m.nsite):
            b, name = int(m.site_bodyid[s]), self.names.of("site", s)
            while name in taken:
                name += "_site"
            taken.add(name)
            at = exact_pose(m.site_pos[s] - self.shift[b], quaternion_rotation(m.site_quat[s]))
            self.draft.frames.append((Frame(name, self.names.link(b), at), self.draft.where))


def _home(at: Transform) -> tuple[float, ...]:
    from kinloop.spatial import rotation_quaternion

    return (*map(float, at.p), *map(float, rotation_quaternion(at.R)))
