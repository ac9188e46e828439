"""Figures of a mechanism left open: masses, inertias, ratios, placements as inputs instead of numbers.

A parameter is named `part.figure`: a body's mass, com (3), inertia (6: xx yy zz xy xz yz, about the
centre of mass); a joint's position (3), rpy (3), armature; a linear coupling's ratio (its matrix, row by row).
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from kinloop.errors import ModelError, unknown
from kinloop.model.topology import Topology
from kinloop.spatial import Transform, axis_rotation, rigid_inertia

SIZES = {"mass": 1, "com": 3, "inertia": 6, "position": 3, "rpy": 3, "armature": 1}
BODY, JOINT = ("mass", "com", "inertia"), ("position", "rpy", "armature")


def _split(top: Topology, name: str) -> tuple[str, str]:
    part, dot, figure = name.rpartition(".")
    if not dot or figure not in (*SIZES, "ratio"):
        raise ModelError(
            f"parameter {name!r} is not of the form 'part.figure' with a figure of {', '.join((*SIZES, 'ratio'))}"
        )
    known = top.body_index if figure in BODY else top.joint_index if figure in JOINT else top.ratios
    if part not in known or part == "world":
        kind = "body" if figure in BODY else "joint" if figure in JOINT else "linear coupling"
        raise unknown(kind, part, [k for k in known if k != "world"])
    return part, figure


def parameter_size(top: Topology, name: str) -> int:
    """How many numbers a parameter has."""
    part, figure = _split(top, name)
    return top.ratios[part].size if figure == "ratio" else SIZES[figure]


def parameter_value(top: Topology, name: str) -> np.ndarray:
    """The mechanism's own value of a parameter."""
    part, figure = _split(top, name)
    if figure == "ratio":
        return np.array(top.ratios[part], dtype=float).ravel()
    if figure in BODY:
        body = top.bodies[top.body_index[part]]
        I = body.inertia
        values = {"mass": [body.mass], "com": body.com}
        return np.array(values.get(figure, [I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]]), dtype=float)
    joint = top.joints[top.joint_index[part]]
    if figure == "armature":
        return np.array([joint.armature])
    return np.array(joint.placement.p) if figure == "position" else _rpy(joint.placement.R)


def _rpy(R: np.ndarray) -> np.ndarray:
    pitch = np.arctan2(-R[2, 0], np.hypot(R[0, 0], R[1, 0]))
    if np.hypot(R[0, 0], R[1, 0]) < 1e-12:
        return np.array([0.0, pitch, np.arctan2(-R[0, 1], R[1, 1])])
    return np.array([np.arctan2(R[2, 1], R[2, 2]), pitch, np.arctan2(R[1, 0], R[0, 0])])


def with_parameters(top: Topology, values: dict[str, Any]) -> Topology:
    """The same topology with some figures replaced by numbers or symbols."""
    out = copy.copy(top)
    out.open = tuple(values)
    mass, com = list(top.mass), list(top.com)
    inertia_com: list[Any] = [b.inertia for b in top.bodies]
    placement, spins = list(top.placement), list(top.spins_unseen)
    out.ratios, armature = dict(top.ratios), top.armature.astype(object)
    for name, value in values.items():
        part, figure = _split(top, name)
        x = np.asarray(value)
        if figure == "ratio":
            out.ratios[part] = x.reshape(top.ratios[part].shape)
        elif figure in BODY:
            i = top.body_index[part]
            if figure == "mass":
                mass[i] = x[0]
            elif figure == "com":
                com[i] = x
            else:
                inertia_com[i] = np.array([[x[0], x[3], x[4]], [x[3], x[1], x[5]], [x[4], x[5], x[2]]])
            spins[i] = spins[i] and figure == "mass"
        else:
            i = top.joint_index[part]
            if figure == "armature":
                armature[top.v_of[i]] = x[0]
            elif figure == "position":
                placement[i] = Transform(placement[i].R, x)
            else:
                ex, ey, ez = np.eye(3)
                R = axis_rotation(ez, x[2]) @ axis_rotation(ey, x[1]) @ axis_rotation(ex, x[0])
                placement[i] = Transform(R, placement[i].p)
    out.armature = armature if any(n.endswith(".armature") for n in values) else top.armature
    out.mass, out.com, out.placement, out.spins_unseen = tuple(mass), tuple(com), tuple(placement), tuple(spins)
    out.inertia = tuple(rigid_inertia(m, c, I) for m, c, I in zip(mass, com, inertia_com, strict=True))
    return out
