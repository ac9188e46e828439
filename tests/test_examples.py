"""Every example runs as a user would run it, and prints what it promises."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]
EXAMPLES = {path.stem: path for path in sorted((REPOSITORY / "examples").glob("*.py"))}

MODELS = REPOSITORY.parent / "shared" / "models" / "menagerie"

TELLING = {
    "allegro_cube": r"hanging, it moved by 0\.\d+ mm; status 1 ",
    "ankle_limits": r"and back: positions to \de-1[4-9] rad, torques to \de-1[3-9] N m(.|\n)*plot: ankle_limits",
    "batch": r"relative difference \d",
    "cassie_push": r"cm away, 0\.\d+ mm off at last; feet slipped \d\.\d mm\ntorques up to 0\.\d+ of .* status 1",
    "cam": r"180 +12\.00 ",
    "collocation": r"Solve_Succeeded(.|\n)*the crank ends [-+]0\.\d+ degrees beside",
    "derivatives": r"t = 3\.00 s: crank off by .0\.0\d+ rad, pole by .0\.00\d+ rad",
    "gripper_box": r"moved by 0\.0\d+ mm\nloops open by \d+e-1[2-9] m at most; status 1 ",
    "four_bar": r"torque back from the motion: 0\.800000 N m",
    "jump": r"converged after \d+ iterations: cost 1\.960\n.*foot up to 0\.2\d m(.|\n)*loop open by \d+e-1\d m",
    "geared_arm": r"approximate_rnea +torque errors",
    "identify": r"without noise: combinations found with relative error \d\.\de-1\d(.|\n)*10 of 10 bodies can exist",
    "leg_ik": r"feet off by \de-1\d m(.|\n)*9\d\d of 1000 places reached(.|\n)*limits 0\.2 and 2\.0 kept: True",
    "load_file": r"'pin': 0\.0, 'thumb_joint_mimic': 0\.0",
    "ppo": r"3 +0\.00 M actions .* reward +[-.\d]+ +falls",
    "randomize": r"at nominal values the two agree to \d\.\de-1\d",
    "simulate": r"quadrupeds pushed: 1\d\d still stand",
    "standing_env": r"servos alone: mean reward 0\.8\d+, 0 falls",
    "wbc_squat": r"6\.0 cm down, 8\.0 cm from .*\nit was off by 0\.\d+ mm at most; .* by 0\.0\d mm(.|\n)*status 1",
    "swing_up": r"converged after \d+ iterations(.|\n)*t = 2\.0 s: pole +[-+][01]\.\d degrees from upright",
    "tello_loads": r"weight (\S+) N, contacts push up with \1 N",
}


HOLDING = {"allegro_cube": "wonik_allegro", "cassie_push": "agility_cassie", "gripper_box": "robotiq_2f85"}
"""Examples with a robot of the MuJoCo Menagerie."""


ARGUMENTS = {"ppo": ("--quick",)}
NEEDED = {"ppo": "torch"}
"""What examples are started with here, and what they need that may not be installed."""


def run(path: Path) -> str:
    environment = {"KINLOOP_MENAGERIE": str(MODELS)} | os.environ | {"PYTHONPATH": str(REPOSITORY / "src")}
    done = subprocess.run(
        [sys.executable, str(path), *ARGUMENTS.get(path.stem, ())],
        capture_output=True,
        text=True,
        env=environment,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_example_is_listed():
    assert set(EXAMPLES) == set(TELLING)


LONG = ("cassie_push", "gripper_box", "tello_loads")
"""Examples that take more than five seconds, and whose parts other tests try too."""


@pytest.mark.parametrize("name", [pytest.param(x, marks=pytest.mark.slow) if x in LONG else x for x in TELLING])
def test_example_runs_and_tells_something(name):
    folder = Path(os.environ.get("KINLOOP_MENAGERIE", MODELS))
    if name in HOLDING and not (folder / HOLDING[name]).is_dir():
        pytest.skip(f"there is no {HOLDING[name]} in {folder}")
    pytest.importorskip(NEEDED.get(name, "kinloop"))
    printed = run(EXAMPLES[name])
    assert re.search(TELLING[name], printed), printed


@pytest.mark.parametrize("name", HOLDING)
def test_example_says_what_to_do_without_the_menagerie(name, tmp_path, monkeypatch):
    monkeypatch.setenv("KINLOOP_MENAGERIE", str(tmp_path))
    assert f"no {HOLDING[name]} there: give the folder of the MuJoCo Menagerie, or set KINLOOP_MENAGERIE" in run(
        EXAMPLES[name]
    )


@pytest.mark.parametrize("name", TELLING)
def test_example_is_short(name):
    """A page; the trainer, which is a whole program in one file, a few."""
    assert len(EXAMPLES[name].read_text(encoding="utf-8").splitlines()) < (200 if name == "ppo" else 60)
