"""Run the tutorials and write their pages and notebooks, with what they printed and drew.

    python -m tools.make_tutorials [NAME ...]

A tutorial is one file of `tutorials/`, Python with cells: `# %% [markdown]` begins text, `# %%` code. Of it become
a page `docs/tutorials/NAME.md`, a notebook `NAME.ipynb` beside it, and a picture for every figure that a cell draws.
`tests/test_tutorials.py` runs the notebooks and compares.
"""

from __future__ import annotations

import base64
import contextlib
import io
import json
import re
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib

ROOT = Path(__file__).resolve().parents[1]
SOURCES, PAGES = ROOT / "tutorials", ROOT / "docs" / "tutorials"
MARK = re.compile(r"^# %%( \[markdown\])?.*\n", re.MULTILINE)
STYLE = {
    "figure.figsize": (6.4, 3.2), "figure.dpi": 80, "figure.constrained_layout.use": True, "font.size": 9,
    "axes.grid": True, "grid.alpha": 0.3,
}  # fmt: skip
"""How figures look."""


@dataclass(frozen=True)
class Cell:
    """Text, or code."""

    is_text: bool
    source: str


@dataclass
class Output:
    """What a cell of code printed, and the figures it drew, as PNG."""

    text: str
    figures: list[bytes]


def names() -> list[str]:
    """All tutorials, in order."""
    return sorted(path.stem for path in SOURCES.glob("[0-9]*.py"))


def cells(name: str) -> list[Cell]:
    """The cells of a tutorial."""
    text = (SOURCES / f"{name}.py").read_text(encoding="utf-8")
    marks = list(MARK.finditer(text))
    ends = [*(m.start() for m in marks[1:]), len(text)]
    found = [(m[1] is not None, text[m.end() : end].strip("\n")) for m, end in zip(marks, ends, strict=True)]
    return [
        Cell(is_text, re.sub(r"^# ?", "", body, flags=re.MULTILINE) if is_text else body) for is_text, body in found
    ]


def run(sources: list[str], what: str) -> list[Output]:
    """Run cells of code one after the other, as a notebook does; figures that others left open are not theirs."""
    matplotlib.use("agg")
    from matplotlib import pyplot as plt

    plt.close("all")

    variables: dict[str, Any] = {"__name__": "__main__"}
    out = []
    with matplotlib.rc_context(STYLE):
        for k, source in enumerate(sources):
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(source, f"{what}, cell {k + 1}", "exec"), variables)
            out.append(Output(printed.getvalue(), [_png(plt.figure(n)) for n in plt.get_fignums()]))
            plt.close("all")
    return out


def _png(figure: Any) -> bytes:
    """A figure as a small picture of few colours."""
    from PIL import Image

    drawn, small = io.BytesIO(), io.BytesIO()
    figure.savefig(drawn, format="png", bbox_inches="tight")
    Image.open(drawn).convert("RGB").quantize(64, dither=Image.Dither.NONE).save(small, format="PNG", optimize=True)
    return small.getvalue()


def page(name: str, all_cells: list[Cell], outputs: list[Output]) -> str:
    """The page of a tutorial: text, code, what the code printed, its figures."""
    parts, done, pictures = [], iter(outputs), 0
    for cell in all_cells:
        if cell.is_text:
            parts.append(cell.source)
            continue
        parts.append(f"```python\n{cell.source}\n```")
        output = next(done)
        if output.text:
            parts.append(f"```text\n{output.text.rstrip()}\n```")
        for _ in output.figures:
            pictures += 1
            parts.append(f"![Figure {pictures}]({name}_{pictures}.png)")
    parts.insert(1, f"*The same as a notebook: [{name}.ipynb]({name}.ipynb).*")
    return "\n\n".join(parts) + "\n"


def notebook(all_cells: list[Cell], outputs: list[Output]) -> dict[str, Any]:
    """The notebook of a tutorial, with its outputs."""
    written, done = [], iter(outputs)
    for k, cell in enumerate(all_cells):
        kind: dict[str, Any] = {"cell_type": "markdown" if cell.is_text else "code", "id": f"cell-{k}", "metadata": {}}
        source = _local_links(cell.source) if cell.is_text else cell.source
        kind["source"] = source.splitlines(keepends=True)
        if not cell.is_text:
            kind |= {"execution_count": None, "outputs": _notebook_outputs(next(done))}
        written.append(kind)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": written, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def _local_links(text: str) -> str:
    """Links to other pages of the site, which a notebook does not have, as their names."""
    return re.sub(r"\[([^\]]*)\]\([^)]*\.md[^)]*\)", r"\1", text)


def _notebook_outputs(output: Output) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    if output.text:
        lines = output.text.splitlines(keepends=True)
        found.append({"output_type": "stream", "name": "stdout", "text": lines})
    for png in output.figures:
        data = {"image/png": base64.b64encode(png).decode("ascii")}
        found.append({"output_type": "display_data", "data": data, "metadata": {}})
    return found


def make(name: str) -> None:
    """Run one tutorial and write its page, its notebook and its pictures."""
    found = cells(name)
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        outputs = run([cell.source for cell in found if not cell.is_text], name)
    for old in PAGES.glob(f"{name}_[0-9]*.png"):
        old.unlink()
    for k, png in enumerate([png for output in outputs for png in output.figures]):
        (PAGES / f"{name}_{k + 1}.png").write_bytes(png)
    (PAGES / f"{name}.md").write_text(page(name, found, outputs), encoding="utf-8")
    text = json.dumps(notebook(found, outputs), indent=1, ensure_ascii=False)
    (PAGES / f"{name}.ipynb").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    for asked in sys.argv[1:] or names():
        make(asked)
        print(f"wrote docs/tutorials/{asked}.md")
