"""XML read safely: no DTD, no entities, capped size, depth and count; every element knows its line."""

from __future__ import annotations

import io
from collections.abc import Iterator
from xml.sax import SAXException, SAXParseException

from defusedxml.common import DefusedXmlException
from defusedxml.expatreader import DefusedExpatParser

from kinloop.io.shared.file_errors import Blame, ModelFileError, Where
from kinloop.io.shared.reading_options import Limits


class Node:
    """An element: tag as written (prefixes included), attributes, children, text, and where it stands."""

    __slots__ = ("attrib", "children", "file", "line", "tag", "text")

    def __init__(self, tag: str, attrib: dict[str, str], file: str, line: int) -> None:
        self.tag, self.attrib, self.file, self.line = tag, attrib, file, line
        self.children: list[Node] = []
        self.text = ""

    def __iter__(self) -> Iterator[Node]:
        return iter(self.children)

    def get(self, name: str, default: str | None = None) -> str | None:
        return self.attrib.get(name, default)

    def all(self, tag: str) -> list[Node]:
        return [c for c in self.children if c.tag == tag]

    def first(self, tag: str) -> Node | None:
        for child in self.children:
            if child.tag == tag:
                return child
        return None

    def walk(self) -> Iterator[Node]:
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            if node.children:
                waiting.extend(reversed(node.children))

    @property
    def where(self) -> Where:
        name = self.attrib.get("name")
        return Where(self.file, self.line, f"<{self.tag} name={name!r}>" if name is not None else f"<{self.tag}>")

    def error(self, reason: str) -> ModelFileError:
        return self.where.error(reason)

    def blamed(self) -> Blame:
        """As `Where.blamed`."""
        return Blame(self)

    def need(self, tag: str) -> Node:
        """The child `tag`, which must be there."""
        found = self.first(tag)
        if found is None:
            raise self.error(f"has no <{tag}>; add one")
        return found

    def attribute(self, name: str) -> str:
        """The attribute `name`, which must be there and not be empty."""
        value = self.attrib.get(name)
        if value is None or not value.strip():
            raise self.error(f'has no attribute {name!r}; add {name}="..."')
        return value


class _Grower(DefusedExpatParser):  # type: ignore[misc]  # defusedxml has no types
    """Builds the tree of nodes, counting as it goes.

    It takes elements as expat has them: wrapping names and attributes for SAX takes longer than reading them.
    """

    def __init__(self, file: str, limits: Limits, size: int) -> None:
        super().__init__(bufsize=size, forbid_dtd=True, forbid_entities=True, forbid_external=True)
        self.file, self.count = file, 0
        self.most, self.widest, self.deepest = limits.elements, limits.attributes, limits.depth
        self.root: Node | None = None
        self.open: list[Node] = []
        self.texts: list[str] = []
        self.marks: list[int] = []
        """Where the texts of each open element begin; those of closed ones are gone."""

    def reset(self) -> None:
        super().reset()
        self._parser.CharacterDataHandler = self.texts.append
        self._parser.buffer_text = True  # in one piece, not line by line

    def start_element(self, name: str, attributes: dict[str, str]) -> None:
        opened = self.open
        node, depth = Node(name, attributes, self.file, self._parser.CurrentLineNumber), len(opened)
        self.count = count = self.count + 1
        if count > self.most or len(attributes) > self.widest or depth >= self.deepest:
            raise self._beyond(node, depth)
        if depth:
            opened[-1].children.append(node)
        elif self.root is None:
            self.root = node
        opened.append(node)
        self.marks.append(len(self.texts))

    def _beyond(self, node: Node, depth: int) -> ModelFileError:
        """The error about an element that is one too many, too wide or too deep."""
        if self.count > self.most:
            return node.error(f"is element number {self.count}; a model may have {self.most} elements")
        if len(node.attrib) > self.widest:
            return node.error(f"has {len(node.attrib)} attributes; an element may have {self.widest}")
        return node.error(f"is nested {depth + 1} deep; a model may nest {self.deepest} elements")

    def end_element(self, name: str) -> None:
        node, mark, texts = self.open.pop(), self.marks.pop(), self.texts
        if len(texts) > mark:
            node.text = "".join(texts[mark:]).strip()
            del texts[mark:]


def parse_xml(data: bytes, file: str, limits: Limits) -> Node:
    """The root element of an XML document, or a `ModelFileError` with the line that breaks it.

    Comments that hold `--`, which XML forbids and many programs write and read, are left out.
    """
    try:
        return _parsed(data, file, limits)
    except ModelFileError:
        insides = (data[begin + 4 : end] for begin, end in _comments(data))
        if not any(b"--" in inside or inside.endswith(b"-") for inside in insides):
            raise
    return _parsed(without_comments(data), file, limits)


def without_comments(data: bytes) -> bytes:
    """The document without comments, its lines as they are."""
    out, at = [], 0
    for begin, end in _comments(data):
        out += [data[at:begin], b"\n" * data.count(b"\n", begin, end)]
        at = end + 3
    return b"".join([*out, data[at:]])


def _comments(data: bytes) -> Iterator[tuple[int, int]]:
    """Where comments begin and where their ends do, in time that grows with the length, however many stay open."""
    at = 0
    while (begin := data.find(b"<!--", at)) >= 0 and (end := data.find(b"-->", begin + 4)) >= 0:
        yield begin, end
        at = end + 3


def _parsed(data: bytes, file: str, limits: Limits) -> Node:
    whole = len(data) + 1  # read in one piece: tokens cut by chunks would be scanned again and again
    parser = _Grower(file, limits, whole)
    try:
        parser.parse(io.BytesIO(data))
    except SAXParseException as error:
        raise Where(file, error.getLineNumber() or 1).error(f"is not well-formed XML ({error.getMessage()})") from None
    except DefusedXmlException as error:
        line = parser.getLineNumber() or 1
        kind = type(error).__name__
        raise Where(file, line, "<!DOCTYPE>").error(
            f"declares a document type or entities ({kind}); model files may not, remove the declaration"
        ) from None
    except (SAXException, LookupError, ValueError) as error:
        if isinstance(error, ModelFileError):
            raise
        raise Where(file, parser.getLineNumber() or 1).error(f"is not readable XML ({error})") from None
    if parser.root is None:
        raise Where(file).error("holds no element; give a model file")
    return parser.root
