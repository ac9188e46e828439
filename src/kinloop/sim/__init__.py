"""Simulation: integrators on closed loops, contact, actuators, rollouts of whole batches.

What a user calls:

- `simulator`: `Simulator`, which steps a state and rolls out batches.
- `simulator_derivatives`: `Simulator.linearize` and `Simulator.rollout_gradient`.
- `state`: `State`, a batch of states. `rollout`: `Rollout`, what was recorded; `load`. `status`: `Status`.
- `motors`: `Motor`, on one coordinate. `windings`: `Winding`, its electrical side.
- `controls`: what controls a rollout may be given.
- `user_forces`: `Spring`, `Damper`, `JointSpring`, `ExternalForce`; `force_state`: what the last may depend on.

What happens inside:

- `open_numbers`: numbers that every batch row has its own of.
- `outside`: all forces of users on a robot. `spring_rows`: the coordinates along which springs and dampers act;
  `implicit_springs`: how a step takes these.
- `actuators`: all forces at joints. `implicit_motors`: how a step takes these. `stiff_gains`: springs and servos that
  are too stiff for their steps. `file_motors`: motors as a model file describes them. `tendon_forces`: springs and
  limits of tendons. `transmissions`: the lengths that these act along, `wrapping`: around spheres and cylinders.
- `keyframes`: where a model file lets a robot start. `sensors`: what the sensors of a model tell;
  `contact_sensors`: those of contact, `sensor_zones`: where they feel it. `loop_loads`: what loops do to bodies that
  have such.
- `smooth_motion`: accelerations between impacts. `turning_axes`: velocities of free bodies in axes that rest.
- `integrators`: how states move on in time, one file each.
- `asked_contact`: the contact that a user asked for.
- `contact`: the ground, what touches it, the stops of joints, and the solver for their impulses.
- `linearization`: derivatives of a step, contact included.
- `stepper`: one step as the function that is traced; `watch`: what it keeps on every batch row besides the state.
- `on_loops`: positions closed and velocities projected in a step. `singularity`: how near loops are to losing rank.
- `energy_monitor`: whether the energy of a row balances the work of the forces on it.
- `engine`: the kernels of a simulation. `batch`: batch rows on their way through them, in shorter steps where needed.
- `searching`: what is done before every step where contacts are searched for.
- `single_step`: one row's next step with little around the kernel, for single steps and control functions.
- `felt_inertia`: the inertia felt at a joint, for the gains of servos.
- `schedule`: when a rollout ends, and at which times it is recorded.
- `recorder`: fills the arrays of a `Rollout`. `recorded_controls`: what it keeps of controls, and what
  follows from these. `reasons`: why a batch row stopped, in words.
- `rollout_plot`: rollouts as curves. `rollout_files`: rollouts as files. `parquet`: rollouts as tables.
"""

from kinloop.sim.contact.candidates import ContactPoint, box_corners, capsule_ends
from kinloop.sim.contact.ground import HeightField, Plane
from kinloop.sim.contact.scene import Collisions
from kinloop.sim.linearization.active_set import ContactMode, JointMode
from kinloop.sim.linearization.rollout_gradient import CostSlopes
from kinloop.sim.motors import Motor
from kinloop.sim.rollout import Rollout, load
from kinloop.sim.simulator import Simulator
from kinloop.sim.state import State
from kinloop.sim.status import Status
from kinloop.sim.user_forces import Damper, ExternalForce, JointSpring, Spring
from kinloop.sim.windings import Winding

__all__ = [
    "Collisions", "ContactMode", "ContactPoint", "CostSlopes", "Damper", "ExternalForce", "HeightField", "JointMode",
    "JointSpring", "Motor", "Plane", "Rollout", "Simulator", "Spring", "State", "Status", "Winding", "box_corners",
    "capsule_ends", "load",
]  # fmt: skip
