"""Structure-aware mutations of model files: what typing mistakes, broken exports and attackers do to them."""

from __future__ import annotations

import copy
import random
import xml.etree.ElementTree as ET
from collections.abc import Callable

ET.register_namespace("drake", "http://drake.mit.edu")

VALUES = [
    "", " ", "nan", "inf", "-inf", "1e400", "-1", "0", "1e300", "-1e9", "abc", "1 2", "0 0 0", "1 nan 0", "1,2,3",
    "1_0 0 0", "0x10", "true", "False", "world", "../../etc/passwd", "/etc/passwd", "package://../../x", "\u00e9\u4e2d",
    "a" * 5000, "1 " * 4000, "${x}", "&lt;", "%s%n", "'; drop", "null", "1e-320", "-0.0", "2147483648",
    "99999999999999999999",
]  # fmt: skip
NUMBERS = ["0", "-1", "1e-320", "1e-60", "1e9", "1e60", "-1e60", "1e300", "1e400", "nan", "-inf", "2147483648"]
TAGS = [
    "link", "joint", "loop", "coupling", "loop_joint", "mimic", "inertia", "origin", "axis", "body", "geom", "equality",
    "connect", "include", "attach", "mesh", "weird_loop", "constraint", "gazebo", "model", "replicate", "freejoint",
    "pose",
]  # fmt: skip


def _nodes(root: ET.Element) -> list[ET.Element]:
    return list(root.iter())


def _parents(root: ET.Element) -> dict[ET.Element, ET.Element]:
    return {child: parent for parent in root.iter() for child in parent}


def change_value(root: ET.Element, rng: random.Random) -> None:
    nodes = [n for n in _nodes(root) if n.attrib or (n.text and n.text.strip())]
    node = rng.choice(nodes)
    value = rng.choice(VALUES) if rng.random() < 0.7 else rng.choice(_values(root) or [""])
    if node.attrib and (rng.random() < 0.8 or not node.text):
        node.set(rng.choice(list(node.attrib)), value)
    else:
        node.text = value


def _values(root: ET.Element) -> list[str]:
    return [v for n in root.iter() for v in n.attrib.values()] + [
        n.text for n in root.iter() if n.text and n.text.strip()
    ]


def change_digit(root: ET.Element, rng: random.Random) -> None:
    nodes = [n for n in _nodes(root) if any(c.isdigit() for v in n.attrib.values() for c in v)]
    if nodes:
        node = rng.choice(nodes)
        key = rng.choice([k for k, v in node.attrib.items() if any(c.isdigit() for c in v)])
        text = list(node.attrib[key])
        text[rng.randrange(len(text))] = rng.choice("0123456789.-eE x")
        node.set(key, "".join(text))


def change_number(root: ET.Element, rng: random.Random) -> None:
    """One number among several, which leaves a list as long as it must be."""
    lists = [(n, k) for n in _nodes(root) for k, v in n.attrib.items() if _is_numbers(v)]
    texts = [n for n in _nodes(root) if n.text and _is_numbers(n.text)]
    if not lists and not texts:
        return
    chosen = rng.randrange(len(lists) + len(texts))
    node, key = lists[chosen] if chosen < len(lists) else (texts[chosen - len(lists)], None)
    numbers = (node.attrib[key] if key else node.text).split()
    numbers[rng.randrange(len(numbers))] = rng.choice(NUMBERS)
    if key:
        node.set(key, " ".join(numbers))
    else:
        node.text = " ".join(numbers)


def _is_numbers(text: str) -> bool:
    try:
        return bool([float(x) for x in text.split()])
    except ValueError:
        return False


def drop_attribute(root: ET.Element, rng: random.Random) -> None:
    nodes = [n for n in _nodes(root) if n.attrib]
    node = rng.choice(nodes)
    node.attrib.pop(rng.choice(list(node.attrib)))


def rename_attribute(root: ET.Element, rng: random.Random) -> None:
    nodes = [n for n in _nodes(root) if n.attrib]
    node = rng.choice(nodes)
    key = rng.choice(list(node.attrib))
    node.set(rng.choice(["name", "type", "link", "value", key + "x"]), node.attrib.pop(key))


def drop_element(root: ET.Element, rng: random.Random) -> None:
    parents = _parents(root)
    if parents:
        node = rng.choice(list(parents))
        parents[node].remove(node)


def duplicate_element(root: ET.Element, rng: random.Random) -> None:
    parents = _parents(root)
    if parents:
        node = rng.choice(list(parents))
        parents[node].append(copy.deepcopy(node))


def move_element(root: ET.Element, rng: random.Random) -> None:
    parents = _parents(root)
    if parents:
        node = rng.choice(list(parents))
        inside = set(node.iter())
        parents[node].remove(node)
        rng.choice([n for n in root.iter() if n not in inside]).append(node)


def rename_element(root: ET.Element, rng: random.Random) -> None:
    rng.choice(_nodes(root)).tag = rng.choice(TAGS)


def swap_names(root: ET.Element, rng: random.Random) -> None:
    nodes = [n for n in _nodes(root) if any(k in n.attrib for k in ("name", "link", "joint", "body1", "body2"))]
    if len(nodes) > 1:
        a, b = rng.sample(nodes, 2)
        ka, kb = (rng.choice([k for k in n.attrib if k in ("name", "link", "joint", "body1", "body2")]) for n in (a, b))
        a.attrib[ka], b.attrib[kb] = b.attrib[kb], a.attrib[ka]


def nest(root: ET.Element, rng: random.Random) -> None:
    node = rng.choice(_nodes(root))
    for _ in range(rng.choice([3, 300])):
        node = ET.SubElement(node, rng.choice(TAGS))


STRUCTURAL: list[Callable] = [
    change_value, change_value, change_value, change_digit, change_digit, change_number, change_number,
    drop_attribute, rename_attribute, drop_element, duplicate_element, move_element, rename_element, swap_names, nest,
]  # fmt: skip


def truncate(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(len(data))]


def flip(data: bytes, rng: random.Random) -> bytes:
    out = bytearray(data)
    for _ in range(rng.choice([1, 1, 5])):
        out[rng.randrange(len(out))] = rng.randrange(256)
    return bytes(out)


def insert(data: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(data))
    junk = [
        b"<!DOCTYPE x>",
        b"<!ENTITY a 'b'>",
        b"&a;",
        b"<![CDATA[x]]>",
        b"<?php x?>",
        b"\x00",
        b"\xff\xfe",
        b"<!--",
        b"]]>",
    ]
    return data[:at] + rng.choice(junk) + data[at:]


def recode(data: bytes, rng: random.Random) -> bytes:
    text = data.decode("utf-8", errors="replace")
    return text.encode(rng.choice(["utf-16", "utf-16-le", "latin-1", "utf-32", "cp1252"]), errors="replace")


BYTES: list[Callable] = [truncate, flip, insert, recode]


def mutate(data: bytes, seed: int) -> bytes:
    """One mutation (or a few) of a valid XML document, the same for the same seed."""
    rng = random.Random(seed)
    if rng.random() < 0.2:
        return rng.choice(BYTES)(data, rng)
    root = ET.fromstring(data)
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        rng.choice(STRUCTURAL)(root, rng)
    return ET.tostring(root)
