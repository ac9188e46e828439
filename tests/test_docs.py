"""The docs are true: printed code runs, what they name exists, and words keep the meanings of the glossary."""

import ast
import importlib.util
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

REPOSITORY = Path(__file__).resolve().parents[1]


FENCE = re.compile(r"^( *)```python(?: needs=\"([^\"]*)\")?\n(.*?)^\1```", re.DOTALL | re.MULTILINE)
"""A block of Python code; what it needs besides kinloop are names of modules, apart by commas."""


def run_blocks(page: str) -> Iterator[tuple[str, dict]]:
    """(block, its names) of all blocks of a page whose needs are installed, run one after the other."""
    names: dict = {"__name__": "__main__"}
    for _, needs, block in FENCE.findall((REPOSITORY / page).read_text(encoding="utf-8")):
        if all(importlib.util.find_spec(module) for module in needs.split(",") if module):
            exec(compile(textwrap.dedent(block), page, "exec"), names)
            yield block, names


def ran(page: str) -> dict:
    """The names of a page after all its blocks."""
    return [names for _, names in run_blocks(page)][-1]


CODE = ["README.md", *(p.relative_to(REPOSITORY).as_posix() for p in sorted(REPOSITORY.glob("docs/**/*.md")))]
CODE = [p for p in CODE if "tutorials/" not in p and FENCE.search((REPOSITORY / p).read_text(encoding="utf-8"))]
"""Pages with code. Tutorials are run by `test_tutorials.py`."""


RUN_BELOW = ("README.md", "docs/extending.md", "docs/derivatives.md", "docs/reference/robot.md")
"""Pages whose results other tests look at, here and in `test_reference.py`."""


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """What pages write is written here."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("page", [p for p in CODE if p not in RUN_BELOW])
def test_code_of_a_page_runs(page):
    assert list(run_blocks(page))


def test_every_block_of_code_has_a_fence_that_is_read():
    for page in CODE:
        text = (REPOSITORY / page).read_text(encoding="utf-8")
        assert len(FENCE.findall(text)) == len(re.findall(r"^ *```python", text, re.MULTILINE)), page


def test_readme_runs(capsys):
    names = ran("README.md")
    assert int(capsys.readouterr().out) > 1000
    assert names["A"].shape == (1000, 16)
    np.testing.assert_array_equal(names["A"], np.tile(names["a"], (1000, 1)))


def test_readme_is_short():
    assert len((REPOSITORY / "README.md").read_text(encoding="utf-8").splitlines()) < 120


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_links_of_a_page_outside_the_site_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)\s#]+)", (REPOSITORY / page).read_text(encoding="utf-8")):
        assert re.match("https?:", target) or (REPOSITORY / target).exists(), f"{page} links to {target}"


def test_a_joint_and_loops_made_as_described_move_exactly():
    robot = ran("docs/extending.md")["robot"]
    assert robot.nv == 4, "carriage and arm have 3 - 1, cam with pin and valve 1, crank and rocker 1"
    q, v = robot.random_state(0)
    tau = np.ones(robot.nv)
    expected = robot.forward_dynamics(q, v, tau, method="dense_kkt")
    np.testing.assert_allclose(robot.forward_dynamics(q, v, tau), expected, atol=1e-10)


def test_derivatives_are_called_as_described():
    names = ran("docs/derivatives.md")
    robot, q, v, a = (names[x] for x in ("robot", "q", "v", "a"))
    np.testing.assert_allclose(names["Y"] @ names["pi"], robot.inverse_dynamics(q, v, a), atol=1e-12)
    assert names["second"].qq.shape == (2, 2, 2) and names["dl_dq"].shape == (3, 2)
    assert names["H"].shape == (6, 2, 2) and names["dA_da"].shape == (6, 2)
    assert names["A"].shape == names["B"].shape[:2] + (4,) and names["slope"].controls.shape == (20, 2)
    np.testing.assert_allclose(names["C"] @ v + names["dV"], robot.bias_force(q, v), atol=1e-12)


def test_every_cited_key_is_in_the_references():
    references = (REPOSITORY / "docs" / "references.md").read_text(encoding="utf-8")
    known = set(re.findall(r"^- \*\*(\w+)\*\*", references, re.MULTILINE))
    pages = [*(REPOSITORY / "src").rglob("*.py"), *(REPOSITORY / "docs").rglob("*.md")]
    cited = {key for page in pages for key in re.findall(r"\[([A-Z]\w+\d{4}[a-z]?)[,\]]", page.read_text("utf-8"))}
    assert cited <= known, cited - known


PAGES = sorted(p.relative_to(REPOSITORY).as_posix() for p in REPOSITORY.glob("docs/**/*.md"))


@pytest.mark.parametrize("page", PAGES)
def test_files_that_a_page_names_exist(page):
    """By their whole path or by its end, as `handles.py` or `trees/handles.py`."""
    rooms = ("src", "tests", "benchmarks", "examples")
    files = [f"/{p.relative_to(REPOSITORY).as_posix()}" for room in rooms for p in (REPOSITORY / room).rglob("*.py")]
    for named in re.findall(r"`(?:python )?([\w/.]+\.py)\b", (REPOSITORY / page).read_text(encoding="utf-8")):
        assert any(path.endswith(f"/{named}") for path in files), f"{page} names {named}"


@pytest.mark.parametrize("page", [p for p in PAGES if p.startswith("docs/algorithms/")])
def test_a_derivation_says_where_its_code_is(page):
    assert re.search(
        r"^Code: .*`src/kinloop/", (REPOSITORY / page).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )


def glossary():
    """(word, meaning, where) of every line of the glossary's tables."""
    text = (REPOSITORY / "docs" / "glossary.md").read_text(encoding="utf-8")
    lines = re.findall(r"^\| (.*?) \| (.*) \| (.*?) \|$", text, re.MULTILINE)
    return [line for line in lines if line[0] != "word"]


def test_the_glossary_gives_every_word_one_meaning():
    words = [word for word, _, _ in glossary()]
    assert len(words) > 60
    assert len(set(words)) == len(words)
    assert all(meaning for _, meaning, _ in glossary())


@pytest.mark.parametrize("word, where", [(word, where) for word, _, where in glossary()])
def test_what_the_glossary_names_exists(word, where):
    label, target = re.fullmatch(r"\[(.*)\]\((.*)\)", where).groups()
    assert (REPOSITORY / "docs" / target).exists(), f"{word}: there is no {target}"
    if label.startswith("`"):
        assert importlib.util.find_spec(label.strip("`")), f"{word}: there is no module {label}"


def test_the_glossary_is_found_from_the_explanation_and_by_contributors():
    assert "(glossary.md)" in (REPOSITORY / "docs" / "explanation.md").read_text(encoding="utf-8")
    assert "(docs/glossary.md)" in (REPOSITORY / "CONTRIBUTING.md").read_text(encoding="utf-8")


ROOMS = (
    "algorithms",
    "bench",
    "cli",
    "clusters",
    "compiler",
    "io",
    "linear",
    "model",
    "robots",
    "scalar",
    "sim",
    "spatial",
    "viewer",
)
"""Rooms in which the words below are not used."""

GIVEN_UP = {
    r"\bseats?\b": "handle",
    r"\blone\b": "single, or a cluster of one",
    r"\bheld loops?\b": "constrained loop",
    r"\b(published|robot's|leg's|mechanism's|inertial|open) figures\b": "parameters",
    r"\bfigures of (generalized_rbda|the robot|a robot|a mechanism)\b": "parameters",
    r"\bforces? carried\b|\bcarried (inward|to the)\b": "propagated",
    r"\brows? of (a|the) batch\b": "batch row",
}
"""Words we gave up, as they would stand in a docstring, and what we say instead."""

NAMES_GIVEN_UP = {"figures": "parameters", "seat": "handle", "seats": "handles", "lone": "single"}
"""Names of functions, classes, arguments and variables we gave up, and what we say instead."""


def modules():
    return sorted(p for room in ROOMS for p in (REPOSITORY / "src" / "kinloop" / room).rglob("*.py"))


def docstrings(tree):
    """Every string that stands alone: docstrings, and descriptions of constants and fields."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, node.value.value


def names(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.lineno, node.name
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id


def test_words_that_were_given_up_do_not_come_back():
    assert len(modules()) > 60
    found = []
    for path in modules():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for line, text in docstrings(tree):
            for pattern, instead in GIVEN_UP.items():
                for match in re.findall(f"({pattern})", text, re.IGNORECASE):
                    word = match[0] if isinstance(match, tuple) else match
                    found.append(f"{path.name}:{line}: {word!r}, say {instead}")
        for line, name in names(tree):
            parts = name.lower().strip("_").split("_")
            found += [f"{path.name}:{line}: {name}, say {NAMES_GIVEN_UP[x]}" for x in parts if x in NAMES_GIVEN_UP]
    assert not found, "\n".join(found)
