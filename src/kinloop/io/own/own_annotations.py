"""Actuators, tendons, sensors, keyframes and carried weights of kinloop's own format, written and read."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinloop.errors import ModelError
from kinloop.io.own.json_values import (
    Entry,
    Json,
    entries,
    flag,
    floats,
    interval,
    number,
    placement,
    text,
    texts,
    three,
)
from kinloop.model import Actuator, CarriedWeight, Frame, Keyframe, Pulley, Sensor, Tendon, Transmission, Wrap
from kinloop.spatial import Transform

TENDON_NUMBERS = ("stiffness", "damping", "limit_stiffness", "limit_damping", "friction")


def written_number(x: float) -> float | str:
    """A number, infinities as texts."""
    return float(x) if np.isfinite(x) else str(float(x))


def written_pose(T: Transform) -> Entry:
    return {"R": np.asarray(T.R, dtype=float).tolist(), "p": np.asarray(T.p, dtype=float).tolist()}


def written_frame(f: Frame) -> Entry:
    return {"name": f.name, "body": f.body, "placement": written_pose(f.placement)}


def read_frame(e: Json) -> Frame:
    if not isinstance(e, dict):
        raise ModelError(f"frame is {e!r}; give name, body and placement")
    return Frame(text(e["name"], "name"), text(e["body"], "body"), placement(e.get("placement")))


def _maybe_written(f: Frame | None) -> Entry | None:
    return None if f is None else written_frame(f)


def _maybe_read(e: Json) -> Frame | None:
    return None if e is None else read_frame(e)


def _written_joints(joints: tuple[Transmission, ...]) -> list[Entry]:
    return [{"joint": t.joint, "gear": list(t.gear)} for t in joints]


def _read_joints(x: Json, what: str) -> tuple[Transmission, ...]:
    return tuple(Transmission(text(t["joint"], "joint"), floats(t["gear"], "gear")) for t in entries(x, what))


def written_actuator(a: Actuator) -> Entry:
    return {
        "name": a.name,
        "kind": a.kind,
        "transmission": _written_joints(a.transmission),
        "gain": list(a.gain),
        "bias": list(a.bias),
        **{key: [written_number(x) for x in getattr(a, key)] for key in ("control_range", "force_range")},
        "exact": a.exact,
        "tendon": a.tendon,
        "gear": a.gear,
        "site": _maybe_written(a.site),
        "reference": _maybe_written(a.reference),
        "wrench": list(a.wrench),
        "in_parent": a.in_parent,
        "dynamics": a.dynamics,
        "time_constant": a.time_constant,
        "activation_range": [written_number(x) for x in a.activation_range],
        "unmodelled": list(a.unmodelled),
    }


def read_actuator(e: Entry) -> Actuator:
    return Actuator(
        text(e["name"], "name"), text(e["kind"], "kind"), _read_joints(e["transmission"], "transmission"),
        three(e["gain"], "gain"), three(e["bias"], "bias"),
        interval(e["control_range"], "control_range"), interval(e["force_range"], "force_range"),
        flag(e["exact"], "exact"), text(e.get("tendon", ""), "tendon"), number(e.get("gear", 1.0), "gear"),
        _maybe_read(e.get("site")), _maybe_read(e.get("reference")), floats(e.get("wrench", []), "wrench"),
        flag(e.get("in_parent", False), "in_parent"), text(e.get("dynamics", "none"), "dynamics"),
        number(e.get("time_constant", 0.0), "time_constant"),
        interval(e.get("activation_range", ["-inf", "inf"]), "activation_range"),
        texts(e.get("unmodelled", []), "unmodelled"),
    )  # fmt: skip


def written_keyframe(k: Keyframe) -> Entry:
    return {"name": k.name, **{key: list(getattr(k, key)) for key in ("q", "ctrl", "act")}}


def read_keyframe(e: Entry) -> Keyframe:
    more = (floats(e.get(key, []), key) for key in ("ctrl", "act"))
    return Keyframe(text(e["name"], "name"), floats(e["q"], "q"), *more)


def written_tendon(t: Tendon) -> Entry:
    return {
        "name": t.name,
        "joints": _written_joints(t.joints),
        "path": [_written_part(x) for x in t.path],
        **{key: getattr(t, key) for key in TENDON_NUMBERS},
        **{key: [written_number(x) for x in getattr(t, key)] for key in ("rest", "length_range")},
    }


def _written_part(x: Frame | Wrap | Pulley) -> Entry:
    match x:
        case Wrap():
            shape = {"kind": x.kind, "radius": x.radius, "frame": written_frame(x.frame)}
            return {"wrap": shape | {"side": _maybe_written(x.side)}}
        case Pulley():
            return {"pulley": x.divisor}
    return {"frame": written_frame(x)}


def read_tendon(e: Entry) -> Tendon:
    numbers: dict[str, Any] = {key: number(e.get(key, 0.0), key) for key in TENDON_NUMBERS}
    numbers |= {key: interval(e[key], key) for key in ("rest", "length_range") if key in e}
    path = tuple(_read_part(x) for x in entries(e.get("path", []), "path"))
    return Tendon(text(e["name"], "name"), _read_joints(e.get("joints", []), "joints"), path, **numbers)


def _read_part(e: Entry) -> Frame | Wrap | Pulley:
    if "pulley" in e:
        return Pulley(number(e["pulley"], "pulley"))
    if "wrap" in e:
        (w,) = entries([e["wrap"]], "wrap")
        radius = number(w["radius"], "radius")
        return Wrap(text(w["kind"], "kind"), read_frame(w["frame"]), radius, _maybe_read(w.get("side")))
    return read_frame(e["frame"])


def written_sensor(s: Sensor) -> Entry:
    return {
        "name": s.name, "kind": s.kind, "part": s.part, "frame": _maybe_written(s.frame),
        "reference": _maybe_written(s.reference), "cutoff": s.cutoff, "field": list(s.field), "link": s.link,
        "zone": None if s.zone is None else {"kind": s.zone[0], "size": list(s.zone[1])}, "against": s.against,
    }  # fmt: skip


def read_sensor(e: Entry) -> Sensor:
    return Sensor(
        text(e["name"], "name"), text(e["kind"], "kind"), text(e.get("part", ""), "part"), _maybe_read(e.get("frame")),
        _maybe_read(e.get("reference")), number(e.get("cutoff", 0.0), "cutoff"),
        three(e.get("field", [0.0, 0.0, 0.0]), "field"), text(e.get("link", ""), "link"), _read_zone(e.get("zone")),
        text(e.get("against", ""), "against"),
    )  # fmt: skip


def _read_zone(x: Json) -> tuple[str, tuple[float, ...]] | None:
    if x is None:
        return None
    (e,) = entries([x], "zone")
    return text(e["kind"], "kind"), tuple(floats(e["size"], "size"))


def written_weight(w: CarriedWeight) -> Entry:
    return {"body": w.body, "mass": w.mass, "at": list(w.at)}


def read_weight(e: Entry) -> CarriedWeight:
    return CarriedWeight(text(e["body"], "body"), number(e["mass"], "mass"), floats(e["at"], "at"))
