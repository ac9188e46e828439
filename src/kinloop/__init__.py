"""kinloop: exact, fast dynamics and simulation for robots with kinematic loops."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from kinloop import scalar
from kinloop.algorithms.constrained.motion_constraints import Closure, Point, Rows, Weld
from kinloop.algorithms.quantities import QUANTITIES
from kinloop.errors import KinloopError, LoopNotClosed, ModelError
from kinloop.model import Body, Builder, Frame, Joint, Mechanism
from kinloop.robot import Robot

if TYPE_CHECKING:
    from pathlib import Path

    from kinloop import control, io, robots, sim, sweeps, viewer
    from kinloop.io import convert
    from kinloop.sim import Simulator
    from kinloop.sweeps import sweep

__version__ = "0.1.0"
__all__ = [
    "Body", "Builder", "Closure", "Frame", "Joint", "KinloopError", "LoopNotClosed", "Mechanism", "ModelError", "Point",
    "Robot", "Rows", "Simulator", "Weld",
    "control", "convert", "io", "load", "quantities", "robots", "scalar", "sim", "sweep", "sweeps", "viewer",
]  # fmt: skip

_LAZY = {
    "control": ("kinloop.control", None),
    "convert": ("kinloop.io", "convert"),
    "io": ("kinloop.io", None),
    "robots": ("kinloop.robots", None),
    "sim": ("kinloop.sim", None),
    "Simulator": ("kinloop.sim", "Simulator"),
    "sweep": ("kinloop.sweeps", "sweep"),
    "sweeps": ("kinloop.sweeps", None),
    "viewer": ("kinloop.viewer", None),
}
"""Imported when first asked for. Of the 150 ms that all of kinloop takes with NumPy and llvmlite, io takes 30 ms,
sim 14 ms and robots 10 ms (`python -X importtime`)."""


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'kinloop' has no attribute {name!r}")
    module, attribute = _LAZY[name]
    found = import_module(module)
    return found if attribute is None else getattr(found, attribute)


def __dir__() -> list[str]:
    return sorted(__all__)


def load(
    path: str | Path, floating_base: bool | None = None, backend: str = "kernel", check: str = "on", **options: Any
) -> Robot:
    """The robot of a model file (URDF and dialects, MJCF, SDF, kinloop's own); its loops become clusters.

    `floating_base`: None as the file says, True frees the base, False fixes it. `backend` and `check` are those of
    `Robot`, further options those of `kinloop.io.load`: strict, packages, keep_fixed, accept_inertia, limits.
    """
    from pathlib import Path

    from kinloop import io

    if not Path(path).exists() and not Path(path).suffix:
        _refuse_name(str(path))
    return io.build(path, lambda mechanism: Robot(mechanism, backend, check), floating_base=floating_base, **options)


def _refuse_name(name: str) -> None:
    """An error for what is no file and may be meant as the name of a robot of the zoo."""
    from kinloop import robots

    if name in robots.names():
        raise ModelError(
            f"there is no file {name!r}; the robot of that name in the zoo is kinloop.robots.load({name!r})"
        )
    raise ModelError(
        f"there is no file {name!r}; give a model file, or load a robot of the zoo by kinloop.robots.load(name) "
        "(kinloop.robots.names() lists them)"
    )


def quantities() -> list[str]:
    """Names of everything a robot can compute and compile."""
    return list(QUANTITIES)
