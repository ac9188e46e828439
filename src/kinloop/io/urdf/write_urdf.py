"""A mechanism as URDF+, with kinloop's own words where URDF+ has none (docs/formats.md lists them)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from kinloop.clusters.grouping import group
from kinloop.io.shared.exact_poses import is_identity
from kinloop.io.shared.whole_files import write_text
from kinloop.io.shared.written_mechanism import HasMechanism, cannot_hold, mechanism_of
from kinloop.io.shared.xml_lines import XmlLines
from kinloop.model import (
    WORLD,
    Body,
    BodyLoop,
    Coupling,
    Geometry,
    Joint,
    LinearCoupling,
    Loop,
    LoopClosure,
    LoopJoint,
    Mechanism,
    PolynomialCoupling,
    Rod,
)
from kinloop.model import joints as jt
from kinloop.model.mechanism import GRAVITY
from kinloop.model.topology import Topology
from kinloop.spatial import Transform

_NAMES = {"free": "floating"}
UPRIGHT = 1e-9
"""Where x points up or down closer than this, yaw and roll turn about one axis: all of it is written as roll."""


def to_urdf_plus(mechanism: Mechanism | HasMechanism, path: str | Path) -> None:
    """Write a mechanism as URDF+; what no file can hold (a Python function) is an error."""
    write_text(path, urdf_plus(mechanism_of(mechanism)))


def urdf_plus(m: Mechanism) -> str:
    """The text of a mechanism as URDF+."""
    out = XmlLines()
    out.open("robot", name=m.name)
    if not np.array_equal(m.gravity, GRAVITY):
        out.empty("gravity", xyz=m.gravity)
    out.empty("link", name=WORLD)
    for body in m.bodies:
        _link(out, body)
    dependent = _dependent(m)
    for joint in m.joints:
        _joint(out, joint, joint.name in dependent)
    for k, frame in enumerate(m.frames):
        out.empty("link", name=frame.name)
        out.open("joint", name=f"frame_{k}_{frame.name}", type="fixed")
        out.empty("parent", link=frame.body)
        out.empty("child", link=frame.name)
        _origin(out, frame.placement)
        out.close("joint")
    for loop in m.loops:
        _loop(out, loop)
    for coupling in m.couplings:
        _coupling(out, coupling)
    out.close("robot")
    return out.text()


def _origin(out: XmlLines, T: Transform) -> None:
    if not is_identity(T):
        out.empty("origin", xyz=T.p, rpy=rotation_rpy(T.R))


def rotation_rpy(R: np.ndarray) -> np.ndarray:
    """Roll, pitch and yaw of a rotation `Rz(yaw) Ry(pitch) Rx(roll)`."""
    horizontal = float(np.hypot(R[0, 0], R[1, 0]))
    pitch = np.arctan2(-R[2, 0], horizontal)
    if horizontal > UPRIGHT:
        return np.array([np.arctan2(R[2, 1], R[2, 2]), pitch, np.arctan2(R[1, 0], R[0, 0])])
    return np.array([np.arctan2(-R[1, 2], R[1, 1]), pitch, 0.0])


def _link(out: XmlLines, body: Body) -> None:
    out.open("link", name=body.name)
    if body.mass or np.any(body.inertia):
        I = body.inertia
        out.open("inertial")
        out.empty("origin", xyz=body.com)
        out.empty("mass", value=body.mass)
        out.empty("inertia", ixx=I[0, 0], ixy=I[0, 1], ixz=I[0, 2], iyy=I[1, 1], iyz=I[1, 2], izz=I[2, 2])
        out.close("inertial")
    for g in body.geometry:
        for role in ("visual", "collision") if g.role == "both" else (g.role,):
            _shape(out, g, role)
    out.close("link")


def _shape(out: XmlLines, g: Geometry, role: str) -> None:
    size: dict[str, Any] = {}
    match g.kind:
        case "box":
            size = {"size": g.size}
        case "sphere":
            size = {"radius": g.size[0]}
        case "cylinder" | "capsule":
            size = {"radius": g.size[0], "length": g.size[1]}
        case "mesh":
            size = {"filename": g.mesh or "", "scale": g.size}
    if not size:
        return  # planes and ellipsoids have no word in URDF
    out.open(role, name=g.name or None)
    _origin(out, g.placement)
    out.open("geometry")
    out.empty(g.kind, **size)
    out.close("geometry")
    if g.color is not None and role == "visual":
        out.open("material", name="")
        out.empty("color", rgba=g.color)
        out.close("material")
    out.close(role)


def _joint(out: XmlLines, j: Joint, dependent: bool) -> None:
    limited = np.isfinite(j.lower) or np.isfinite(j.upper)
    kind = _word(j.type)
    kind = "continuous" if kind == "revolute" and not limited else kind
    out.open("joint", name=j.name, type=kind, independent="false" if dependent else None)
    out.empty("parent", link=j.parent)
    out.empty("child", link=j.child)
    _origin(out, j.placement)
    _axes(out, j.type)
    if j.home is not None:
        out.empty("home", q=j.home)
    if limited or np.isfinite(j.max_velocity) or np.isfinite(j.max_force) or kind in ("revolute", "prismatic"):
        lower, upper = (j.lower, j.upper) if j.type.nv == 1 and kind != "continuous" else (None, None)
        out.empty("limit", lower=lower, upper=upper, effort=max(map(abs, j.force_range)), velocity=j.max_velocity)
    parameters = {k: getattr(j, k) for k in ("damping", "friction", "armature", "stiffness", "rest") if getattr(j, k)}
    if parameters:
        out.empty("dynamics", **parameters)
    out.close("joint")


def _word(kind: jt.JointType) -> str:
    """What URDF+ calls a joint type."""
    name = jt.registered_name(kind)
    return _NAMES.get(name, name)


def _axes(out: XmlLines, kind: jt.JointType) -> None:
    if hasattr(kind, "axis"):
        out.empty("axis", xyz=kind.axis, pitch=getattr(kind, "pitch", None))
    if hasattr(kind, "axis2"):
        out.empty("axis2", xyz=kind.axis2)


def _loop(out: XmlLines, loop: Loop) -> None:
    _written(out, loop, {LoopJoint: _loop_joint, Rod: _rod})
    out.close("loop")


def _coupling(out: XmlLines, c: Coupling) -> None:
    _written(out, c, {LinearCoupling: _linear, PolynomialCoupling: _polynomial})
    out.close("coupling")


def _written(out: XmlLines, closure: LoopClosure, table: Mapping[type, Callable[[XmlLines, Any], None]]) -> None:
    """Write a loop or coupling by the table of the kinds that URDF+ can hold."""
    if type(closure) not in table:
        raise cannot_hold(closure, "URDF+ cannot", "leave it out")
    table[type(closure)](out, closure)


def _loop_joint(out: XmlLines, loop: LoopJoint) -> None:
    out.open("loop", name=loop.name, type=_word(loop.type))
    _ends(out, loop)
    _axes(out, loop.type)


def _rod(out: XmlLines, rod: Rod) -> None:
    out.open("loop", name=rod.name, type="rod", length=rod.length)
    _ends(out, rod)


def _ends(out: XmlLines, loop: BodyLoop) -> None:
    for tag, link, T in zip(("predecessor", "successor"), loop.ends, loop.frames, strict=True):
        out.open(tag, link=link)
        _origin(out, T)
        out.close(tag)


def _linear(out: XmlLines, c: LinearCoupling) -> None:
    out.open("coupling", name=c.name)
    for joint, row, offset in zip(c.dependent, c.matrix, c.offset, strict=True):
        out.open("dependent", joint=joint, offset=offset)
        for other, ratio in zip(c.independent, row, strict=True):
            out.empty("term", joint=other, ratio=ratio)
        out.close("dependent")


def _polynomial(out: XmlLines, c: PolynomialCoupling) -> None:
    out.open("coupling", name=c.name)
    out.open("dependent", joint=c.dependent[0], coefficients=c.coefficients)
    out.empty("term", joint=c.independent[0])
    out.close("dependent")


def _dependent(m: Mechanism) -> set[str]:
    """Joints to mark `independent="false"`: the others in clusters where the user names some."""
    top, named = Topology.of(m), set(m.independent)
    out: set[str] = set()
    for bodies in group(top, m.closures):
        names = [top.joints[i].name for i in bodies]
        if named.intersection(names):
            out |= {name for name in names if name not in named}
    return out
