"""The code printed in the README and in docs/extending.md runs as printed."""

import re
from pathlib import Path

import numpy as np

import kinloop as kl

REPOSITORY = Path(__file__).resolve().parents[1]


def python_blocks(page):
    return re.findall(r"```python\n(.*?)```", (REPOSITORY / page).read_text(encoding="utf-8"), re.DOTALL)


def test_readme_runs(capsys):
    names = {}
    for block in python_blocks("README.md"):
        exec(compile(block, "README.md", "exec"), names)
    assert int(capsys.readouterr().out) > 1000
    assert names["A"].shape == (1000, 16)
    np.testing.assert_array_equal(names["A"], np.tile(names["a"], (1000, 1)))
    assert (names["robot"].nq, names["robot"].nv) == (3, 1)


def test_readme_is_short():
    assert len((REPOSITORY / "README.md").read_text(encoding="utf-8").splitlines()) < 100


def test_a_joint_and_loops_made_as_described_move_exactly():
    joint, functions, kind, use, _ = python_blocks("docs/extending.md")
    names = {}
    exec("from dataclasses import dataclass\nfrom kinloop import scalar as sc\nimport numpy as np", names)
    exec("from kinloop.model import BodyLoop\nfrom kinloop.model.joints import JointType, X, Y, Z", names)
    exec("from kinloop.spatial import Transform, axis_rotation, cross", names)
    exec(joint, names)
    exec(kind, names)
    b = names["b"] = kl.Builder("described")
    ball = {"mass": 1.0, "com": (0.1, 0, 0), "inertia": (1, 1, 1)}
    b.body("carriage", joint=names["PinInSlot"](), **ball)
    b.body("arm", "carriage", axis="x", at=(0.2, 0, 0), **ball)
    b.body("cam", axis="x", **ball)
    b.body("pin", axis="z", **ball)
    b.body("valve", joint="prismatic", axis="z", **ball)
    b.body("crank", axis="z", **ball)
    b.body("rocker", axis="z", at=(0.5, 0, 0), **ball)
    b.loop("slide", "rocker", "crank", names["PinInSlot"](), at_successor=(0.2, 0, 0))
    exec(functions, names)
    exec(use, names)
    robot = kl.Robot(b.mechanism(), backend="numpy")
    assert robot.nv == 4, "carriage and arm have 3 - 1, cam with pin and valve 1, crank and rocker 1"
    q, v = robot.random_state(0)
    tau = np.ones(robot.nv)
    expected = robot.forward_dynamics(q, v, tau, method="dense_kkt")
    np.testing.assert_allclose(robot.forward_dynamics(q, v, tau), expected, atol=1e-10)


def test_every_cited_key_is_in_the_references():
    references = (REPOSITORY / "docs" / "references.md").read_text(encoding="utf-8")
    known = set(re.findall(r"^- \*\*(\w+)\*\*", references, re.MULTILINE))
    pages = [*(REPOSITORY / "src").rglob("*.py"), *(REPOSITORY / "docs").rglob("*.md")]
    cited = {key for page in pages for key in re.findall(r"\[([A-Z]\w+\d{4}[a-z]?)[,\]]", page.read_text("utf-8"))}
    assert cited <= known, cited - known
