"""The page that leads from the papers to the code names only what exists, and leaves nothing out."""

from __future__ import annotations

import ast
import importlib
import re
from functools import cache
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]
PAGE = (REPOSITORY / "docs" / "papers.md").read_text(encoding="utf-8")
NAMES = sorted(set(re.findall(r"`(kinloop\.[\w.]+)`", PAGE)))
TESTS = sorted(set(re.findall(r"`(tests/[\w/]+\.py::\w+)`", PAGE)))


@cache
def functions(path: str) -> set[str]:
    tree = ast.parse((REPOSITORY / path).read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def resolve(name: str) -> object:
    """What a dotted name stands for: a module, or something in one."""
    parts = name.split(".")
    for depth in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:depth]))
        except ModuleNotFoundError:
            continue
        for part in parts[depth:]:
            found = getattr(found, part)
        return found
    raise AssertionError(name)


def test_what_the_page_names_exists():
    assert len(NAMES) > 80
    for name in NAMES:
        resolve(name)


@pytest.mark.parametrize("named", TESTS)
def test_the_tests_it_names_exist(named):
    path, function = named.split("::")
    assert function in functions(path)


def section(key: str) -> str:
    return re.search(rf"^## {key}: .*?(?=^## )", PAGE, re.MULTILINE | re.DOTALL)[0]


def covered(text: str) -> set[int]:
    """Numbers of all equations that a section names, ranges counted out."""
    found = set()
    for cell in re.findall(r"^\| ([^|]*\(\d+\)[^|]*) \|", text, re.MULTILINE):
        for first, last in re.findall(r"\((\d+)\)(?:-\((\d+)\))?", cell):
            found |= set(range(int(first), int(last or first) + 1))
    return found


@pytest.mark.parametrize(
    "key, equations", [("Chignoli2023", 67), ("Chignoli2023b", 17), ("Sathya2023", 68), ("Jain2009", 20)]
)
def test_every_equation_of_a_paper_is_in_its_section(key, equations):
    assert covered(section(key)) == set(range(1, equations + 1))


@pytest.mark.parametrize(
    "key, figures, tables", [("Chignoli2023", 14, 4), ("Chignoli2023b", 3, 1), ("Sathya2023", 4, 2)]
)
def test_every_figure_and_table_of_a_paper_is_in_its_section(key, figures, tables):
    text = section(key)
    named = {int(n) for listed in re.findall(r"Figures? ([\d\w, and-]+)", text) for n in re.findall(r"\d+", listed)}
    assert set(range(1, figures + 1)) <= named
    assert all(re.search(rf"Tables? {number}\b", text) for number in ["I", "II", "III", "IV"][:tables])
