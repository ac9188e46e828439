"""Robots of model files that do not come with kinloop: the example-robot-data wheel, the MuJoCo Menagerie."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from kinloop.errors import ModelError
from kinloop.io import load
from kinloop.robot import Robot

TREES = {
    "Go1": ("go1.urdf", True),
    "Talos": ("talos_full_v2.urdf", True),
    "Panda": ("panda.urdf", False),
    "xArm7": ("/xarm7.urdf", False),
    "G1": ("g1_29dof_rev_1_0.urdf", True),
}
"""Trees of the example-robot-data wheel: how the path of the file ends, and whether the base is free."""

MENAGERIE = {"Cassie": "agility_cassie/cassie.xml", "Robotiq 2F-85": "robotiq_2f85/2f85.xml"}
"""Robots with loops of the MuJoCo Menagerie (github.com/google-deepmind/mujoco_menagerie)."""


def wheel_file(ending: str) -> Path | None:
    """A file of the example-robot-data wheel by the end of its path; None where there is none."""
    try:
        files = importlib.metadata.distribution("example-robot-data").files or []
    except importlib.metadata.PackageNotFoundError:
        return None
    return next((Path(str(f.locate())) for f in files if str(f).endswith(ending)), None)


def available_trees() -> list[str]:
    """Names of the trees whose files are installed."""
    return [name for name, (ending, _) in TREES.items() if wheel_file(ending) is not None]


def tree_robot(name: str) -> Robot:
    """A robot of TREES without its mimic joints, which move on their own: Pinocchio's aba takes them so."""
    ending, free = TREES[name]
    path = wheel_file(ending)
    if path is None:
        raise ModelError(f"{name} needs the file {ending!r} of the wheel: pip install 'kinloop[peers]'")
    return Robot(replace(load(path, floating_base=free), couplings=(), independent=()))


def menagerie_robots(folder: Path) -> dict[str, Callable[[], Robot]]:
    """What loads each robot of MENAGERIE from a folder that holds the Menagerie's models."""
    for path in MENAGERIE.values():
        if not (folder / path).exists():
            raise ModelError(f"there is no {path!r} in {str(folder)!r}; give the folder of the MuJoCo Menagerie")
    return {name: partial(_file_robot, folder / path) for name, path in MENAGERIE.items()}


def _file_robot(path: Path) -> Robot:
    return Robot(load(path))
