"""A mechanism as MJCF: its dynamics for MuJoCo to compute, loops and gears as MuJoCo's soft equalities.

Bodies, joints and frames keep their names, and MuJoCo's qpos of a joint is kinloop's q. Shapes, actuators,
tendons, sensors, carried weights, keyframes, limits of velocity and the home of ball joints are not written.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from kinloop.errors import ModelError
from kinloop.io.convert.coordinate_map import AnyRobot, tree_of
from kinloop.io.mjcf.written_closures import Sites, reference_position, write_closures
from kinloop.io.shared.exact_poses import is_identity
from kinloop.io.shared.whole_files import write_text
from kinloop.io.shared.xml_lines import XmlLines
from kinloop.model import WORLD, Body, Joint, Mechanism
from kinloop.model import joints as jt
from kinloop.spatial import Transform, rotation_quaternion

TYPES: dict[type[jt.JointType], str] = {
    jt.Revolute: "hinge", jt.Prismatic: "slide", jt.Spherical: "ball", jt.Free: "free", jt.Fixed: "",
}  # fmt: skip
"""MuJoCo's words for joint types; a body without a joint is fixed to its parent."""
OPEN_END = 1e10
"""MuJoCo's limits have two ends: one that is not limited is written as this."""


@dataclass(frozen=True)
class MjcfOptions:
    """What MuJoCo wants to know besides the mechanism, with MuJoCo's own defaults.

    `solref` and `solimp` say how stiff the equalities are that close loops and couple joints. `balance_inertia`
    lets MuJoCo replace moments of inertia that no distribution of mass has, which it refuses otherwise. `bare` leaves
    out what forward dynamics does not know: damping, friction, springs, stops, limits of force, and frames.
    """

    timestep: float = 0.002
    solref: tuple[float, float] = (0.02, 1.0)
    solimp: tuple[float, float, float, float, float] = (0.9, 0.95, 0.001, 0.5, 2.0)
    balance_inertia: bool = False
    bare: bool = False


def to_mjcf(robot: AnyRobot, path: str | Path, options: MjcfOptions | None = None) -> None:
    """Write the dynamics of a robot or mechanism as MJCF; what MJCF has no word for is an error."""
    write_text(path, mjcf_text(robot, options))


def mjcf_text(robot: AnyRobot, options: MjcfOptions | None = None) -> str:
    """The text of a robot or mechanism as MJCF."""
    options = options or MjcfOptions()
    tree = tree_of(robot)
    m = tree.top.mechanism
    for joint in m.joints:
        _check(joint)
    closures = write_closures(tree, () if options.bare else m.frames)
    out = XmlLines()
    out.open("mujoco", model=m.name)
    out.empty("compiler", angle="radian", balanceinertia="true" if options.balance_inertia else "false")
    out.empty("option", gravity=m.gravity, timestep=options.timestep)
    out.open("worldbody")
    _write_bodies(out, m, closures.sites, options.bare)
    out.close("worldbody")
    out.open("tendon")
    for name, terms in closures.tendons:
        out.open("fixed", name=name)
        for joint_name, factor in terms:
            out.empty("joint", joint=joint_name, coef=factor)
        out.close("fixed")
    out.close("tendon")
    out.open("equality")
    for tag, attributes in closures.equalities:
        out.empty(tag, **attributes, solref=options.solref, solimp=options.solimp)
    out.close("equality")
    out.close("mujoco")
    return out.text()


def _check(j: Joint) -> None:
    if type(j.type) not in TYPES:
        known = ", ".join(kind.__name__.lower() for kind in TYPES)
        raise ModelError(f"joint {j.name!r} is {j.type.name}, which MJCF has no word for; it has {known}")
    if isinstance(j.type, jt.Free) and not (j.parent == WORLD and is_identity(j.placement)):
        raise ModelError(
            f"joint {j.name!r} is free and does not start at the world's origin, as MuJoCo's do; "
            f"give it the parent {WORLD!r} and no placement"
        )


def _write_bodies(out: XmlLines, m: Mechanism, sites: Sites, bare: bool) -> None:
    """Bodies inside their parents, without recursion: chains may be long."""
    children: dict[str, list[Joint]] = {}
    for j in m.joints:
        children.setdefault(j.parent, []).append(j)
    bodies = {b.name: b for b in m.bodies}
    _write_sites(out, sites.get(WORLD, []))
    waiting: list[Joint | None] = [*reversed(children.get(WORLD, []))]
    while waiting:
        joint = waiting.pop()
        if joint is None:
            out.close("body")
            continue
        at = _reference_pose(joint)
        out.open("body", name=joint.child, pos=at.p, quat=rotation_quaternion(at.R))
        _write_inertial(out, bodies[joint.child])
        _write_joint(out, joint, bare)
        _write_sites(out, sites.get(joint.child, []))
        waiting += [None, *reversed(children.get(joint.child, []))]


def _reference_pose(j: Joint) -> Transform:
    """Where a body lies in its parent at its joint's reference position."""
    if isinstance(j.type, jt.Free):
        return j.type.pose(np.array(j.type.neutral() if j.home is None else j.home))
    reference = reference_position(j)
    return j.placement.then(j.type.pose(np.array([reference]))) if reference else j.placement


def _write_inertial(out: XmlLines, b: Body) -> None:
    if b.mass or np.any(b.inertia):
        I = b.inertia
        full = [I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]]
        out.empty("inertial", pos=b.com, mass=b.mass, fullinertia=full)


def _write_joint(out: XmlLines, j: Joint, bare: bool) -> None:
    if isinstance(j.type, jt.Fixed):
        return
    axis = j.type.axis if isinstance(j.type, jt.Revolute | jt.Prismatic) else None
    numbers = {"armature": j.armature, "ref": reference_position(j)}
    ranges: dict[str, ArrayLike] = {}
    if not bare:
        numbers |= {"damping": j.damping, "frictionloss": j.friction}
        if axis is not None:
            numbers |= {"stiffness": j.stiffness, "springref": j.rest}
            ranges = _ranges(j)
    shown = {key: x for key, x in numbers.items() if x}
    out.empty("joint", name=j.name, type=TYPES[type(j.type)], axis=axis, **shown, **ranges)


def _ranges(j: Joint) -> dict[str, ArrayLike]:
    """Stops and limit of force of a joint of one coordinate."""
    out: dict[str, ArrayLike] = {}
    if np.isfinite(j.lower) or np.isfinite(j.upper):
        out["range"] = np.clip([j.lower, j.upper], -OPEN_END, OPEN_END)
    if np.isfinite(j.force_range).all():
        out["actuatorfrcrange"] = j.force_range
    return out


def _write_sites(out: XmlLines, sites: list[tuple[str, Transform]]) -> None:
    for name, at in sites:
        out.empty("site", name=name, pos=at.p, quat=rotation_quaternion(at.R))
