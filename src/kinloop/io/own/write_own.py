"""kinloop's own format written: a mechanism as JSON, every number bit for bit. The schema is in docs/formats.md.

Numbers are written with the shortest digits that read back to the same double; infinities as "inf".
"""

from __future__ import annotations

import json
from pathlib import Path

from kinloop.io.own.contact_entries import contact_rules_entry, plain_fields, table_text
from kinloop.io.own.json_values import Entry
from kinloop.io.own.own_annotations import (
    written_actuator,
    written_frame,
    written_keyframe,
    written_number,
    written_pose,
    written_sensor,
    written_tendon,
    written_weight,
)
from kinloop.io.own.own_schema import FORMAT, JOINT_NUMBERS, NAME_LISTS, VERSION
from kinloop.io.shared.whole_files import write_text
from kinloop.io.shared.written_mechanism import HasMechanism, cannot_hold, mechanism_of
from kinloop.model import (
    Body,
    Coupling,
    Geometry,
    Joint,
    JointType,
    LinearCoupling,
    Loop,
    LoopJoint,
    Mechanism,
    PolynomialCoupling,
    Rod,
)
from kinloop.model.joints import registered_name

_REMEDY = "save the mechanism without it and add it again after loading"


def save(mechanism: Mechanism | HasMechanism, path: str | Path) -> None:
    """Write a mechanism in kinloop's own format; what cannot be text (a Python function) is an error."""
    write_text(path, dumps(mechanism_of(mechanism)))


def dumps(m: Mechanism) -> str:
    """The text of a mechanism; where it was read from is left out."""
    content = {
        "format": FORMAT,
        "version": VERSION,
        "name": m.name,
        "gravity": m.gravity.tolist(),
        "bodies": [_body(b) for b in m.bodies],
        "joints": [_joint(j) for j in m.joints],
        "frames": [written_frame(f) for f in m.frames],
        "loops": [_loop(loop) for loop in m.loops],
        "couplings": [_coupling(c) for c in m.couplings],
        "actuators": [written_actuator(a) for a in m.actuators],
        "keyframes": [written_keyframe(k) for k in m.keyframes],
        "tendons": [written_tendon(t) for t in m.tendons],
        "sensors": [written_sensor(x) for x in m.sensors],
        "carried": [written_weight(w) for w in m.carried],
        "world_geometry": [_geometry(g) for g in m.world_geometry],
        "contact_rules": contact_rules_entry(m.contact_rules),
        **{key: list(getattr(m, key)) for key in NAME_LISTS},
    }
    return json.dumps(content, indent=1, allow_nan=False, ensure_ascii=False) + "\n"


def _body(b: Body) -> Entry:
    return {
        "name": b.name,
        "mass": b.mass,
        "com": b.com.tolist(),
        "inertia": b.inertia.tolist(),
        "accept_inertia": b.accept_inertia,
        "geometry": [_geometry(g) for g in b.geometry],
    }


def _geometry(g: Geometry) -> Entry:
    return {
        "kind": g.kind,
        "size": list(g.size),
        "placement": written_pose(g.placement),
        "role": g.role,
        "name": g.name,
        "mesh": g.mesh,
        "color": None if g.color is None else list(g.color),
        "surface": None if g.surface is None else plain_fields(g.surface),
        "link": g.link,
        "vertices": table_text(g.vertices),
        "heights": table_text(g.heights),
    }


def _joint(j: Joint) -> Entry:
    return {
        "name": j.name,
        "parent": j.parent,
        "child": j.child,
        "type": _joint_type(j.type),
        "placement": written_pose(j.placement),
        **{key: written_number(getattr(j, key)) for key in JOINT_NUMBERS},
        "home": None if j.home is None else list(j.home),
        "min_force": None if j.min_force is None else written_number(j.min_force),
    }


def _joint_type(kind: JointType) -> Entry:
    parameters = {k: list(v) if isinstance(v, tuple) else v for k, v in vars(kind).items()}
    return {"kind": registered_name(kind), **parameters}


def _loop(loop: Loop) -> Entry:
    match loop:
        case LoopJoint() if type(loop) is LoopJoint:
            return {
                "kind": "joint", "name": loop.name, "predecessor": loop.predecessor, "successor": loop.successor,
                "type": _joint_type(loop.type), "predecessor_placement": written_pose(loop.predecessor_placement),
                "successor_placement": written_pose(loop.successor_placement),
            }  # fmt: skip
        case Rod() if type(loop) is Rod:
            return {
                "kind": "rod", "name": loop.name, "predecessor": loop.predecessor, "successor": loop.successor,
                "predecessor_point": loop.predecessor_point.tolist(), "length": float(loop.length),
                "successor_point": loop.successor_point.tolist(),
            }  # fmt: skip
    raise cannot_hold(loop, "no file can", _REMEDY)


def _coupling(c: Coupling) -> Entry:
    ends = {"name": c.name, "dependent": list(c.dependent), "independent": list(c.independent)}
    match c:
        case LinearCoupling() if type(c) is LinearCoupling:
            return {"kind": "linear", **ends, "matrix": c.matrix.tolist(), "offset": c.offset.tolist()}
        case PolynomialCoupling() if type(c) is PolynomialCoupling:
            return {"kind": "polynomial", **ends, "coefficients": [float(x) for x in c.coefficients]}
    raise cannot_hold(c, "no file can", _REMEDY)
