"""Several models of an SDF world, nested ones and included files made one, with names as SDF writes them: `arm::link`.

Every nested model becomes a frame `arm::__model__`, and what lies in it has its pose relative to that. A file with one
model and nothing else stays as it is.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

from kinloop.io.sdf.sdf_elements import check_elements
from kinloop.io.sdf.sdf_poses import MODEL_FRAME
from kinloop.io.shared.file_errors import Notes
from kinloop.io.shared.parse_numbers import child_truth
from kinloop.io.shared.paths import Roots
from kinloop.io.shared.reading_options import Limits
from kinloop.io.shared.safe_xml import Node, parse_xml
from kinloop.io.shared.whole_files import read_bytes
from kinloop.io.urdf.loop_tags import LOOP_TAGS
from kinloop.model import WORLD

MOST_MODELS = 2_000
"""Models of a world, nested ones included."""
DEEPEST = 20
"""How deep models may nest or include one another."""
PARTS = ("link", "joint", "drake:joint", "frame")
REFERENCES = ("relative_to", "frame", "attached_to", "expressed_in")
"""Attributes that name frames."""
NAMED_ENDS = ("parent", "child", "gearbox_reference_body", "drake:parent", "drake:child")
"""Parts of joints whose texts name links or frames."""
Resolve = Callable[[str], str]


class Scopes:
    """Makes one model of all that a document has."""

    def __init__(self, roots: Roots, limits: Limits, notes: Notes) -> None:
        self.roots, self.limits, self.notes = roots, limits, notes
        self.static: set[str] = set()
        """Links of static models without joints: parts of the world."""
        self.count = self.bytes = 0
        self.names: set[str] = set()
        self.files: dict[Path, Node] = {}
        self.found: dict[tuple[str, str], Path] = {}
        """Names of models; the roots of included files; the files that are meant by what a file includes."""

    def one_model(self, root: Node) -> Node:
        """The only model of a document, or all of them as one."""
        check_elements(root, self.notes)
        worlds = root.all("world")
        places = [*worlds, root]
        tops = [n for place in places for n in place if n.tag in ("model", "include")]
        if len(worlds) > 1 or not tops:
            raise root.error(f"holds {len(worlds)} worlds and {len(tops)} models; give one world, or one model")
        plain = not any(n.tag in ("model", "include") for top in tops for n in top)
        if (
            len(tops) == 1
            and tops[0].tag == "model"
            and plain
            and not any(w.all("joint") + w.all("frame") for w in worlds)
        ):
            return tops[0]
        path = (Path(root.file).resolve(),)
        models = [self._opened(top, path) for top in tops]
        name = models[0][0].get("name") if len(models) == 1 else worlds[0].get("name") if worlds else None
        out = Node("model", {"name": name or "world"}, root.file, root.line)
        alone = models[0][0].get("name") or "" if len(models) == 1 else ""
        for model, pose, files in models:
            self._add(out, model, pose, "" if alone else self._prefix("", model), _same, files, False)
        for world in worlds:
            for part in (*world.all("frame"), *world.all("joint")):
                made = self._renamed(part, "", _world_names(alone, out))
                if part.tag == "frame":
                    made.attrib.setdefault("attached_to", WORLD)
                out.children.append(made)
        return out

    def _prefix(self, above: str, model: Node) -> str:
        """What names in a model begin with, which is so in no other."""
        name = above + model.attribute("name")
        if name in self.names:
            raise model.error(f"a second model is named {name!r}; names of models must be unique")
        self.names.add(name)
        if len(self.names) > MOST_MODELS:
            raise model.error(f"is model number {len(self.names)}; a world may have {MOST_MODELS}")
        return f"{name}::"

    def _opened(self, node: Node, path: tuple[Path, ...]) -> tuple[Node, Node, tuple[Path, ...]]:
        """A model; what says its pose: itself or the include; and the files that led to it."""
        if node.tag == "model":
            return node, node, path
        if node.get("merge") and node.get("merge") not in ("false", "0"):
            raise node.error("merges a model into this one, which kinloop does not; include it under a name")
        key = os.path.dirname(node.file), node.need("uri").text
        if key not in self.found:
            self.found[key] = self._find(node, *key)
        real = self.found[key]
        if real in path or len(path) > DEEPEST:
            raise node.error(f"includes {node.need('uri').text!r} inside itself; leave it out")
        root = self._file(real, node)
        models = root.all("model")
        if root.tag != "sdf" or len(models) != 1:
            raise node.error(
                f"includes {str(real.name)!r}, which holds {len(models)} models; it must be an <sdf> of one"
            )
        found = Node("model", dict(models[0].attrib), models[0].file, models[0].line)
        found.children = [c for c in models[0] if c.tag != "static" or node.first("static") is None] + node.all(
            "static"
        )
        name = node.first("name")
        if name is not None and name.text:
            found.attrib["name"] = name.text
        return found, node if node.first("pose") is not None else found, (*path, real)

    def _file(self, real: Path, node: Node) -> Node:
        """The root of an included file, read once."""
        if real not in self.files:
            data = read_bytes(real, self.limits.file_bytes, node.where)
            self.bytes += len(data)
            if self.bytes > self.limits.file_bytes:
                raise node.error(f"brings included files above {self.limits.file_bytes} bytes; raise limits")
            self.files[real] = parse_xml(data, str(real), self.limits)
            check_elements(self.files[real], self.notes)
        return self.files[real]

    def _find(self, node: Node, folder: str, uri: str) -> Path:
        """The file of an included model: the one that is named, or the one in a directory of that name."""
        beside = [] if "://" in uri else [os.path.join(folder, uri)]
        for place in (uri, *beside):
            config = self.roots.find(f"{place}/model.config")
            listed = (
                [] if config is None else re.findall(rb"<sdf[^>]*>\s*([\w.-]+)\s*</sdf>", read_bytes(config, 100_000))
            )
            names = [f"{place}/{name.decode()}" for name in reversed(listed)]
            found = next(filter(None, map(self.roots.find, (place, *names, f"{place}/model.sdf"))), None)
            if found is not None:
                return found
        raise node.error(
            f"includes {uri!r}, which is not in the model's directory and declared packages; declare packages=[...]"
        )

    def _add(
        self, out: Node, model: Node, posed: Node, prefix: str, above: Resolve, path: tuple[Path, ...], static: bool
    ) -> None:
        """Put the parts of a model into another, under names with a prefix."""
        if prefix.count("::") > DEEPEST:
            raise model.error(f"is nested more than {DEEPEST} deep; nest less")
        static = child_truth(model, "static") or static
        if prefix:
            out.children.append(self._model_frame(model, posed, prefix, above))
        else:
            out.attrib |= {k: v for k, v in posed.attrib.items() if k == "placement_frame"}
            out.children += [n for n in posed if n.tag == "pose"]
            out.children += [n for n in model if n.tag in LOOP_TAGS or n.tag == "static"]
        inner = _names_in(prefix)
        if static and prefix and not model.all("joint"):
            self.static |= {prefix + link.attribute("name") for link in model.all("link")}
        for part in model:
            if part.tag in PARTS:
                out.children.append(self._renamed(part, prefix, inner))
            elif part.tag in ("model", "include"):
                nested, pose, files = self._opened(part, path)
                self._add(out, nested, pose, self._prefix(prefix, nested), inner, files, static)
            elif part.tag in LOOP_TAGS and prefix:
                raise part.error("stands in a nested model; write it in the outermost one")

    def _model_frame(self, model: Node, posed: Node, prefix: str, above: Resolve) -> Node:
        """The frame that stands for a nested model."""
        frame = Node("frame", {"name": prefix + MODEL_FRAME}, posed.file, posed.line)
        frame.children = [self._renamed(n, "", above) for n in posed if n.tag == "pose"]
        frame.attrib["attached_to"] = above(MODEL_FRAME)
        placed = posed.first("placement_frame")
        at = (placed.text if placed is not None else "") or model.get("placement_frame")
        if at:
            frame.attrib["placement_frame"] = prefix + at
        return frame

    def _renamed(self, node: Node, prefix: str, resolve: Resolve, in_joint: bool = False) -> Node:
        """A copy of a part, its own name with a prefix and the names it refers to resolved."""
        self.count += 1
        if self.count > self.limits.elements:
            raise node.error(f"brings the world above {self.limits.elements} elements; raise limits")
        out = Node(node.tag, dict(node.attrib), node.file, node.line)
        in_joint = in_joint or node.tag.endswith("joint")
        out.text = resolve(node.text) if in_joint and node.tag in NAMED_ENDS and node.text else node.text
        for key in REFERENCES:
            if out.attrib.get(key):
                out.attrib[key] = resolve(out.attrib[key])
        if in_joint and node.tag.endswith("mimic") and node.get("joint"):
            out.attrib["joint"] = resolve(out.attrib["joint"])
        if node.tag in PARTS and prefix:
            out.attrib["name"] = prefix + node.attribute("name")
        for child in node:
            out.children.append(self._renamed(child, "", resolve, in_joint))
        if prefix and node.tag in ("link", "frame") and not node.get("attached_to"):
            _relative_to(out, resolve(MODEL_FRAME))
        return out


def _relative_to(part: Node, frame: str) -> None:
    """Give a part a pose in a frame, where it does not say another."""
    pose = part.first("pose")
    if pose is None:
        pose = Node("pose", {}, part.file, part.line)
        part.children.append(pose)
    if not (pose.get("relative_to") or pose.get("frame")):
        pose.attrib["relative_to"] = frame


def _same(name: str) -> str:
    return name


def _names_in(prefix: str) -> Resolve:
    """How names in a model are found: the world's is the world's, others are its own."""
    return lambda name: name if name == WORLD or not prefix else prefix + name


def _world_names(alone: str, out: Node) -> Resolve:
    """How names in a world are found: of models, and of parts in them."""
    known = {part.get("name") for part in out}

    def resolve(name: str) -> str:
        name = name.removeprefix(f"{alone}::") if alone else name
        if alone and name == alone:
            return MODEL_FRAME
        return f"{name}::{MODEL_FRAME}" if f"{name}::{MODEL_FRAME}" in known and name not in known else name

    return resolve
