"""Tasks of inverse kinematics and whole-body control: what a robot shall reach or hold, a kind each.

- `task`: what a task says about itself.
- `frame_tasks`: pose, position and orientation of a frame.
- `center_of_mass_task`: the centre of mass at a place.
- `posture_task`: joints at their places in a posture.
- `gaze_task`: an axis of a frame that points at something.
"""

from kinloop.control.tasks.center_of_mass_task import CenterOfMassTask
from kinloop.control.tasks.frame_tasks import OrientationTask, PoseTask, PositionTask
from kinloop.control.tasks.gaze_task import GazeTask
from kinloop.control.tasks.posture_task import PostureTask
from kinloop.control.tasks.task import Task

__all__ = ["CenterOfMassTask", "GazeTask", "OrientationTask", "PoseTask", "PositionTask", "PostureTask", "Task"]
