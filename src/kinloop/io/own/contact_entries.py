"""Surfaces, contact rules and tables of numbers in kinloop's own format, written and read."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, TypeVar

import numpy as np

from kinloop.errors import ModelError
from kinloop.io.own.json_values import Entry, Json, entries, flag, floats, number, text
from kinloop.io.shared.reading_options import Limits
from kinloop.model import ContactPair, ContactRules, ExcludedLinks, Surface

MOST_NUMBERS = 1_000_000
"""Numbers of a table."""

Part = TypeVar("Part", Surface, ContactPair)


def plain_fields(part: Surface | ContactPair) -> Entry:
    """The fields of a surface or pair as texts, numbers and lists of numbers."""
    values = {f.name: getattr(part, f.name) for f in fields(part)}
    return {key: list(x) if isinstance(x, tuple) else x for key, x in values.items()}


def contact_rules_entry(rules: ContactRules) -> Entry:
    return {
        "exclude": [list(links) for links in rules.exclude],
        "pairs": [plain_fields(pair) for pair in rules.pairs],
        "filter_parents": rules.filter_parents,
        "enabled": rules.enabled,
    }


def table_text(x: np.ndarray | None) -> str | None:
    """A table of numbers as one text, rows apart by semicolons: lists of numbers would take a line for each."""
    return None if x is None else "; ".join(" ".join(map(repr, row)) for row in x.tolist())


def table(x: Json, what: str) -> list[list[float]] | None:
    """The table of numbers that `table_text` wrote."""
    if x is None:
        return None
    if text(x, what).count(" ") > MOST_NUMBERS:
        raise ModelError(f"{what} has more than {MOST_NUMBERS} numbers; use fewer")
    rows = [[float(word) for word in row.split()] for row in x.split(";")]
    if len({len(row) for row in rows}) != 1:
        raise ModelError(f"{what} has rows of different lengths; write as many numbers in each")
    return rows


def read_surface(x: Json) -> Surface | None:
    return None if x is None else _part(Surface, x, "surface")


def read_contact_rules(x: Json, limits: Limits) -> ContactRules:
    """The rules; those that are not given are as by default."""
    if not isinstance(x, dict):
        raise ModelError("must be an object with named fields")
    exclude, pairs = x.get("exclude", []), entries(x.get("pairs", []), "pairs")
    if not isinstance(exclude, list) or not all(isinstance(links, list) and len(links) == 2 for links in exclude):
        raise ModelError("exclude must be a list of lists of two links")
    if len(exclude) + len(pairs) > limits.elements:
        raise ModelError(f"has {len(exclude) + len(pairs)} entries; limits allow {limits.elements}")
    return ContactRules(
        tuple(ExcludedLinks(text(a, "exclude"), text(b, "exclude")) for a, b in exclude),
        tuple(_part(ContactPair, pair, "pair") for pair in pairs),
        flag(x.get("filter_parents", True), "filter_parents"), flag(x.get("enabled", True), "enabled"),
    )  # fmt: skip


def _part(kind: type[Part], x: Json, what: str) -> Part:
    """A surface or pair of the fields that are given."""
    if not isinstance(x, dict):
        raise ModelError(f"{what} is {x!r}; give an object with named fields")
    known = {f.name: f.default for f in fields(kind)}
    given: dict[str, Any] = {}
    for key, value in x.items():
        if key not in known:
            raise ModelError(f"{what} has the field {key!r}; it has {', '.join(known)}")
        if key in ("name", "shape1", "shape2"):
            given[key] = text(value, key)
        else:
            given[key] = floats(value, key) if isinstance(known[key], tuple) else number(value, key)
    return kind(**given)
