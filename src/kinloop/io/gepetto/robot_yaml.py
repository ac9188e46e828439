"""Gepetto's `robot.yaml` beside a URDF: which frames close loops, and which joints are of another type.

Only the little of YAML that these files use is read: `key: value` lines with quoted or plain words and
nested lists, in brackets or as `-` lines.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from kinloop.io.shared.draft import Draft
from kinloop.io.shared.failure import Where
from kinloop.io.shared.paths import Roots
from kinloop.io.shared.safe_xml import read_bytes
from kinloop.model import LoopJoint
from kinloop.model import joints as jt

KEYS = ("closed_loop", "type", "name_mot", "joint_name", "joint_type")
_TOKEN = re.compile(r"""\s*(\[|\]|,|'(?:[^'\\]|'')*'|"[^"\\]*"|[^\[\],'"\s#][^\[\],#]*)""")
_TYPES = {"6d": jt.Fixed, "3d": jt.Spherical}
_JOINTS = {"SPHERICAL": jt.Spherical, "REVOLUTE": jt.Revolute, "FIXED": jt.Fixed, "FREEFLYER": jt.Free}


def add_gepetto_loops(draft: Draft, path: Path, roots: Roots) -> None:
    """Add the loops of a YAML file beside the URDF, if there is one that speaks of loops."""
    for name in dict.fromkeys((f"{path.stem}.yaml", "robot.yaml")):
        beside = path.parent / name
        if not beside.is_symlink() and not beside.is_file():
            continue
        where = Where(str(beside))
        real = roots.inside(beside)
        if real is None:
            raise where.error("lies outside the model's directory and declared packages; put the file itself there")
        text = read_bytes(real, 1_000_000, where).decode("utf-8", errors="replace")
        if re.search(r"^\s*(closed_loop|joint_type)\s*:", text, re.MULTILINE):
            _apply(draft, parse(text, where), where)
            return


def _apply(draft: Draft, content: dict[str, tuple[Any, Where]], where: Where) -> None:
    nowhere: tuple[Any, Where] = ([], where)
    names, place = content.get("joint_name", nowhere)
    kinds, _ = content.get("joint_type", nowhere)
    for name, kind in zip(_words(names, place), _words(kinds, place), strict=False):
        _retype(draft, name, kind, place)
    loops, place = content.get("closed_loop", nowhere)
    types, _ = content.get("type", nowhere)
    types = _words(types, place)
    if not isinstance(loops, list):
        raise place.error("closed_loop must be a list of pairs of frames")
    for k, pair in enumerate(loops):
        ends = _words(pair, place) if isinstance(pair, list) else []
        if len(ends) != 2:
            raise place.error(f"closed_loop number {k + 1} is {pair!r}; it must name two frames")
        kind = types[k].lower() if k < len(types) else "6d"
        if kind not in _TYPES:
            raise place.error(f"type {types[k]!r} of closed_loop number {k + 1} must be 3d or 6d")
        P, S = (_link(draft, end, place) for end in ends)
        draft.add_loop(LoopJoint(f"closed_loop_{k + 1}", P, S, _TYPES[kind]()), place)
    motors = _words(content.get("name_mot", nowhere)[0], where)
    if motors:
        draft.extras["motors"] = motors


def _link(draft: Draft, name: str, where: Where) -> str:
    """A frame is a link, or the link that a joint of that name carries."""
    if name in draft.joints and name not in draft.links:
        return draft.joints[name].child
    return draft.known_link(name, where)


def _retype(draft: Draft, name: str, kind: str, where: Where) -> None:
    if name not in draft.joints:
        raise where.error(f"joint_name {name!r} is not a joint of the URDF; name one of its joints")
    if kind.upper() not in _JOINTS:
        raise where.error(f"joint_type {kind!r} of joint {name!r} must be one of {', '.join(_JOINTS)}")
    if kind.upper() != "REVOLUTE":
        draft.joints[name] = replace(draft.joints[name], type=_JOINTS[kind.upper()]())


def _words(value: Any, where: Where) -> list[str]:
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, list) or not all(isinstance(x, str) for x in value):
        raise where.error(f"{value!r} must be a list of names")
    return value


def parse(text: str, where: Where) -> dict[str, tuple[Any, Where]]:
    """Keys of the YAML subset with their values (words or nested lists) and places."""
    out: dict[str, tuple[Any, Where]] = {}
    entries: list[tuple[str, int, list[str]]] = []
    for number, line in enumerate(text.splitlines(), 1):
        key = re.match(r"([A-Za-z_]\w*)\s*:(?:\s|$)", line)
        if key:
            entries.append((key[1], number, [line[key.end() :]]))
        elif entries and line.strip() and not line.lstrip().startswith("#") and line.strip() not in ("---", "..."):
            entries[-1][2].append(line)
    for key, number, lines in entries:
        if key not in KEYS:
            continue
        place = Where(where.file, number, key)
        if key in out:
            raise place.error("is given twice; give it once")
        out[key] = _value(lines, place), place
    return out


def _value(lines: list[str], where: Where) -> Any:
    dashes = [line for line in lines if line.lstrip().startswith("- ")]
    if dashes and not lines[0].strip():
        return [_flow(line.lstrip()[2:].replace("- ", "", 1) if line.lstrip()[2:].startswith("- ") else
                      line.lstrip()[2:], where) for line in dashes]  # fmt: skip
    return _flow(" ".join(lines), where)


def _flow(text: str, where: Where) -> Any:
    """A word or a bracketed list, by a stack of open lists."""
    at, stack = 0, [[]]  # type: tuple[int, list[list[Any]]]
    while text[at:].strip() and not text[at:].lstrip().startswith("#"):
        token = _TOKEN.match(text, at)
        if token is None:
            raise where.error(f"cannot be read near {text[at : at + 20]!r}; write lists of quoted names")
        word, at = token[1].strip(), token.end()
        if word == "[":
            if len(stack) > 4:
                raise where.error("nests lists more than three deep; write a list of pairs")
            stack.append([])
        elif word == "]":
            if len(stack) < 2:
                raise where.error("closes a list that was not opened")
            closed = stack.pop()
            stack[-1].append(closed)
        elif word != ",":
            stack[-1].append(word[1:-1] if word[0] in "'\"" else word)
    if len(stack) != 1:
        raise where.error("leaves a list open; add the missing ]")
    return stack[0][0] if len(stack[0]) == 1 else stack[0]
