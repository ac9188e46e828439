"""What a release needs: one place for the version, files that tools read, a procedure that is there."""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from pathlib import Path

import kinloop as kl

REPOSITORY = Path(__file__).resolve().parents[1]


def tracked() -> list[Path]:
    """Files of the repository in which somebody could look for a version."""
    kinds = ("*.toml", "*.cff", "src/**/*.py", "docs/citing.md", "docs/releasing.md")
    return [path for kind in kinds for path in REPOSITORY.glob(kind)]


def test_the_version_is_in_one_place():
    assert re.fullmatch(r"\d+\.\d+\.\d+", kl.__version__)
    found = [p.relative_to(REPOSITORY).as_posix() for p in tracked() if kl.__version__ in p.read_text(encoding="utf-8")]
    assert found == ["src/kinloop/__init__.py"]
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["dynamic"] == ["version"] and "version" not in project["project"]
    assert project["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "kinloop.__version__"}


def test_the_citation_has_what_its_format_asks_for():
    text = (REPOSITORY / "CITATION.cff").read_text(encoding="utf-8")
    for field in ("cff-version: 1.2.0", "message:", "title:", "authors:", "license: BSD-3-Clause"):
        assert re.search(rf"^{re.escape(field)}", text, re.MULTILINE), field
    titles = re.findall(r"^    title: (.*)$", text, re.MULTILINE)
    references = re.sub(r"\s+", " ", (REPOSITORY / "docs" / "references.md").read_text(encoding="utf-8"))
    assert len(titles) == 3 and all(title in references for title in titles)


def test_templates_and_security_are_there_and_name_what_exists():
    folder = REPOSITORY / ".github"
    assert {p.name for p in (folder / "ISSUE_TEMPLATE").iterdir()} == {
        "bug_report.yml", "config.yml", "feature_request.yml",
    }  # fmt: skip
    assert ".ci/run" in (folder / "PULL_REQUEST_TEMPLATE.md").read_text(encoding="utf-8")
    assert "Report a vulnerability" in (REPOSITORY / "SECURITY.md").read_text(encoding="utf-8")


def test_the_release_script_can_be_run():
    script = REPOSITORY / ".ci" / "release"
    assert os.access(script, os.X_OK)
    subprocess.run(["bash", "-n", str(script)], check=True)
    assert "`.ci/release`" in (REPOSITORY / "docs" / "releasing.md").read_text(encoding="utf-8")
