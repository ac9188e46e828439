"""Sensors of a compiled MuJoCo model."""

from __future__ import annotations

from typing import Any

from kinloop.io.mjcf import mujoco_codes as codes
from kinloop.io.mjcf.mjcf_actuators import site
from kinloop.io.mjcf.mjcf_bodies import LinkFrames
from kinloop.io.mjcf.mjcf_names import Names
from kinloop.io.mjcf.mjcf_shapes import solid
from kinloop.io.mjcf.mujoco_codes import MjModel
from kinloop.io.mjcf.safe_source import Places
from kinloop.io.shared.file_errors import Notes
from kinloop.model import Frame, Sensor

KINDS = {
    0: "touch", 1: "accelerometer", 2: "velocimeter", 3: "gyro", 4: "force", 5: "torque", 6: "magnetometer",
    9: "joint_position", 10: "joint_velocity",
    11: "tendon_position", 12: "tendon_velocity", 13: "actuator_position", 14: "actuator_velocity",
    15: "actuator_force", 16: "joint_actuator_force", 18: "ball_quaternion", 19: "ball_velocity", 26: "frame_position",
    27: "frame_quaternion", 28: "frame_x_axis", 29: "frame_y_axis", 30: "frame_z_axis", 31: "frame_velocity",
    32: "frame_angular_velocity", 33: "frame_acceleration", 34: "frame_angular_acceleration",
    35: "subtree_com", 36: "subtree_velocity", 37: "subtree_angular_momentum", 42: "contact_force", 45: "clock",
}  # fmt: skip
"""MuJoCo's types of sensors that are modelled."""

NO_TURN = (1.0, 0.0, 0.0, 0.0)


def read_sensors(model: MjModel, frames: LinkFrames, places: Places, notes: Notes) -> list[Sensor]:
    """The sensors of a model; `safe_source` has left out those of kinds that there are not here."""
    out = []
    for s in range(model.nsensor):
        name = frames.names.of("sensor", s)
        if reason := _unlike(model, frames.names, s):
            notes.warn(places.of("sensor", name, s), f"is left out: {reason}", dropped=True)
            continue
        with places.of("sensor", name, s).blamed():
            out.append(_sensor(model, frames, s, name))
    return out


def _sensor(model: MjModel, frames: LinkFrames, s: int, name: str) -> Sensor:
    kind, more = KINDS[int(model.sensor_type[s])], dict[str, Any](cutoff=float(model.sensor_cutoff[s]))
    target, number = int(model.sensor_objtype[s]), int(model.sensor_objid[s])
    if kind == "clock":
        return Sensor(name, kind, **more)
    if kind.startswith("subtree"):
        return Sensor(name, kind, _party(frames, codes.BODY, number), **more)
    if kind == "contact_force":
        other = int(model.sensor_reftype[s]), int(model.sensor_refid[s])
        more["against"] = _party(frames, *other) if other[1] >= 0 else ""
        return Sensor(name, kind, _party(frames, target, number), **more)
    if kind == "magnetometer":
        more["field"] = tuple(float(x) for x in model.opt.magnetic)
    if kind == "touch":
        at = site(model, frames, number)
        more["link"], more["zone"] = at.body, solid(int(model.site_type[number]), *map(float, model.site_size[number]))
        return Sensor(name, kind, frame=at, **more)
    if target == codes.JOINT_OBJECT:
        return Sensor(name, kind, frames.names.joint(number), **more)
    if target in (codes.TENDON, codes.ACTUATOR):
        return Sensor(name, kind, frames.names.of("tendon" if target == codes.TENDON else "actuator", number), **more)
    other = int(model.sensor_refid[s])
    if other >= 0:
        more["reference"] = _frame(model, frames, int(model.sensor_reftype[s]), other)
    return Sensor(name, kind, frame=_frame(model, frames, target, number), **more)


def _unlike(model: MjModel, names: Names, s: int) -> str:
    """Why a sensor of a subtree cannot be told; nothing where it can, and of all other sensors."""
    k = int(model.sensor_objid[s])
    if not KINDS[int(model.sensor_type[s])].startswith("subtree"):
        return ""
    if int(model.body_weldid[k]) != k:
        return f"its body {names.of('body', k)!r} is fixed to its parent, and both are one body here"
    still = sum(float(x) for x, root in zip(model.body_mass, model.body_weldid, strict=True) if root == 0)
    return f"it is of the world, to which {still:g} kg are fixed" if k == 0 and still > 0.0 else ""


def _party(frames: LinkFrames, kind: int, k: int) -> str:
    """The name of the body or geom whose contacts a sensor is of."""
    if kind == codes.GEOM:
        return frames.names.of("geom", k)
    return frames.place(k, (0.0, 0.0, 0.0), NO_TURN)[0]


def _frame(model: MjModel, frames: LinkFrames, kind: int, k: int) -> Frame:
    """The frame of an object that a sensor is of."""
    match kind:
        case codes.BODY:
            return Frame(frames.names.of("body", k), *frames.place(k, model.body_ipos[k], model.body_iquat[k]))
        case codes.XBODY:
            return Frame(frames.names.of("body", k), *frames.place(k, (0.0, 0.0, 0.0), NO_TURN))
        case codes.GEOM:
            place = frames.place(int(model.geom_bodyid[k]), model.geom_pos[k], model.geom_quat[k])
            return Frame(frames.names.of("geom", k), *place)
    return site(model, frames, k)
