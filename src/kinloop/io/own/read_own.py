"""Parts of a mechanism to and from plain data, exactly."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from kinloop.errors import ModelError
from kinloop.io.shared.failure import ModelFileError, Notes, Where
from kinloop.io.shared.paths import Roots
from kinloop.io.shared.safe_xml import Limits
from kinloop.model import (
    JOINT_TYPES,
    Body,
    Coupling,
    Frame,
    FunctionCoupling,
    Geometry,
    Joint,
    JointType,
    LinearCoupling,
    Loop,
    LoopClosure,
    LoopFunction,
    LoopJoint,
    Mechanism,
    PolynomialCoupling,
    Rod,
    joint_type,
)
from kinloop.model.joints import registered_name
from kinloop.spatial import Transform


def pose_entry(T: Transform) -> dict[str, Any]:
    return {"R": np.asarray(T.R, dtype=float).tolist(), "p": np.asarray(T.p, dtype=float).tolist()}


def joint_type_entry(kind: JointType) -> dict[str, Any]:
    figures = {k: list(v) if isinstance(v, tuple) else v for k, v in vars(kind).items()}
    return {"kind": registered_name(kind), **figures}


def loop_entry(loop: Loop) -> dict[str, Any]:
    return _entry_of(loop, {LoopJoint: _loop_joint_entry, Rod: _rod_entry})


def coupling_entry(c: Coupling) -> dict[str, Any]:
    return _entry_of(c, {LinearCoupling: _linear_entry, PolynomialCoupling: _polynomial_entry})


def _entry_of(closure: LoopClosure, table: Mapping[type, Callable[[Any], dict[str, Any]]]) -> dict[str, Any]:
    """The entry of a loop or coupling by the table of the kinds that a file can hold."""
    if type(closure) not in table:
        functions = (LoopFunction, FunctionCoupling)
        kind = "a Python function" if type(closure) in functions else f"of the kind {type(closure).__name__}"
        raise ModelError(
            f"{closure.what} is {kind}, which no file can hold; "
            "save the mechanism without it and add it again after loading"
        )
    return table[type(closure)](closure)


def _loop_joint_entry(loop: LoopJoint) -> dict[str, Any]:
    return {
        "kind": "joint", "name": loop.name, "predecessor": loop.predecessor, "successor": loop.successor,
        "type": joint_type_entry(loop.type), "predecessor_placement": pose_entry(loop.predecessor_placement),
        "successor_placement": pose_entry(loop.successor_placement),
    }  # fmt: skip


def _rod_entry(rod: Rod) -> dict[str, Any]:
    return {
        "kind": "rod", "name": rod.name, "predecessor": rod.predecessor, "successor": rod.successor,
        "predecessor_point": rod.predecessor_point.tolist(), "length": float(rod.length),
        "successor_point": rod.successor_point.tolist(),
    }  # fmt: skip


def _linear_entry(c: LinearCoupling) -> dict[str, Any]:
    return {"kind": "linear", **_joints_entry(c), "matrix": c.matrix.tolist(), "offset": c.offset.tolist()}


def _polynomial_entry(c: PolynomialCoupling) -> dict[str, Any]:
    return {"kind": "polynomial", **_joints_entry(c), "coefficients": [float(x) for x in c.coefficients]}


def _joints_entry(c: Coupling) -> dict[str, Any]:
    return {"name": c.name, "dependent": list(c.dependent), "independent": list(c.independent)}


class Reader:
    """Turns plain data into a mechanism, blaming the entry and line that is wrong."""

    def __init__(self, content: dict, text: str, file: str, roots: Roots, limits: Limits, notes: Notes) -> None:
        self.content, self.text, self.file = content, text, file
        self.roots, self.limits, self.notes = roots, limits, notes

    def mechanism(self) -> Mechanism:
        c = self.content
        bodies = self._list("bodies", self._body)
        if len(bodies) > self.limits.bodies:
            raise Where(self.file).error(f"has {len(bodies)} bodies; limits allow {self.limits.bodies}")
        parts = (
            self._list("joints", self._joint), self._list("loops", self._loop),
            self._list("couplings", self._coupling), self._list("frames", self._frame),
        )  # fmt: skip
        extras = self._extras(c.get("extras", {}))
        extras["warnings"] = [*extras.get("warnings", []), *self.notes.lines]
        with self._blamed("mechanism"):
            independent, constrained = (tuple(_texts(c.get(k, []), k)) for k in ("independent", "constrained"))
            joints, loops, couplings, frames = parts
            return Mechanism(
                _text(c.get("name", "mechanism"), "name"), bodies, joints, loops, couplings, frames, independent,
                _array(c.get("gravity", [0.0, 0.0, -9.81]), "gravity"), constrained, extras,
            )  # fmt: skip

    def _blamed(self, entry: str, name: Any = None) -> Any:
        line = 1
        if isinstance(name, str):
            found = re.search(r'"name":\s*' + re.escape(f'"{name}"'), self.text)
            line = self.text.count("\n", 0, found.start()) + 1 if found else 1
        return _Blame(Where(self.file, line, entry))

    def _list(self, key: str, make: Callable[[dict], Any]) -> tuple:
        entries = self.content.get(key, [])
        if not isinstance(entries, list) or len(entries) > self.limits.elements:
            raise Where(self.file, 1, key).error("must be a list of entries")
        out = []
        for k, entry in enumerate(entries):
            name = entry.get("name") if isinstance(entry, dict) else None
            with self._blamed(f"{key}[{k}] {name!r}", name):
                if not isinstance(entry, dict):
                    raise ModelError("must be an object with named fields")
                out.append(make(entry))
        return tuple(out)

    def _body(self, e: dict) -> Body:
        geometry = tuple(self._geometry(g) for g in e.get("geometry", []))
        accept = e.get("accept_inertia", False) is True
        return Body(
            _text(e["name"], "name"), _number(e.get("mass", 0.0), "mass"), _array(e.get("com", [0, 0, 0]), "com"),
            _array(e.get("inertia", np.zeros((3, 3)).tolist()), "inertia"), accept, geometry,
        )  # fmt: skip

    def _geometry(self, e: dict) -> Geometry:
        if not isinstance(e, dict):
            raise ModelError("geometry must be a list of objects")
        mesh, color = e.get("mesh"), e.get("color")
        found = self.roots.find(_text(mesh, "mesh")) if mesh else None
        return Geometry(
            _text(e["kind"], "kind"), tuple(_array(e["size"], "size")), _pose(e.get("placement")),
            _text(e.get("role", "both"), "role"), str(e.get("name", "")), mesh, None if found is None else str(found),
            None if color is None else tuple(_array(color, "color").tolist()),  # type: ignore[arg-type]
        )  # fmt: skip

    def _joint(self, e: dict) -> Joint:
        from kinloop.io.own.write_own import JOINT_FIGURES

        figures: dict[str, Any] = {k: _number(e[k], k, infinite=True) for k in JOINT_FIGURES if k in e}
        if e.get("home") is not None:
            figures["home"] = tuple(_array(e["home"], "home").tolist())
        name, parent, child = (_text(e[k], k) for k in ("name", "parent", "child"))
        return Joint(name, parent, child, _joint_type(e["type"]), _pose(e.get("placement")), **figures)

    def _frame(self, e: dict) -> Frame:
        return Frame(_text(e["name"], "name"), _text(e["body"], "body"), _pose(e.get("placement")))

    def _loop(self, e: dict) -> Loop:
        name, P, S = (_text(e[k], k) for k in ("name", "predecessor", "successor"))
        if e.get("kind") == "rod":
            p, s = (_array(e[k], k) for k in ("predecessor_point", "successor_point"))
            return Rod(name, P, S, p, s, _number(e["length"], "length"))
        if e.get("kind") != "joint":
            raise ModelError(f"has the kind {e.get('kind')!r}; it must be 'joint' or 'rod'")
        poses = (_pose(e.get(k)) for k in ("predecessor_placement", "successor_placement"))
        return LoopJoint(name, P, S, _joint_type(e["type"]), *poses)

    def _coupling(self, e: dict) -> Coupling:
        name, dependent, independent = _text(e["name"], "name"), e["dependent"], e["independent"]
        ends = name, tuple(_texts(dependent, "dependent")), tuple(_texts(independent, "independent"))
        if e.get("kind") == "linear":
            shape = (len(ends[1]), len(ends[2]))
            matrix = _array(e["matrix"], "matrix").reshape(shape) if 0 in shape else _array(e["matrix"], "matrix")
            return LinearCoupling(*ends, matrix, _array(e["offset"], "offset"))
        if e.get("kind") != "polynomial":
            raise ModelError(f"has the kind {e.get('kind')!r}; it must be 'linear' or 'polynomial'")
        return PolynomialCoupling(*ends, tuple(_array(e["coefficients"], "coefficients").tolist()))

    def _extras(self, extras: Any) -> dict:
        with self._blamed("extras"):
            if not isinstance(extras, dict):
                raise ModelError("must be an object")
            return {k: self._extra(v) for k, v in extras.items()}

    def _extra(self, x: Any) -> Any:
        if isinstance(x, list):
            return [self._extra(v) for v in x]
        if isinstance(x, dict) and set(x) == {"geometry"}:
            return self._geometry(x["geometry"])
        return x


class _Blame:
    """Any mistake in an entry, reported as being about it."""

    def __init__(self, where: Where) -> None:
        self.where = where

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, ModelFileError):
            return
        if isinstance(error, KeyError):
            raise self.where.error(f"lacks the field {error.args[0]!r}; add it") from None
        if isinstance(error, ModelError | TypeError | ValueError | AttributeError | OverflowError):
            raise self.where.error(str(error)) from None


def _number(x: Any, what: str, infinite: bool = False) -> float:
    if infinite and x in ("inf", "-inf"):
        return float(x)
    if isinstance(x, bool) or not isinstance(x, int | float):
        raise ModelError(f"{what} is {x!r}; give a number")
    return float(x)


def _text(x: Any, what: str) -> str:
    if not isinstance(x, str):
        raise ModelError(f"{what} is {x!r}; give a text")
    return x


def _texts(x: Any, what: str) -> list[str]:
    if not isinstance(x, list):
        raise ModelError(f"{what} is {x!r}; give a list of texts")
    return [_text(word, what) for word in x]


def _array(x: Any, what: str) -> np.ndarray:
    """Nested lists of numbers, and nothing else, as an array."""
    flat, waiting = [], [x]
    while waiting:
        part = waiting.pop()
        if isinstance(part, list):
            waiting.extend(part)
        else:
            flat.append(_number(part, what))
    if not isinstance(x, list) or not np.all(np.isfinite(flat)):
        raise ModelError(f"{what} is {x!r}; give a list of finite numbers")
    return np.array(x, dtype=float)


def _pose(e: Any) -> Transform:
    """A pose as it was written, without the sweeping of a builder."""
    if e is None:
        return Transform.identity()
    if not isinstance(e, dict):
        raise ModelError(f"placement is {e!r}; give R and p")
    R, p = _array(e["R"], "R"), _array(e["p"], "p")
    if R.shape != (3, 3) or p.shape != (3,) or np.max(np.abs(R @ R.T - np.eye(3))) > 1e-6 or np.linalg.det(R) < 0:
        raise ModelError("placement needs a rotation matrix R, 3x3, and a position p of three numbers")
    for a in (R, p):
        a.setflags(write=False)
    return Transform(R, p)


def _joint_type(e: Any) -> JointType:
    """A joint type with its axes bit for bit as they were written."""
    if not isinstance(e, dict) or e.get("kind") not in JOINT_TYPES:
        raise ModelError(f"type is {e!r}; its kind must be one of {', '.join(JOINT_TYPES)}")
    figures = {k: v for k, v in e.items() if k != "kind"}
    axes = {k: tuple(_array(v, k).tolist()) for k, v in figures.items() if k.startswith("axis")}
    numbers = {k: _number(v, k) for k, v in figures.items() if not k.startswith("axis")}
    kind = joint_type(e["kind"], **{**numbers, **axes})  # checks
    for key, axis in axes.items():
        if np.max(np.abs(np.array(getattr(kind, key)) - axis)) < 1e-9:
            object.__setattr__(kind, key, axis)
    return kind
