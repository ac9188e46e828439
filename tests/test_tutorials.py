"""Tutorials run, check themselves, and their pages and notebooks show what they printed."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tools import make_tutorials as tutorials

REPOSITORY = Path(__file__).resolve().parents[1]
SLOW: set[str] = set()
"""Tutorials that take more than a few seconds: `pytest -m slow tests/test_tutorials.py`."""
NEEDS = {
    "09_whole_body_control": ("qpsolvers", "daqp"),
    "10_environments_and_a_learner": ("gymnasium",),
    "12_from_elsewhere": ("pinocchio", "mujoco"),
}


def stored(name: str) -> list[dict]:
    return json.loads((tutorials.PAGES / f"{name}.ipynb").read_text(encoding="utf-8"))["cells"]


def printed(cell: dict) -> str:
    return "".join(line for o in cell["outputs"] if o["output_type"] == "stream" for line in o["text"])


def drawn(cell: dict) -> int:
    return sum(o["output_type"] == "display_data" for o in cell["outputs"])


def marked(name: str):
    return pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else [])


@pytest.mark.parametrize("name", [marked(name) for name in tutorials.names()])
def test_a_notebook_prints_what_it_shows(name, tmp_path, monkeypatch):
    for module in NEEDS.get(name, ()):
        pytest.importorskip(module)
    monkeypatch.chdir(tmp_path)
    code = [cell for cell in stored(name) if cell["cell_type"] == "code"]
    for cell, output in zip(code, tutorials.run(["".join(cell["source"]) for cell in code], name), strict=True):
        assert output.text == printed(cell), "".join(cell["source"])
        assert len(output.figures) == drawn(cell)


@pytest.mark.slow
@pytest.mark.parametrize("name", tutorials.names())
def test_a_notebook_prints_the_same_in_jupyter(name, tmp_path):
    """Needs `pip install nbclient ipykernel`."""
    for module in ("ipykernel", *NEEDS.get(name, ())):
        pytest.importorskip(module)
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    notebook = nbformat.read(tutorials.PAGES / f"{name}.ipynb", 4)
    kept = [(printed(cell), drawn(cell)) for cell in stored(name) if cell["cell_type"] == "code"]
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = []
    nbclient.NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert [(printed(cell), drawn(cell)) for cell in notebook.cells if cell.cell_type == "code"] == kept


def test_figures_that_others_left_open_are_not_a_tutorials():
    from matplotlib import pyplot as plt

    plt.figure()
    outputs = tutorials.run(["from matplotlib import pyplot", "pyplot.figure()"], "two")
    assert [len(output.figures) for output in outputs] == [0, 1]


@pytest.mark.parametrize("name", tutorials.names())
def test_page_and_notebook_are_made_of_the_tutorial(name):
    cells = tutorials.cells(name)
    shown = [tutorials.Output(printed(c), drawn(c) * [b""]) for c in stored(name) if c["cell_type"] == "code"]
    assert (tutorials.PAGES / f"{name}.md").read_text(encoding="utf-8") == tutorials.page(name, cells, shown)
    code = [cell.source for cell in cells if not cell.is_text]
    assert ["".join(c["source"]) for c in stored(name) if c["cell_type"] == "code"] == code
    assert any("assert" in source for source in code), "a tutorial checks itself"
    for k in range(sum(len(output.figures) for output in shown)):
        assert (tutorials.PAGES / f"{name}_{k + 1}.png").exists()


def test_every_tutorial_is_listed_and_in_the_navigation():
    listed = (REPOSITORY / "docs" / "tutorials" / "index.md").read_text(encoding="utf-8")
    navigation = (REPOSITORY / "mkdocs.yml").read_text(encoding="utf-8")
    for name in tutorials.names():
        assert f"({name}.md)" in listed and f"tutorials/{name}.md" in navigation, name


def test_pages_and_pictures_stay_small():
    sizes = {path: path.stat().st_size for path in (REPOSITORY / "docs").rglob("*") if path.is_file()}
    assert sum(size for path, size in sizes.items() if re.search("tutorials|pictures", str(path))) < 3e6
