"""kinloop's own format: a mechanism as JSON, every number bit for bit. The schema is in docs/formats.md.

Numbers are written with the shortest digits that read back to the same double; infinities as "inf".
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from kinloop.errors import ModelError
from kinloop.io.own.read_own import Reader, coupling_entry, joint_type_entry, loop_entry, pose_entry
from kinloop.io.shared.failure import Notes, Where
from kinloop.io.shared.paths import Roots
from kinloop.io.shared.safe_xml import Limits
from kinloop.model import Body, Geometry, Joint, Mechanism

FORMAT, VERSION = "kinloop-mechanism", 1


def save(mechanism: Mechanism, path: str | Path) -> None:
    """Write a mechanism in kinloop's own format; what cannot be text (a Python function) is an error."""
    mechanism = getattr(mechanism, "mechanism", mechanism)
    write_text(path, dumps(mechanism))


def write_text(path: str | Path, text: str) -> None:
    """Write a file whole or not at all."""
    path = Path(path)
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(handle, "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except OSError as error:
        raise ModelError(f"{str(path)!r} cannot be written ({error.strerror}); give a writable place") from error


def dumps(m: Mechanism) -> str:
    """The text of a mechanism."""
    content = {
        "format": FORMAT,
        "version": VERSION,
        "name": m.name,
        "gravity": _plain(m.gravity),
        "bodies": [_body_entry(b) for b in m.bodies],
        "joints": [_joint_entry(j) for j in m.joints],
        "frames": [{"name": f.name, "body": f.body, "placement": pose_entry(f.placement)} for f in m.frames],
        "loops": [loop_entry(loop) for loop in m.loops],
        "couplings": [coupling_entry(c) for c in m.couplings],
        "independent": list(m.independent),
        "constrained": list(m.constrained),
        "extras": _plain({k: v for k, v in m.extras.items() if k != "source" and (k != "warnings" or v)}),
    }
    return json.dumps(content, indent=1, allow_nan=False, ensure_ascii=False) + "\n"


def _body_entry(b: Body) -> dict[str, Any]:
    return {
        "name": b.name,
        "mass": b.mass,
        "com": _plain(b.com),
        "inertia": _plain(b.inertia),
        "accept_inertia": b.accept_inertia,
        "geometry": [_geometry_entry(g) for g in b.geometry],
    }


def _geometry_entry(g: Geometry) -> dict[str, Any]:
    return {
        "kind": g.kind,
        "size": list(g.size),
        "placement": pose_entry(g.placement),
        "role": g.role,
        "name": g.name,
        "mesh": g.mesh,
        "color": None if g.color is None else list(g.color),
    }


JOINT_FIGURES = (
    "armature", "damping", "friction", "stiffness", "rest", "lower", "upper", "max_velocity", "max_force",
)  # fmt: skip


def _joint_entry(j: Joint) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "name": j.name,
        "parent": j.parent,
        "child": j.child,
        "type": joint_type_entry(j.type),
        "placement": pose_entry(j.placement),
    }
    entry |= {key: _plain(float(getattr(j, key))) for key in JOINT_FIGURES}
    entry["home"] = None if j.home is None else list(j.home)
    return entry


def _plain(x: Any) -> Any:
    """Numbers, texts, lists and dicts only; infinities as text."""
    match x:
        case Geometry():
            return {"geometry": _geometry_entry(x)}
        case np.ndarray():
            return _plain(x.tolist())
        case np.generic():
            return _plain(x.item())
        case float() if not np.isfinite(x):
            return str(x)
        case None | bool() | int() | float() | str():
            return x
        case dict():
            return {str(k): _plain(v) for k, v in x.items()}
        case list() | tuple() | set():
            return [_plain(v) for v in x]
    raise ModelError(f"extras hold {x!r}, which is not data; remove it before saving")


def read_own(data: bytes, path: Path, roots: Roots, limits: Limits, notes: Notes) -> Mechanism:
    """The mechanism of a file in kinloop's own format."""
    where = Where(str(path))
    try:
        content = json.loads(data.decode("utf-8"), parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise Where(str(path), error.lineno).error(f"is not JSON ({error.msg})") from None
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        raise where.error(f"is not a JSON document kinloop can read ({type(error).__name__})") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise where.error(f'is not a kinloop model; its "format" must be "{FORMAT}"')
    if content.get("version") != VERSION:
        raise where.error(f"has version {content.get('version')!r}; this kinloop reads version {VERSION}")
    try:
        return Reader(content, data.decode("utf-8"), str(path), roots, limits, notes).mechanism()
    except RecursionError:
        raise where.error("nests lists too deep; a mechanism does not need that") from None


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number kinloop takes")
