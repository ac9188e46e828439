"""kinloop: exact, fast dynamics and simulation for robots with kinematic loops."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from kinloop import scalar
from kinloop.algorithms.quantities import QUANTITIES as _QUANTITIES
from kinloop.compute import constrained_quantities
from kinloop.errors import KinloopError, LoopNotClosed, ModelError
from kinloop.model import Body, Builder, Frame, Joint, Mechanism
from kinloop.robot import Robot

if TYPE_CHECKING:
    from kinloop import robots

__version__ = "0.1.0"
__all__ = [
    "Body", "Builder", "Closure", "Frame", "Joint", "KinloopError", "LoopNotClosed", "Mechanism", "ModelError", "Point",
    "Robot", "Rows", "Simulator", "Weld",
    "convert", "io", "load", "quantities", "robots", "scalar", "sim",
]  # fmt: skip

# Imported when first asked for, so that `import kinloop` stays quick.
_CONSTRAINTS = "kinloop.algorithms.constrained.motion_constraints"
_LAZY = {
    **{name: (_CONSTRAINTS, name) for name in ("Closure", "Point", "Rows", "Weld")},
    "io": ("kinloop.io", None),
    "robots": ("kinloop.robots", None),
    "convert": ("kinloop.io", "convert"),
    "sim": ("kinloop.sim", None),
    "Simulator": ("kinloop.sim", "Simulator"),
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'kinloop' has no attribute {name!r}")
    module, attribute = _LAZY[name]
    found = importlib.import_module(module)
    return found if attribute is None else getattr(found, attribute)


def load(path: Any, floating_base: bool | None = None, backend: str = "kernel", **options: Any) -> Robot:
    """The robot of a model file (URDF and dialects, MJCF, SDF, kinloop's own); its loops become clusters.

    `floating_base`: None as the file says, True frees the base, False fixes it. Further options are those
    of `kinloop.io.load`: strict, packages, keep_fixed, accept_inertia, limits.
    """
    from kinloop import io

    mechanism = io.load(path, floating_base, **options)
    try:
        return Robot(mechanism, backend)
    except (ModelError, LoopNotClosed) as error:
        raise io.file_error(path, error) from error


def quantities() -> list[str]:
    """Names of everything a robot can compute and compile."""
    return [*_QUANTITIES, *constrained_quantities()]
