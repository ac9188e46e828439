"""MJCF made safe for MuJoCo's compiler: files read by us inside the allowed roots, the rest left out.

Included files are spliced in, mesh files are read into memory under plain names, and what dynamics does not
need (textures, cameras, memory sizes, ...) is removed, so that MuJoCo opens no file and allocates nothing
on a file's word. Other models, whose bodies are attached, are cleaned in the same way. Every line of the result knows
the element it came from.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from xml.sax.saxutils import quoteattr

from kinloop.errors import unknown
from kinloop.io.mjcf.brought_files import DEEPEST, BroughtFiles
from kinloop.io.mjcf.heightfield_files import safe_heightfield
from kinloop.io.mjcf.mjcf_bounds import HEIGHTS, Bounds
from kinloop.io.shared.file_errors import ModelFileError, Notes, Where
from kinloop.io.shared.paths import Roots, stem
from kinloop.io.shared.safe_xml import Node

SILENT = {"size", "visual", "statistic", "custom", "texture", "skin", "camera", "light", "layer", "user"}
"""Elements without a say in the dynamics."""
SECTIONS = ("equality", "actuator", "tendon", "sensor")
"""Sections whose elements, of whatever tag, are one kind of part."""
DEFAULT_NAME = "MuJoCo Model"
"""MuJoCo's name of a model that has none."""
UNMODELLED = {"extension", "deformable", "composite", "flexcomp", "plugin"}
"""Elements kinloop has no counterpart for: left out with a warning."""
SENSORS = {
    "accelerometer", "velocimeter", "gyro", "magnetometer", "jointpos", "jointvel", "jointactuatorfrc", "ballquat",
    "ballangvel", "tendonpos", "tendonvel", "actuatorpos", "actuatorvel", "actuatorfrc", "framepos", "framequat",
    "framexaxis", "frameyaxis", "framezaxis", "framelinvel", "frameangvel", "framelinacc", "frameangacc", "touch",
    "force", "torque", "contact", "clock", "subtreecom", "subtreelinvel", "subtreeangmom",
}  # fmt: skip
"""Sensors that are modelled; others, those of cameras, and those with a delay are left out with a warning."""
NET_FORCE = {"data": "force", "reduce": "netforce", "site": None, "subtree1": None, "subtree2": None}
"""What a sensor of contacts must say to be modelled: the sum of all forces between two bodies or geoms."""
MOST_SAMPLES = 1000
"""Samples that MuJoCo may keep of an actuator with a delay."""
DELAYS = ("delay", "interval", "nsample", "interp")
_NOT_FINITE = re.compile(r"(?:^|\s)[+-]?(?:nan|inf|infinity)(?=\s|$)", re.IGNORECASE)
_DROPPED_ATTRIBUTES = {
    "compiler": {"meshdir", "texturedir", "assetdir", "strippath", "discardvisual", "fusestatic", "usethread"},
    "material": {"texture"},
    "model": {"content_type"},
}


@dataclass
class Source:
    """The cleaned document: its lines, the nodes they came from, and the files of its meshes by their names."""

    lines: list[str] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    meshes: dict[str, tuple[str, str]] = field(default_factory=dict)
    named: dict[tuple[str, str], Node] = field(default_factory=dict)
    numbered: dict[str, list[Node]] = field(default_factory=dict)
    """Elements by kind and name, and those of a section (equality, actuator, ...) in their order."""
    attached: bool = False
    """Whether parts of other models are among them."""

    def remember(self, node: Node, parent: str) -> None:
        """Keep the place of an element for errors and warnings about what the compiler makes of it."""
        kind = parent if parent in SECTIONS else node.tag.removeprefix("free")
        if parent in SECTIONS and not self.attached:
            self.numbered.setdefault(kind, []).append(node)
        if node.get("name"):
            self.named.setdefault((kind, node.attrib["name"]), node)

    def attach(self, other: Source, prefix: str) -> None:
        """Keep places and meshes of another model, whose parts get names with a prefix."""
        for (kind, name), node in other.named.items():
            self.named.setdefault((kind, prefix + name), node)
        self.meshes |= {prefix + name: file for name, file in other.meshes.items()}
        self.numbered.clear()  # theirs come between
        self.attached = True

    def text(self) -> str:
        return "\n".join(self.lines)

    def blame(self, message: str, fallback: Where) -> ModelFileError:
        """MuJoCo's complaint at the element of the user's file that it is about."""
        line = re.search(r"line[\s=:]+(\d+)", message)
        where = fallback
        if self.attached and "XML Error" not in message:  # the line may be one of another model; names tell parts
            names = re.findall(r"name '([^']+)'", message)
            found = [node for (_, name), node in self.named.items() if name in names]
            where = found[0].where if found else fallback
        elif line and 1 <= int(line[1]) <= len(self.nodes):
            where = self.nodes[int(line[1]) - 1].where
        message = re.sub(r",?\s*line[\s=:]+\d+|,?\s*column[\s=:]+\d+", "", message)
        return where.error("MuJoCo refuses it: " + " ".join(message.split()))


@dataclass(frozen=True)
class Places:
    """Where the parts of a compiled model stand in the user's files."""

    source: Source
    root: Where

    def of(self, kind: str, name: str, number: int = -1, body: str = "") -> Where:
        """The place of a part by its name, or by its number in its section, or that of the body that carries it.

        Copies have the place of the document.
        """
        node = self.source.named.get((kind, name))
        listed = self.source.numbered.get(kind, [])
        if node is None and 0 <= number < len(listed) and not listed[number].get("name"):
            node = listed[number]
        node = node or self.source.named.get(("body", body))
        where = self.root if node is None else node.where
        return Where(where.file, where.line, f"{kind} {name!r}")


class Cleaner:
    """Walks the document once, splicing, dropping and checking."""

    def __init__(
        self, path: Path, roots: Roots, notes: Notes, files: BroughtFiles, above: tuple[Path, ...] = ()
    ) -> None:
        self.path, self.roots, self.notes, self.files = path, roots, notes, files
        self.above = (*above, path.resolve())
        """The models that brought this one in, and itself."""
        self.source = Source()
        self.included: set[Path] = set()
        self.bounds = Bounds(files.limits)
        self.models: dict[str, Cleaner] = {}
        self.brought: dict[Node, str] = {}
        """Other models by their names, and our names for them by the elements that bring them in."""
        self.folder = {"mesh": "", "strip": ""}
        self.shrunk = False

    def clean(self, root: Node) -> Source:
        spliced = self._splice(root, 0)
        for node in spliced.walk():
            if node.tag == "compiler":
                self.folder["mesh"] = node.get("meshdir") or node.get("assetdir") or self.folder["mesh"]
                self.folder["strip"] = node.get("strippath") or self.folder["strip"]
        self.shrunk = any(n.tag in ("composite", "flexcomp", "deformable") for n in spliced.walk())
        for node in spliced.walk():
            if node.tag == "model":
                self._bring(node)
        spliced.children.append(self._no_length_ranges(root))
        self._write(spliced, 1)
        self.bounds.check_keys(root)
        return self.source

    def _no_length_ranges(self, root: Node) -> Node:
        """Keeps MuJoCo from simulating muscles, for as long as a file says, to find how long they get."""
        out = Node("compiler", {}, root.file, root.line)
        out.children.append(Node("lengthrange", {"mode": "none"}, root.file, root.line))
        return out

    def _splice(self, node: Node, depth: int) -> Node:
        """The element with included files in place of `<include>`."""
        out = Node(node.tag, node.attrib, node.file, node.line)
        for child in node:
            if child.tag == "include":
                out.children += self._included(child, depth).children
            else:
                out.children.append(self._splice(child, depth))
        return out

    def _included(self, node: Node, depth: int) -> Node:
        real = self._document(node)
        if real in self.included or depth > DEEPEST:
            raise node.error(f"includes {node.get('file')!r} a second time; include a file once")
        self.included.add(real)
        return self._splice(self.files.document(real, node), depth + 1)

    def _document(self, node: Node) -> Path:
        """The path of a document that an element names: beside the main file, or beside the one that names it."""
        name = node.attribute("file")
        candidates = (self.path.parent / name, Path(node.file).parent / name)
        real = next((r for r in map(self.roots.inside, candidates) if r is not None and r.is_file()), None)
        if real is None:
            raise node.error(self._not_here("file", name))
        return real

    def _bring(self, node: Node) -> None:
        """Read and clean another model, for its bodies to be attached."""
        real = self._document(node)
        if real in self.above or len(self.above) > DEEPEST:
            raise node.error(f"brings in {node.get('file')!r} inside itself; leave it out")
        root = self.files.document(real, node)
        if root.tag != "mujoco":
            raise node.error(f"brings in {node.get('file')!r}, whose root is <{root.tag}>; it must be <mujoco>")
        other = Cleaner(real, self.roots, self.notes, self.files, self.above)
        source = other.clean(root)
        self.brought[node] = self.files.model(source.text())
        self.files.sources[self.brought[node]] = source, root.where
        self.models[node.get("name") or root.get("model") or DEFAULT_NAME] = other

    def _attach(self, node: Node, copies: int) -> None:
        """Count the parts of another model that an element attaches, and keep their places."""
        name = node.attribute("model")
        if name not in self.models:
            raise node.error(f"attaches a missing model: {unknown('model', name, self.models)}")
        other = self.models[name]
        self.bounds.add_model(node, other.bounds, copies)
        self.source.attach(other.source, node.get("prefix") or "")

    def _not_here(self, kind: str, name: str) -> str:
        outside = self.roots.escapes(name) or self.roots.inside(self.path.parent / name) is None
        why = "lies outside" if outside else "is not in"
        folder = os.path.dirname(os.path.normpath(self.path.parent / name))
        declare = f"declare packages=[{folder!r}]" if outside else "declare packages=[...]"
        return f"{kind} {name!r} {why} the model's directory and declared packages; {declare}"

    def _write(self, node: Node, copies: int, parent: str = "") -> None:
        """One line per tag; elements that are not taken leave no line."""
        if self._dropped(node) or (parent == "sensor" and self._unfelt(node)):
            return
        self.source.remember(node, parent)
        self.bounds.add(node, copies, parent)
        if node.tag == "attach":
            self._attach(node, copies)
        copies = self.bounds.copies(node, copies)
        attributes = " ".join(f"{key}={quoteattr(value)}" for key, value in self._attributes(node).items())
        if not node.children:
            self._line(f"<{node.tag} {attributes}/>", node)
            return
        self._line(f"<{node.tag} {attributes}>", node)
        for child in node:
            self._write(child, copies, node.tag)
        self._line(f"</{node.tag}>", node)

    def _line(self, text: str, node: Node) -> None:
        self.source.lines.append(text.replace("\n", " "))
        self.source.nodes.append(node)

    def _dropped(self, node: Node) -> bool:
        if node.tag in SILENT or (node.tag == "keyframe" and self.shrunk):
            return True
        if node.tag in UNMODELLED:
            self.notes.warn(node.where, "is not modelled by kinloop; it is left out", dropped=True)
            return True
        return node.tag == "geom" and any(c.tag == "plugin" for c in node)

    def _unfelt(self, node: Node) -> bool:
        """Whether a sensor is of a kind that is left out."""
        unlike = "camera" in (node.get("objtype"), node.get("reftype")) or any(key in node.attrib for key in DELAYS)
        if node.tag == "contact":
            unlike = unlike or any(node.get(key) != value for key, value in NET_FORCE.items())
        if node.tag in SENSORS and not unlike:
            return False
        self.notes.warn(node.where, "is a sensor of a kind that kinloop does not model; it is left out", dropped=True)
        return True

    def _attributes(self, node: Node) -> dict[str, str]:
        out = {k: v for k, v in node.attrib.items() if k not in _DROPPED_ATTRIBUTES.get(node.tag, ())}
        for key, value in out.items():
            if key not in ("name", "class", "childclass") and _NOT_FINITE.search(value):
                raise node.error(f"attribute {key} is {value!r}; give finite numbers")
        if "nsample" in out and (not out["nsample"].strip().isdigit() or int(out["nsample"]) > MOST_SAMPLES):
            raise node.error(
                f"attribute nsample is {out['nsample']!r}; a delay may keep {MOST_SAMPLES} samples at most"
            )
        if "file" in out:
            if node.tag == "model":
                out["file"] = self.brought[node]
            elif node.tag in ("mesh", "hfield"):
                self._asset(node, out)
            else:
                known = "meshes, height fields, models and includes"
                raise node.error(f"refers to file {out['file']!r}; kinloop reads files of {known} only")
        return out

    def _asset(self, node: Node, out: dict[str, str]) -> None:
        """Read the file of a mesh or height field into memory, under a name of ours."""
        name = out["file"]
        if self.folder["strip"] == "true":
            name = Path(name).name
        wanted = str(Path(self.folder["mesh"]) / name)
        # beside this model, in declared directories, or beside the included file that names it
        candidates = (str(self.path.parent / wanted), wanted, str(Path(node.file).parent / name))
        real = next(filter(None, map(self.roots.find, candidates)), None)
        if real is None:
            raise node.error(self._not_here("mesh" if node.tag == "mesh" else "height field", wanted))
        data = self.files.read(real, node)
        out.setdefault("name", stem(name))
        if node.tag == "mesh":
            self.source.meshes[out["name"]] = (name, str(real))
        else:
            with node.blamed():
                data, out["content_type"], count = safe_heightfield(data, HEIGHTS)
            self.bounds.add_heights(node, count)
        out["file"] = self.files.asset(node.tag, real.suffix, data)
