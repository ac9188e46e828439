"""Parameters of a mechanism left open: masses, inertias, ratios, placements as inputs instead of numbers.

A parameter is named `part.quantity`: a body's mass, com (3), inertia (6: xx yy zz xy xz yz, about the
centre of mass); a joint's position (3), rpy (3), armature; a linear coupling's ratio (its matrix, row by row).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from kinloop.errors import ModelError, unknown
from kinloop.model.frame import WORLD
from kinloop.model.topology import Topology
from kinloop.scalar import Array
from kinloop.spatial import Transform, axis_rotation, rigid_inertia

SIZES = {"mass": 1, "com": 3, "inertia": 6, "position": 3, "rpy": 3, "armature": 1}
BODY, JOINT = ("mass", "com", "inertia"), ("position", "rpy", "armature")


def _split(top: Topology, name: str) -> tuple[str, str]:
    part, dot, quantity = name.rpartition(".")
    if not dot or quantity not in (*SIZES, "ratio"):
        raise ModelError(
            f"parameter {name!r} is not of the form 'part.quantity' with a quantity of {', '.join((*SIZES, 'ratio'))}"
        )
    known: Mapping[str, Any] = (
        top.body_index if quantity in BODY else top.joint_index if quantity in JOINT else top.ratios
    )
    if part not in known or part == WORLD:
        kind = "body" if quantity in BODY else "joint" if quantity in JOINT else "linear coupling"
        raise unknown(kind, part, [k for k in known if k != WORLD])
    if quantity == "armature" and top.types[top.joint_index[part]].is_free:
        raise ModelError(
            f"parameter {name!r} is the armature of a free joint, which has none; open the body's mass instead"
        )
    return part, quantity


def open_parameters(top: Topology) -> list[str]:
    """Names of all parameters that a mechanism has."""
    names = [f"{b.name}.{quantity}" for b in top.bodies for quantity in BODY]
    for j in top.joints:
        names += [f"{j.name}.{quantity}" for quantity in JOINT if quantity != "armature" or not j.type.is_free]
    return names + [f"{name}.ratio" for name in top.ratios]


def parameter_size(top: Topology, name: str) -> int:
    """How many numbers a parameter has."""
    part, quantity = _split(top, name)
    return top.ratios[part].size if quantity == "ratio" else SIZES[quantity]


def parameter_value(top: Topology, name: str) -> Array:
    """The mechanism's own value of a parameter."""
    part, quantity = _split(top, name)
    if quantity == "ratio":
        return np.array(top.ratios[part], dtype=float).ravel()
    if quantity in BODY:
        body = top.bodies[top.body_index[part]]
        I = body.inertia
        values = {"mass": [body.mass], "com": body.com}
        return np.array(values.get(quantity, [I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]]), dtype=float)
    joint = top.joints[top.joint_index[part]]
    if quantity == "armature":
        return np.array([joint.armature])
    return np.array(joint.placement.p) if quantity == "position" else _rpy(joint.placement.R)


def _rpy(R: Array) -> Array:
    pitch = np.arctan2(-R[2, 0], np.hypot(R[0, 0], R[1, 0]))
    if np.hypot(R[0, 0], R[1, 0]) < 1e-12:  # roll and yaw turn about the same axis: all of it is yaw
        return np.array([0.0, pitch, np.arctan2(-R[0, 1], R[1, 1])])
    return np.array([np.arctan2(R[2, 1], R[2, 2]), pitch, np.arctan2(R[1, 0], R[0, 0])])


def with_parameters(top: Topology, values: Mapping[str, Any]) -> Topology:
    """The same topology with some parameters replaced by numbers or symbols."""
    mass, com = list(top.mass), list(top.com)
    inertia_com: list[Any] = [b.inertia for b in top.bodies]
    placement, spins, ratios = list(top.placement), list(top.spins_unseen), dict(top.ratios)
    armature = top.armature.astype(object) if any(n.endswith(".armature") for n in values) else top.armature
    for name, value in values.items():
        part, quantity = _split(top, name)
        x = np.asarray(value)
        if quantity == "ratio":
            ratios[part] = x.reshape(top.ratios[part].shape)
        elif quantity in BODY:
            i = top.body_index[part]
            if quantity == "mass":
                mass[i] = x[0]
            elif quantity == "com":
                com[i] = x
            else:
                inertia_com[i] = np.array([[x[0], x[3], x[4]], [x[3], x[1], x[5]], [x[4], x[5], x[2]]])
            spins[i] = spins[i] and quantity == "mass"
        elif quantity == "armature":
            armature[top.v_of[top.joint_index[part]]] = x[0]
        else:
            i = top.joint_index[part]
            placement[i] = _moved(placement[i], quantity, x)
    inertia = tuple(rigid_inertia(m, c, I) for m, c, I in zip(mass, com, inertia_com, strict=True))
    return replace(
        top, mass=tuple(mass), com=tuple(com), inertia=inertia, placement=tuple(placement), armature=armature,
        ratios=ratios, spins_unseen=tuple(spins), open=tuple(values),
    )  # fmt: skip


def _moved(T: Transform, quantity: str, x: Array) -> Transform:
    """A placement with another position, or with another rotation given by roll, pitch and yaw."""
    if quantity == "position":
        return Transform(T.R, x)
    ex, ey, ez = np.eye(3)
    return Transform(axis_rotation(ez, x[2]) @ axis_rotation(ey, x[1]) @ axis_rotation(ex, x[0]), T.p)
