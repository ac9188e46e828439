"""A mechanism as URDF+, with kinloop's own words where URDF+ has none (docs/formats.md lists them)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np

from kinloop.clusters.grouping import group
from kinloop.errors import ModelError
from kinloop.io.own.write_own import write_text
from kinloop.model import (
    WORLD,
    Body,
    BodyLoop,
    Coupling,
    FunctionCoupling,
    Geometry,
    Joint,
    LinearCoupling,
    Loop,
    LoopClosure,
    LoopFunction,
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


def to_urdf_plus(mechanism: Mechanism, path: str | Path) -> None:
    """Write a mechanism as URDF+; what no file can hold (a Python function) is an error."""
    mechanism = getattr(mechanism, "mechanism", mechanism)
    write_text(path, urdf_plus(mechanism))


def urdf_plus(m: Mechanism) -> str:
    """The text of a mechanism as URDF+."""
    out = _Lines()
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
    return "\n".join(out.lines) + "\n"


class _Lines:
    def __init__(self) -> None:
        self.lines = ['<?xml version="1.0"?>']
        self.depth = 0

    def _put(self, tag: str, end: str, attributes: dict[str, Any]) -> None:
        text = "".join(f" {k}={quoteattr(_text(v))}" for k, v in attributes.items() if v is not None)
        self.lines.append("  " * self.depth + f"<{tag}{text}{end}")

    def open(self, tag: str, **attributes: Any) -> None:
        self._put(tag, ">", attributes)
        self.depth += 1

    def empty(self, tag: str, **attributes: Any) -> None:
        self._put(tag, "/>", attributes)

    def close(self, tag: str) -> None:
        self.depth -= 1
        self.lines.append("  " * self.depth + f"</{tag}>")


def _text(x: Any) -> str:
    if isinstance(x, str):
        return x
    return " ".join(repr(float(v)) for v in np.ravel(x))


def _origin(out: _Lines, T: Transform) -> None:
    if np.array_equal(T.R, np.eye(3)) and not np.any(T.p):
        return
    out.empty("origin", xyz=T.p, rpy=rotation_rpy(T.R))


def rotation_rpy(R: np.ndarray) -> np.ndarray:
    """Roll, pitch and yaw of a rotation `Rz(yaw) Ry(pitch) Rx(roll)`."""
    horizontal = float(np.hypot(R[0, 0], R[1, 0]))
    pitch = np.arctan2(-R[2, 0], horizontal)
    if horizontal > 1e-9:
        return np.array([np.arctan2(R[2, 1], R[2, 2]), pitch, np.arctan2(R[1, 0], R[0, 0])])
    return np.array([np.arctan2(-R[1, 2], R[1, 1]), pitch, 0.0])


def _link(out: _Lines, body: Body) -> None:
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


def _shape(out: _Lines, g: Geometry, role: str) -> None:
    figures: dict[str, Any] = {}
    match g.kind:
        case "box":
            figures = {"size": g.size}
        case "sphere":
            figures = {"radius": g.size[0]}
        case "cylinder" | "capsule":
            figures = {"radius": g.size[0], "length": g.size[1]}
        case "mesh":
            figures = {"filename": g.mesh or "", "scale": g.size}
    if not figures:
        return  # planes and ellipsoids have no word in URDF
    out.open(role, name=g.name or None)
    _origin(out, g.placement)
    out.open("geometry")
    out.empty(g.kind, **figures)
    out.close("geometry")
    if g.color is not None and role == "visual":
        out.open("material", name="")
        out.empty("color", rgba=g.color)
        out.close("material")
    out.close(role)


def _joint(out: _Lines, j: Joint, dependent: bool) -> None:
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
        out.empty("limit", lower=lower, upper=upper, effort=j.max_force, velocity=j.max_velocity)
    figures = {k: getattr(j, k) for k in ("damping", "friction", "armature", "stiffness", "rest") if getattr(j, k)}
    if figures:
        out.empty("dynamics", **figures)
    out.close("joint")


def _word(kind: jt.JointType) -> str:
    """What URDF+ calls a joint type."""
    name = jt.registered_name(kind)
    return _NAMES.get(name, name)


def _axes(out: _Lines, kind: jt.JointType) -> None:
    if hasattr(kind, "axis"):
        out.empty("axis", xyz=kind.axis, pitch=getattr(kind, "pitch", None))
    if hasattr(kind, "axis2"):
        out.empty("axis2", xyz=kind.axis2)


def _loop(out: _Lines, loop: Loop) -> None:
    _written(out, loop, {LoopJoint: _loop_joint, Rod: _rod})
    out.close("loop")


def _coupling(out: _Lines, c: Coupling) -> None:
    _written(out, c, {LinearCoupling: _linear, PolynomialCoupling: _polynomial})
    out.close("coupling")


def _written(out: _Lines, closure: LoopClosure, table: Mapping[type, Callable[[_Lines, Any], None]]) -> None:
    """Write a loop or coupling by the table of the kinds that URDF+ can hold."""
    if type(closure) not in table:
        functions = (LoopFunction, FunctionCoupling)
        kind = "a Python function" if type(closure) in functions else f"of the kind {type(closure).__name__}"
        raise ModelError(f"{closure.what} is {kind}, which URDF+ cannot hold; leave it out")
    table[type(closure)](out, closure)


def _loop_joint(out: _Lines, loop: LoopJoint) -> None:
    out.open("loop", name=loop.name, type=_word(loop.type))
    _ends(out, loop)
    _axes(out, loop.type)


def _rod(out: _Lines, rod: Rod) -> None:
    out.open("loop", name=rod.name, type="rod", length=rod.length)
    _ends(out, rod)


def _ends(out: _Lines, loop: BodyLoop) -> None:
    for tag, link, T in zip(("predecessor", "successor"), loop.ends, loop.frames, strict=True):
        out.open(tag, link=link)
        _origin(out, T)
        out.close(tag)


def _linear(out: _Lines, c: LinearCoupling) -> None:
    out.open("coupling", name=c.name)
    for joint, row, offset in zip(c.dependent, c.matrix, c.offset, strict=True):
        out.open("dependent", joint=joint, offset=offset)
        for other, ratio in zip(c.independent, row, strict=True):
            out.empty("term", joint=other, ratio=ratio)
        out.close("dependent")


def _polynomial(out: _Lines, c: PolynomialCoupling) -> None:
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
