"""Control of robots with loops: what engineers ask of motors, tasks and trajectories, exact with loops in between.

What a user calls:

- `motor_space`: `MotorSpace`, exact maps between motors and joints. `frame_angles`: `FrameAngles`, a frame's pitch and
  roll as joints. `torque_polytope`: `TorquePolytope`, the forces that motors can exert at joints.
- `inverse_kinematics`: `InverseKinematics`, closed configurations that fulfil tasks. `ik_solution`: what was found.
- `whole_body_control`: `WholeBodyControl`, motor torques for tasks, contacts and friction.
- `tasks`: what a robot shall reach or hold, a kind each.
- `ilqr`: `ILQR`, controls that minimise a cost of a motion. `smooth_dynamics`: `SmoothDynamics`, smooth steps and their
  derivatives. `solution`: `Solution` and `Outcome`, what was found. `crocoddyl_models`,
  `aligator_models`: the same for solvers of crocoddyl and aligator. `collocation`: CasADi functions for a direct
  collocation.

What happens inside:

- `linkage`: the clusters between motors and joints, alone, and how their loops are closed. `space_maps`: the maps at a
  closed configuration. `space_kernels`: kernels of these. `driven`: motors as a motor space sees them.
- `world_motion`: poses and Jacobians seen from the world, which tasks and contacts are written with.
- `ik_iteration`: the iteration of inverse kinematics. `damped_least_squares`: one step of it between limits.
  `ik_problem`: what they look at. `limited_coordinates`: limits. `differential_ik`: steps from QP solvers instead.
- `whole_body_problem`: the QP of whole-body control as a kernel. `held_contacts`: contacts that stay put, and
  friction pyramids.
- `optimization_state`: the iterations of iLQR. `riccati_sweep`: its way back. `box_qp`: minima within bounds.
  `trajectories`: motions and models of them. `motions`: rows of motions. `simulated_steps`: steps of a simulator, with
  contact. `traced_cost`: costs with exact derivatives. `closed_manifold`: steps along closed configurations.
"""

from kinloop.control.frame_angles import FrameAngles
from kinloop.control.held_contacts import Friction
from kinloop.control.ik_solution import IKSolution, IKStatus
from kinloop.control.ilqr import ILQR
from kinloop.control.inverse_kinematics import InverseKinematics
from kinloop.control.motor_space import MotorSpace
from kinloop.control.smooth_dynamics import SmoothDynamics
from kinloop.control.solution import Outcome, Solution
from kinloop.control.tasks import (
    CenterOfMassTask,
    GazeTask,
    OrientationTask,
    PoseTask,
    PositionTask,
    PostureTask,
    Task,
)
from kinloop.control.torque_polytope import TorquePolytope
from kinloop.control.whole_body_control import Reference, WholeBodyControl, WholeBodyStep
from kinloop.control.whole_body_problem import Tracked

__all__ = [
    "ILQR", "CenterOfMassTask", "FrameAngles", "Friction", "GazeTask", "IKSolution", "IKStatus", "InverseKinematics",
    "MotorSpace", "OrientationTask", "Outcome", "PoseTask", "PositionTask", "PostureTask", "Reference",
    "SmoothDynamics", "Solution", "Task", "TorquePolytope", "Tracked", "WholeBodyControl", "WholeBodyStep",
]  # fmt: skip
