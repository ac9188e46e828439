"""`kinloop bench` runs from an installed package, outside any checkout, with no peer installed."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import kinloop

ALONE = """
import sys
sys.modules["pinocchio"] = sys.modules["mujoco"] = None
from kinloop import cli
from kinloop.bench import report
report.GROUPS["cheap"] = ("accuracy",)
sys.argv = ["kinloop", "bench", "cheap", "--quick", "--json", "report.json", "--html", "report.html"]
cli.main()
"""


def test_a_report_is_made_far_from_the_checkout(tmp_path):
    package = Path(kinloop.__file__).parent
    shutil.copytree(package, tmp_path / "site" / "kinloop", ignore=shutil.ignore_patterns("__pycache__"))
    work = tmp_path / "elsewhere"
    work.mkdir()
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "site")}
    done = subprocess.run(
        [sys.executable, "-c", ALONE], cwd=work, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "What approximating the loops costs" in done.stdout
    assert "pinocchio is not installed: pip install 'kinloop[peers]'" in done.stdout
    assert set(json.loads((work / "report.json").read_text())["parts"]) == {"accuracy"}
    assert (work / "report.html").stat().st_size > 10_000


def test_no_module_looks_above_the_package():
    """A path that begins at a module's own file and climbs leads out of an installed package."""
    package = Path(kinloop.__file__).parent
    texts = {p: p.read_text(encoding="utf-8") for p in package.rglob("*.py")}
    assert len(texts) > 100
    assert not [p for p, text in texts.items() if "__file__" in text and ".parents" in text]
