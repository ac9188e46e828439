"""Robots kept as tables of parameters: one line per body in `data/<name>.toml`."""

from __future__ import annotations

import tomllib
from importlib import resources
from typing import Any

import numpy as np

from kinloop.model import Builder


def read(name: str) -> dict[str, Any]:
    """The table of a robot, with the inertials it shares with another one."""
    text = resources.files("kinloop.robots").joinpath("data", f"{name}.toml").read_text(encoding="utf-8")
    table = tomllib.loads(text)
    if "inertials_of" in table:
        table["inertial"] = read(table["inertials_of"])["inertial"] | table.get("inertial", {})
    return table


def symmetric(moments: list[float]) -> np.ndarray:
    """A 3x3 inertia from xx yy zz or xx yy zz xy xz yz."""
    xx, yy, zz, xy, xz, yz = (*moments, 0.0, 0.0, 0.0)[:6]
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]], dtype=float)


def add_table(b: Builder, table: dict[str, Any], rotors: bool = True) -> None:
    """Add the bodies, gears, belts and frames of a table; without rotors only what the links need."""
    belts = table.get("belts", [])
    driven = {row[0] for row in table["bodies"] if len(row) > 5 and "gear" in row[5]}
    driven |= {name for belt in belts for name in belt["dependent"]}
    joint_of: dict[str, str] = {}
    for row in table["bodies"]:
        if rotors or row[0] not in driven:
            joint_of[row[0]] = _add_body(b, table, *row)
    for row in table["bodies"] if rotors else ():
        if len(row) > 5 and "gear" in row[5]:
            link, ratio = row[5]["gear"]
            b.gear(joint_of[row[0]], joint_of[link], ratio, name=row[0].removesuffix("rotor").rstrip("_-"))
            b.independent.append(joint_of[link])
    for belt in belts if rotors else ():
        independent = [joint_of[name] for name in belt["independent"]]
        b.linear([joint_of[name] for name in belt["dependent"]], independent, belt["matrix"], name=belt["name"])
        b.independent += independent
    for name, body, at in table.get("frames", []):
        b.frame(name, body, at)
    b.end_effectors += table.get("end_effectors", ())


def _add_body(
    b: Builder,
    table: dict[str, Any],
    name: str,
    parent: str,
    axis: str,
    at: list[float],
    inertial: str,
    more: Any = None,
) -> str:
    more = more or {}
    mass, com, moments = table["inertial"][inertial]
    kind: dict[str, Any] = {"joint": "free"} if axis == "free" else {"joint": "revolute", "axis": axis}
    return b.body(
        name, parent, mass=mass, com=com, inertia=symmetric(moments), at=at, **kind,
        rotation=table["rotation"][more["rotation"]] if "rotation" in more else None,
        joint_name=more.get("joint"), accept_inertia=inertial in table.get("accept_inertia", ()),
    )  # fmt: skip


def from_table(name: str, table: str | None = None, rotors: bool = True) -> Builder:
    """A builder filled from a table."""
    b = Builder(name)
    add_table(b, read(table or name), rotors)
    return b
