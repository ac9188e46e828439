"""kinloop's own format read: JSON into a mechanism, blaming the entry and line that is wrong."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import numpy as np

from kinloop.errors import ModelError
from kinloop.io.own.contact_entries import read_contact_rules, read_surface, table
from kinloop.io.own.json_values import (
    Entry,
    Json,
    array,
    blamed,
    entries,
    floats,
    number,
    placement,
    rgba,
    text,
    texts,
    type_of_joint,
)
from kinloop.io.own.own_annotations import (
    read_actuator,
    read_frame,
    read_keyframe,
    read_sensor,
    read_tendon,
    read_weight,
)
from kinloop.io.own.own_schema import FIELDS, FORMAT, JOINT_NUMBERS, NAME_LISTS, VERSION
from kinloop.io.shared.file_errors import Notes, Where
from kinloop.io.shared.paths import Roots
from kinloop.io.shared.reading_options import Limits
from kinloop.io.shared.robot_description import check_spring
from kinloop.model import (
    Body,
    Coupling,
    Geometry,
    Joint,
    LinearCoupling,
    Loop,
    LoopJoint,
    Mechanism,
    PolynomialCoupling,
    Rod,
)
from kinloop.model.mechanism import GRAVITY

Part = TypeVar("Part")


def read_own(data: bytes, path: Path, roots: Roots, limits: Limits, notes: Notes) -> Mechanism:
    """The mechanism of a file in kinloop's own format."""
    where = Where(str(path))
    try:
        content = json.loads(data.decode("utf-8"), parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise Where(str(path), error.lineno).error(f"is not JSON ({error.msg})") from None
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        raise where.error(f"is not a JSON document kinloop can read ({type(error).__name__})") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise where.error(f'is not a kinloop model; its "format" must be "{FORMAT}"')
    if content.get("version") != VERSION:
        raise where.error(f"has version {content.get('version')!r}; this kinloop reads version {VERSION}")
    try:
        return _Reader(content, data.decode("utf-8"), str(path), roots, limits, notes).mechanism()
    except RecursionError:
        raise where.error("nests lists too deep; a mechanism does not need that") from None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number kinloop takes")


class _Reader:
    """Turns the content of a document into a mechanism."""

    def __init__(self, content: Entry, text: str, file: str, roots: Roots, limits: Limits, notes: Notes) -> None:
        self.content, self.text, self.file = content, text, file
        self.roots, self.limits, self.notes = roots, limits, notes
        self.shapes = 0

    def mechanism(self) -> Mechanism:
        c = self.content
        for key in c:
            if key not in FIELDS:
                self.notes.warn(Where(self.file, 1, repr(key)), "is no field of a mechanism; it is left out", True)
        self._check_counts()
        bodies = self._parts("bodies", self._body)
        parts: dict[str, Any] = {
            "joints": self._parts("joints", _joint), "loops": self._parts("loops", _loop),
            "couplings": self._parts("couplings", _coupling), "frames": self._parts("frames", read_frame),
            "actuators": self._parts("actuators", read_actuator), "keyframes": self._parts("keyframes", read_keyframe),
            "tendons": self._parts("tendons", read_tendon), "sensors": self._parts("sensors", read_sensor),
            "carried": self._parts("carried", read_weight),
            "world_geometry": self._parts("world_geometry", self._counted),
        }  # fmt: skip
        for key in NAME_LISTS:
            with self._blamed(key):
                parts[key] = texts(c.get(key, []), key)
        with self._blamed("contact_rules"):
            parts["contact_rules"] = read_contact_rules(c.get("contact_rules", {}), self.limits)
        parts["warnings"] += tuple(self.notes.lines)
        with self._blamed("mechanism"):
            name, gravity = text(c.get("name", "mechanism"), "name"), array(c.get("gravity", list(GRAVITY)), "gravity")
            return Mechanism(name, bodies, gravity=gravity, source=self.file, **parts)

    def _check_counts(self) -> None:
        """Refuse more of anything than limits allow, before any of it is read."""
        count = {key: len(found) for key, found in self.content.items() if isinstance(found, list)}
        bodies, closures = count.get("bodies", 0), count.get("loops", 0) + count.get("couplings", 0)
        if bodies > self.limits.bodies:
            raise Where(self.file).error(f"has {bodies} bodies; limits allow {self.limits.bodies}")
        if closures > self.limits.closures(bodies):
            most = self.limits.closures(bodies)
            raise Where(self.file).error(f"has {closures} loops and couplings; {bodies} bodies may have {most}")
        many = ("actuators", "tendons", "sensors", "carried")
        for key, most in (*((key, self.limits.links) for key in many), ("keyframes", self.limits.shapes)):
            if count.get(key, 0) > most:
                raise Where(self.file, 1, key).error(f"has {count[key]} entries; limits allow {most}")
        if sum(count.values()) > self.limits.elements:
            raise Where(self.file).error(f"has {sum(count.values())} entries; limits allow {self.limits.elements}")

    def _counted(self, e: Entry) -> Geometry:
        """A shape, if limits allow one more."""
        self.shapes += 1
        if self.shapes > self.limits.shapes:
            raise ModelError(f"is shape number {self.shapes}; limits allow {self.limits.shapes} shapes")
        return self._geometry(e)

    def _blamed(self, entry: str, name: Json = None) -> AbstractContextManager[None]:
        """Mistakes are about `entry`; its line is where its name stands."""

        def find() -> Where:
            found = None
            if isinstance(name, str):
                found = re.search(r'"name":\s*' + re.escape(f'"{name}"'), self.text)
            return Where(self.file, self.text.count("\n", 0, found.start()) + 1 if found else 1, entry)

        return blamed(find)

    def _parts(self, key: str, make: Callable[[Entry], Part]) -> tuple[Part, ...]:
        """The parts of a list of entries."""
        found = self.content.get(key, [])
        if not isinstance(found, list):
            raise Where(self.file, 1, key).error("must be a list of entries")
        out = []
        for k, entry in enumerate(found):
            name = entry.get("name") if isinstance(entry, dict) else None
            with self._blamed(f"{key}[{k}] {name!r}", name):
                if not isinstance(entry, dict):
                    raise ModelError("must be an object with named fields")
                out.append(make(entry))
        return tuple(out)

    def _body(self, e: Entry) -> Body:
        geometry = tuple(self._counted(g) for g in entries(e.get("geometry", []), "geometry"))
        accept = e.get("accept_inertia", False) is True
        return Body(
            text(e["name"], "name"), number(e.get("mass", 0.0), "mass"), array(e.get("com", [0, 0, 0]), "com"),
            array(e.get("inertia", np.zeros((3, 3)).tolist()), "inertia"), accept, geometry,
        )  # fmt: skip

    def _geometry(self, e: Entry) -> Geometry:
        mesh, color = e.get("mesh"), e.get("color")
        found = self.roots.find(text(mesh, "mesh")) if mesh else None
        return Geometry(
            text(e["kind"], "kind"), floats(e["size"], "size"), placement(e.get("placement")),
            text(e.get("role", "both"), "role"), str(e.get("name", "")), mesh, None if found is None else str(found),
            None if color is None else rgba(color, "color"), read_surface(e.get("surface")),
            text(e.get("link", ""), "link"), table(e.get("vertices"), "vertices"), table(e.get("heights"), "heights"),
        )  # fmt: skip


def _joint(e: Entry) -> Joint:
    parameters: dict[str, Any] = {k: number(e[k], k, infinite=True) for k in JOINT_NUMBERS if k in e}
    if e.get("min_force") is not None:
        parameters["min_force"] = number(e["min_force"], "min_force", infinite=True)
    if e.get("home") is not None:
        parameters["home"] = floats(e["home"], "home")
    name, parent, child = (text(e[k], k) for k in ("name", "parent", "child"))
    joint = Joint(name, parent, child, type_of_joint(e["type"]), placement(e.get("placement")), **parameters)
    check_spring(joint)
    return joint


def _loop(e: Entry) -> Loop:
    name, P, S = (text(e[k], k) for k in ("name", "predecessor", "successor"))
    if e.get("kind") == "rod":
        p, s = (array(e[k], k) for k in ("predecessor_point", "successor_point"))
        return Rod(name, P, S, p, s, number(e["length"], "length"))
    if e.get("kind") != "joint":
        raise ModelError(f"has the kind {e.get('kind')!r}; it must be 'joint' or 'rod'")
    poses = (placement(e.get(k)) for k in ("predecessor_placement", "successor_placement"))
    return LoopJoint(name, P, S, type_of_joint(e["type"]), *poses)


def _coupling(e: Entry) -> Coupling:
    name, dependent, independent = text(e["name"], "name"), e["dependent"], e["independent"]
    ends = name, texts(dependent, "dependent"), texts(independent, "independent")
    if e.get("kind") == "linear":
        shape = (len(ends[1]), len(ends[2]))
        matrix = array(e["matrix"], "matrix").reshape(shape) if 0 in shape else array(e["matrix"], "matrix")
        return LinearCoupling(*ends, matrix, array(e["offset"], "offset"))
    if e.get("kind") != "polynomial":
        raise ModelError(f"has the kind {e.get('kind')!r}; it must be 'linear' or 'polynomial'")
    return PolynomialCoupling(*ends, floats(e["coefficients"], "coefficients"))
