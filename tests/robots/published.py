"""The published parameters beside the repository, where they are; tests that need them skip where they are not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "figures"


def names(folder: str = "", suffix: str = "") -> list[str]:
    return sorted(p.name.removesuffix(f"{suffix}.json") for p in (FOLDER / folder).glob(f"*{suffix}.json"))


def parameters(name: str) -> dict[str, Any]:
    return _read(FOLDER / f"{name}.json")


def vectors(name: str) -> dict[str, Any]:
    return _read(FOLDER / "vectors" / f"{name}_vectors.json")


def _read(path: Path) -> dict[str, Any]:
    if not path.exists():
        pytest.skip(f"no parameters at {path.name}: the folder shared/figures is not beside the repository")
    return json.loads(path.read_text(encoding="utf-8"))
