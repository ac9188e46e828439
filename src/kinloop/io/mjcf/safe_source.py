"""MJCF made safe for MuJoCo's compiler: files read by us inside the allowed roots, the rest left out.

Included files are spliced in, mesh files are read into memory under plain names, and what dynamics does not
need (textures, cameras, memory sizes, ...) is removed, so that MuJoCo opens no file and allocates nothing
on a file's word. Every line of the result knows the element it came from.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from xml.sax.saxutils import quoteattr

from kinloop.io.mjcf.mjcf_bounds import Bounds
from kinloop.io.shared.file_errors import ModelFileError, Notes, Where
from kinloop.io.shared.paths import Roots, stem
from kinloop.io.shared.reading_options import Limits
from kinloop.io.shared.safe_xml import Node, parse_xml
from kinloop.io.shared.whole_files import read_bytes

SILENT = {"size", "visual", "statistic", "custom", "texture", "skin", "camera", "light", "layer", "user"}
"""Elements without a say in the dynamics."""
SECTIONS = ("equality", "actuator", "tendon", "sensor")
"""Sections whose elements, of whatever tag, are one kind of part."""
UNMODELLED = {"extension", "deformable", "composite", "flexcomp", "hfield", "plugin"}
"""Elements kinloop has no counterpart for: left out with a warning."""
SENSORS = {
    "accelerometer", "velocimeter", "gyro", "magnetometer", "jointpos", "jointvel", "jointactuatorfrc", "ballquat",
    "ballangvel", "tendonpos", "tendonvel", "actuatorpos", "actuatorvel", "actuatorfrc", "framepos", "framequat",
    "framexaxis", "frameyaxis", "framezaxis", "framelinvel", "frameangvel", "framelinacc", "frameangacc", "clock",
}  # fmt: skip
"""Sensors that are modelled; others, those of cameras, and those with a delay are left out with a warning."""
MOST_SAMPLES = 1000
"""Samples that MuJoCo may keep of an actuator with a delay."""
DELAYS = ("delay", "interval", "nsample", "interp")
REFUSED = {"attach": "bodies of another model", "model": "another model"}
_NOT_FINITE = re.compile(r"(?:^|\s)[+-]?(?:nan|inf|infinity)(?=\s|$)", re.IGNORECASE)
_DROPPED_ATTRIBUTES = {
    "compiler": {"meshdir", "texturedir", "assetdir", "strippath", "discardvisual", "fusestatic", "usethread"},
    "material": {"texture"},
}


@dataclass
class Source:
    """The cleaned document: its lines, the nodes they came from, and the mesh files it needs."""

    lines: list[str] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    assets: dict[str, bytes] = field(default_factory=dict)
    meshes: dict[str, tuple[str, str]] = field(default_factory=dict)
    named: dict[tuple[str, str], Node] = field(default_factory=dict)
    numbered: dict[str, list[Node]] = field(default_factory=dict)
    """Elements by kind and name, and those of a section (equality, actuator, ...) in their order."""

    def remember(self, node: Node, parent: str) -> None:
        """Keep the place of an element for errors and warnings about what the compiler makes of it."""
        kind = parent if parent in SECTIONS else node.tag.removeprefix("free")
        if parent in SECTIONS:
            self.numbered.setdefault(kind, []).append(node)
        if node.get("name"):
            self.named.setdefault((kind, node.attrib["name"]), node)

    def text(self) -> str:
        return "\n".join(self.lines)

    def blame(self, message: str, fallback: Where) -> ModelFileError:
        """MuJoCo's complaint at the element of the user's file that it is about."""
        line = re.search(r"line[\s=:]+(\d+)", message)
        where = fallback
        if line and 1 <= int(line[1]) <= len(self.nodes):
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

    def __init__(self, path: Path, roots: Roots, limits: Limits, notes: Notes) -> None:
        self.path, self.roots, self.limits, self.notes = path, roots, limits, notes
        self.source = Source()
        self.included: set[Path] = set()
        self.bounds = Bounds(limits)
        self.bytes = 0
        self.folder = {"mesh": "", "strip": ""}
        self.shrunk = False

    def clean(self, root: Node) -> Source:
        spliced = self._splice(root, 0)
        for node in spliced.walk():
            if node.tag == "compiler":
                self.folder["mesh"] = node.get("meshdir") or node.get("assetdir") or self.folder["mesh"]
                self.folder["strip"] = node.get("strippath") or self.folder["strip"]
        self.shrunk = any(n.tag in ("composite", "flexcomp", "deformable") for n in spliced.walk())
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
        name = node.attribute("file")
        candidates = (self.path.parent / name, Path(node.file).parent / name)
        real = next((r for r in map(self.roots.inside, candidates) if r is not None and r.is_file()), None)
        if real is None:
            raise node.error(self._not_here("file", name))
        if real in self.included or depth > 20:
            raise node.error(f"includes {name!r} a second time; include a file once")
        self.included.add(real)
        data = read_bytes(real, self.limits.file_bytes, node.where)
        self._take(len(data), node)
        return self._splice(parse_xml(data, str(real), self.limits), depth + 1)

    def _not_here(self, kind: str, name: str) -> str:
        outside = self.roots.escapes(name) or any(self.roots.inside(p) is None for p in [self.path.parent / name])
        why = "lies outside" if outside else "is not in"
        return f"{kind} {name!r} {why} the model's directory and declared packages; declare packages=[...]"

    def _take(self, size: int, node: Node) -> None:
        self.bytes += size
        if self.bytes > self.limits.mesh_bytes:
            raise node.error(f"brings the files of the model above {self.limits.mesh_bytes} bytes; raise limits")

    def _write(self, node: Node, copies: int, parent: str = "") -> None:
        """One line per tag; elements that are not taken leave no line."""
        if self._dropped(node) or (parent == "sensor" and self._unfelt(node)):
            return
        self.source.remember(node, parent)
        self.bounds.add(node, copies)
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
        if node.tag in REFUSED:
            raise node.error(f"brings in {REFUSED[node.tag]}, which kinloop does not read; write the bodies out")
        if node.tag in UNMODELLED or (node.tag == "geom" and node.get("hfield")):
            self.notes.warn(node.where, "is not modelled by kinloop; it is left out", dropped=True)
            return True
        return node.tag == "geom" and any(c.tag == "plugin" for c in node)

    def _unfelt(self, node: Node) -> bool:
        """Whether a sensor is of a kind that is left out."""
        camera = "camera" in (node.get("objtype"), node.get("reftype"))
        if node.tag in SENSORS and not camera and not any(key in node.attrib for key in DELAYS):
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
            if node.tag != "mesh":
                raise node.error(f"refers to file {out['file']!r}; kinloop reads files of meshes and includes only")
            self._mesh(node, out)
        return out

    def _mesh(self, node: Node, out: dict[str, str]) -> None:
        """Read a mesh file into memory, under a name of ours."""
        name = out["file"]
        if self.folder["strip"] == "true":
            name = Path(name).name
        real = self.roots.find(str(Path(self.folder["mesh"]) / name))
        if real is None:
            raise node.error(self._not_here("mesh", str(Path(self.folder["mesh"]) / name)))
        key = f"mesh{len(self.source.assets)}{real.suffix}"
        data = read_bytes(real, self.limits.mesh_bytes, node.where)
        self._take(len(data), node)
        self.source.assets[key] = data
        out.setdefault("name", stem(name))
        out["file"] = key
        self.source.meshes[out["name"]] = (name, str(real))
