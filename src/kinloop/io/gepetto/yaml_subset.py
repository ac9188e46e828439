"""The little of YAML that Gepetto's files use.

`key: value` lines with quoted or plain words and nested lists, in brackets or as `-` lines.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypeAlias, Union

from kinloop.io.shared.file_errors import Where

YamlValue: TypeAlias = Union[str, "list[YamlValue]"]
"""A word or a list of values."""
DEEPEST = 4
"""How deep lists may nest."""
_SPACE = re.compile(r"\s*")
_TOKEN = re.compile(r"""\s*(\[|\]|,|'(?:[^'\\]|'')*'|"[^"\\]*"|[^\[\],'"\s#][^\[\],#]*)\s*""")


def parse_yaml(text: str, keys: Sequence[str], where: Where) -> dict[str, tuple[YamlValue, Where]]:
    """Those of `keys` that a document has, with their values (words or nested lists) and places."""
    out: dict[str, tuple[YamlValue, Where]] = {}
    entries: list[tuple[str, int, list[str]]] = []
    for number, line in enumerate(text.splitlines(), 1):
        key = re.match(r"([A-Za-z_]\w*)\s*:(?:\s|$)", line)
        if key:
            entries.append((key[1], number, [line[key.end() :]]))
        elif entries and line.strip() and not line.lstrip().startswith("#") and line.strip() not in ("---", "..."):
            entries[-1][2].append(line)
    for key, number, lines in entries:
        if key not in keys:
            continue
        place = Where(where.file, number, key)
        if key in out:
            raise place.error("is given twice; give it once")
        out[key] = _value(lines, place), place
    return out


def _value(lines: list[str], where: Where) -> YamlValue:
    dashes = [line for line in lines if line.lstrip().startswith("- ")]
    if dashes and not lines[0].strip():
        return [_flow(line.lstrip()[2:].replace("- ", "", 1) if line.lstrip()[2:].startswith("- ") else
                      line.lstrip()[2:], where) for line in dashes]  # fmt: skip
    return _flow(" ".join(lines), where)


def _blank(text: str, at: int) -> int:
    """The place of the first character from `at` on that is not blank."""
    found = _SPACE.match(text, at)
    return at if found is None else found.end()


def _flow(text: str, where: Where) -> YamlValue:
    """A word or a bracketed list, by a stack of open lists."""
    at = _blank(text, 0)
    stack: list[list[YamlValue]] = [[]]
    while at < len(text) and text[at] != "#":
        token = _TOKEN.match(text, at)
        if token is None:
            raise where.error(f"cannot be read near {text[at : at + 20]!r}; write lists of quoted names")
        word, at = token[1].strip(), token.end()
        if word == "[":
            if len(stack) > DEEPEST:
                raise where.error(f"nests lists more than {DEEPEST} deep; write a list of pairs")
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
