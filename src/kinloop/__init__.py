"""kinloop: exact, fast dynamics and simulation for robots with kinematic loops."""

from kinloop import robots, scalar
from kinloop.algorithms.registry import QUANTITIES as _QUANTITIES
from kinloop.errors import KinloopError, LoopNotClosed, ModelError
from kinloop.model import Body, Builder, Frame, Joint, Mechanism
from kinloop.robot import Robot

__version__ = "0.1.0"
__all__ = [
    "Body", "Builder", "Frame", "Joint", "KinloopError", "LoopNotClosed", "Mechanism", "ModelError", "Robot",
    "quantities", "robots", "scalar",
]  # fmt: skip


def quantities() -> list[str]:
    """Names of everything a robot can compute and compile."""
    return list(_QUANTITIES)
