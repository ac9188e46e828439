"""Files that an MJCF document brings in, read into memory for MuJoCo, which opens none itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from kinloop.io.shared.file_errors import Where
from kinloop.io.shared.reading_options import Limits
from kinloop.io.shared.safe_xml import Node, parse_xml
from kinloop.io.shared.whole_files import read_bytes

if TYPE_CHECKING:
    from kinloop.io.mjcf.safe_source import Source

DEEPEST = 20
"""How deep files may include one another, or bring in models."""


@dataclass
class BroughtFiles:
    """The bytes of meshes and height fields, and the text of other models, under names of ours."""

    limits: Limits
    assets: dict[str, bytes] = field(default_factory=dict)
    models: dict[str, bytes] = field(default_factory=dict)
    sources: dict[str, tuple[Source, Where]] = field(default_factory=dict)
    """Of other models: their cleaned documents and where these begin."""
    asset_bytes: int = 0
    document_bytes: int = 0

    def read(self, path: Path, node: Node) -> bytes:
        """The bytes of a file that an element names, within what all of them may have together."""
        data = read_bytes(path, self.limits.mesh_bytes, node.where)
        self.asset_bytes += len(data)
        if self.asset_bytes > self.limits.mesh_bytes:
            raise node.error(f"brings the files of the model above {self.limits.mesh_bytes} bytes; raise limits")
        return data

    def document(self, path: Path, node: Node) -> Node:
        """The root of an MJCF document that an element names."""
        data = read_bytes(path, self.limits.file_bytes, node.where)
        self.document_bytes += len(data)
        if self.document_bytes > self.limits.file_bytes:
            raise node.error(f"brings included files and models above {self.limits.file_bytes} bytes; raise limits")
        return parse_xml(data, str(path), self.limits)

    def asset(self, tag: str, ending: str, data: bytes) -> str:
        """The name of ours for the bytes of a file."""
        key = f"{tag}{len(self.assets)}{ending}"
        self.assets[key] = data
        return key

    def model(self, text: str) -> str:
        """The name of ours for another model."""
        key = f"model{len(self.models)}.xml"
        self.models[key] = text.encode()
        return key
