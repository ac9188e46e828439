"""The front door: a robot, its coordinates, and everything it can compute.

Arrays broadcast over leading axes: one state (nq,), a batch (B, nq). Methods run native kernels, made
on first use and cached on disk; `backend="numpy"` keeps to the readable algorithms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from kinloop.algorithms.constrained.motion_constraints import Constraints
from kinloop.algorithms.requests import ask
from kinloop.algorithms.trees.articulated import check_regular, is_solid
from kinloop.algorithms.trees.base_parameters import BaseParameters, base_parameters
from kinloop.algorithms.trees.reactions import Reactions
from kinloop.algorithms.trees.regressor import with_inertial_parameters
from kinloop.clusters import ClusterTree, grow, neutral
from kinloop.clusters.closing import TOLERANCE
from kinloop.compiler import Kernel
from kinloop.configurations import Configurations
from kinloop.front_door import FrontDoor
from kinloop.inputs import checked_count
from kinloop.kernels import Computed, Kernels
from kinloop.model import LoopRows, Mechanism
from kinloop.random_states import RandomStates
from kinloop.robot_derivatives import RobotDerivatives
from kinloop.scalar import Array
from kinloop.states import StateCheck

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from kinloop.inputs import Wrenches
    from kinloop.sim.file_motors import FileMotor
    from kinloop.sim.motors import Motor


class Robot(RobotDerivatives):
    """A mechanism with its clusters and coordinates.

    `q` holds the positions of all spanning-tree joints (nq), `v` the velocities of the independent
    coordinates (nv); `spanning_velocity(q, v)` gives the velocities of all joints (n_spanning). `tau`
    is the force dual to `v`. External wrenches `f_ext` are (bodies, 6), each in its body's frame,
    angular first, or a mapping from the names of bodies that feel one: {"torso": [0, 0, 0, 10, 0, 0]}.
    Positions that are no closed, regular configuration are refused with the reason; `check="off"` leaves that out for
    who has closed them, and may get numbers that mean nothing where not.
    """

    def __init__(self, mechanism: Mechanism, backend: str = "kernel", check: str = "on") -> None:
        self._take(grow(mechanism), backend, check)
        if not all(map(is_solid, mechanism.bodies)):
            check_regular(self.tree, self.neutral())

    @classmethod
    def from_tree(cls, tree: ClusterTree, backend: str = "kernel", check: str = "on") -> Robot:
        """The robot of a cluster tree that is there already, in that tree's charts."""
        robot = cls.__new__(cls)
        robot._take(tree, backend, check)
        return robot

    def _take(self, tree: ClusterTree, backend: str, check: str) -> None:
        super().__init__(tree)
        self.backend = backend
        self.kernels = Kernels(tree, backend)
        self._states = StateCheck(self.kernels, check)
        self._door = FrontDoor(self.kernels, self._states)
        self._answers = self._several = self._door.answers
        self._by, self._of_frames, self._several_of_frames = self._door.by, self._door.of_frames, self._door.of_frames
        self._random = RandomStates(self.kernels)
        self._configurations = Configurations(self.kernels, self._states)
        self._configured, self._durations = self._configurations.answers, self._configurations.durations

    def __reduce__(self) -> tuple[Any, ...]:
        return Robot.from_tree, (self.tree, self.backend, self._states.check)

    def with_independent(self, names: Sequence[str]) -> Robot:
        """The same robot with other independent coordinates in the clusters that `names` touch."""
        return Robot(replace(self.mechanism, independent=tuple(names)), self.backend, self._states.check)

    def with_inertial_parameters(self, parameters: ArrayLike) -> Robot:
        """The same robot with other numbers pi (len(pi)) [kg, kg m, kg m^2, ...]; see `inertial_parameters`."""
        return Robot(with_inertial_parameters(self.mechanism, parameters), self.backend, self._states.check)

    def base_parameters(self, rng: np.random.Generator | int | None = 0) -> BaseParameters:
        """The combinations of `inertial_parameters` that forces can show, from regressors at random states."""
        rng, names = np.random.default_rng(rng), self.parameter_names
        count = 20 + 3 * len(names) // max(self.nv, 1)
        drawn = [self.random_state(rng) for _ in range(count)]
        q, v = (np.array(x) for x in zip(*drawn, strict=True))
        return base_parameters(self.regressor(q, v, rng.normal(size=v.shape)).reshape(-1, len(names)), names)

    def motors(self, names: Sequence[str] | None = None) -> list[Motor | FileMotor]:
        """Motors, for simulations and motor spaces: all of the model file, or those that are named.

        A name is that of an actuator of the file, or of a coordinate, "joint" or "joint[2]", which then gets a motor
        whose control is its force, within the limit of its joint.
        """
        from kinloop.sim.file_motors import model_motors, named_motors  # against the layers: motors are simulated

        return model_motors(self.tree)[0] if names is None else named_motors(self.tree, names)

    # --- configurations

    def neutral(self) -> Array:
        """A closed q (nq) [rad, m], nearest to all joints at zero where that is not singular."""
        return self.tree.once(neutral).copy()

    def random_state(
        self, rng: np.random.Generator | int | None = None, size: int | None = None
    ) -> tuple[Array, Array]:  # fmt: skip
        """A random closed q (nq) and v (nv) to test at: well conditioned, within limits, free angles in (-pi, pi].

        Not uniform over all that is closed: independent coordinates are uniform within limits (else over a turn or 1 m)
        where loops can follow from `neutral` without a dead centre, or somewhere on that way. v is standard normal.
        With `size`, so many rows of each. A seed always gives the same state, and the same rows however many are asked
        for; these are others than calls without `size` give. Both backends draw the same, to 1e-6 [rad, m].
        """
        rng = np.random.default_rng(rng)
        return self._random.one(rng) if size is None else self._random.rows(rng, checked_count("size", size, least=0))

    def close(self, q: ArrayLike, tolerance: float = TOLERANCE) -> Array:
        """The nearest closed q (nq) [rad, m]; `LoopNotClosed` names the loop that cannot be closed."""
        if tolerance == TOLERANCE:
            return self._configured["close"](q)
        return self._configurations.close(q, tolerance)

    def loop_error(self, q: ArrayLike) -> Array:
        """max |phi| (loops) of every loop and coupling [m or rad], in the order of `loop_names`."""
        return self._configured["loop_error"](q)

    def check_closed(self, q: ArrayLike, tolerance: float = TOLERANCE) -> None:
        """Raise `LoopNotClosed` if a loop is open at q (nq) [rad, m], `NotAState` if a quaternion's length is not 1."""
        if tolerance == TOLERANCE:
            self._configured["check_closed"](q)
        else:
            self._configurations.check_closed(q, tolerance)

    def integrate(self, q: ArrayLike, v: ArrayLike, dt: float = 1.0) -> Array:
        """The closed q (nq) [rad, m] reached from q by the constant velocity v (nv) [rad/s, m/s] in time dt [s].

        Loops stay assembled as they are: a long step is taken in parts, and one that they cannot follow, since a dead
        centre is in its way, is an error. Loops that can be assembled in more than two ways may change between some of
        them in a step of up to half a radian.
        """
        try:
            duration = self._durations[dt]
        except TypeError:  # an array without axes
            duration = self._durations[float(dt)]
        return self._configured["integrate"](q, v, duration)

    def difference(self, q0: ArrayLike, q1: ArrayLike) -> Array:
        """The velocity (nv) [rad/s, m/s] that leads from q0 to q1 (nq) in unit time; the inverse of `integrate`."""
        return self._configured["difference"](q0, q1)

    @property
    def state_faults(self) -> Computed | None:
        """What says how far q is from a closed, regular configuration: two numbers, above 1 is too far.

        The second is about the independent coordinates. None where nothing can be wrong, or with `check="off"`.
        """
        return self._states.guard()

    def loop_jacobian(self, q: ArrayLike, v: ArrayLike | None = None) -> tuple[Array, Array]:
        """K (rows, n_spanning) and k (rows) [rad/s^2, m/s^2] of the rows in use: K qdd = k, K G = 0."""
        K, k = self._configured["loop_jacobian"](q, np.zeros(self.nv) if v is None else v)
        return K, k

    def loop_rows(self, name: str, q: ArrayLike) -> LoopRows:
        """(dofs, phi (rows) [m, rad], K (rows, dofs), k at rest) of a loop or coupling: redundant rows too."""
        return self._configurations.loop_rows(name, q)

    # --- dynamics

    def forward_dynamics(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, f_ext: Wrenches | None = None, method: str | None = None
    ) -> Array:
        """Accelerations a (nv) [rad/s^2, m/s^2] under the forces tau (nv) [N m, N] and wrenches f_ext (bodies, 6)."""
        if method is None and f_ext is None:
            return self._answers["forward_dynamics"](q, v, tau)
        return self._by("forward_dynamics", (q, v, tau), method, f_ext)

    def inverse_dynamics(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, f_ext: Wrenches | None = None, method: str | None = None
    ) -> Array:
        """The forces tau (nv) [N m, N] that give the accelerations a (nv) [rad/s^2, m/s^2]."""
        if method is None and f_ext is None:
            return self._answers["inverse_dynamics"](q, v, a)
        return self._by("inverse_dynamics", (q, v, a), method, f_ext)

    def mass_matrix(self, q: ArrayLike, method: str | None = None) -> Array:
        """M (nv, nv) [kg m^2, kg m, kg] of the independent coordinates."""
        return self._answers["mass_matrix"](q) if method is None else self._by("mass_matrix", (q,), method)

    def inverse_mass_matrix(self, q: ArrayLike) -> Array:
        """M^-1 (nv, nv) [1/(kg m^2), ...], from the innovations factorisation."""
        return self._answers["inverse_mass_matrix"](q)

    def log_determinant(self, q: ArrayLike) -> Array:
        """log det M, a number for every state, of M in SI units [kg m^2, kg]."""
        return self._answers["log_determinant"](q)

    def bias_force(self, q: ArrayLike, v: ArrayLike, f_ext: Wrenches | None = None) -> Array:
        """The forces tau (nv) [N m, N] at zero acceleration: Coriolis, centrifugal, gravity, less external ones."""
        return self._answers["bias_force"](q, v) if f_ext is None else self._by("bias_force", (q, v), None, f_ext)

    def gravity_force(self, q: ArrayLike) -> Array:
        """The forces tau (nv) [N m, N] that hold the robot against gravity: the gradient of the potential energy."""
        return self._answers["gravity_force"](q)

    def coriolis_matrix(self, q: ArrayLike, v: ArrayLike) -> Array:
        """C (nv, nv) [N m s, N s]: C v + gravity_force is the bias force, C + C^T is the rate of M along the motion."""
        return self._answers["coriolis_matrix"](q, v)

    def inverse_osim(self, q: ArrayLike, frames: Sequence[str], method: str | None = None) -> Array:
        """J M^-1 J^T (6 m, 6 m) [1/(kg m^2), 1/kg] of m named frames, each in its own axes, angular first."""
        if method is None:
            return self._of_frames("inverse_osim", frames)(q)
        return self._by("inverse_osim", (q,), method, None, frames)

    def force_response(self, q: ArrayLike, frame: str, f: ArrayLike) -> tuple[Array, Array]:
        """What a wrench f (6) [N m, N] on a frame does: M^-1 J^T f (nv), and the number f^T J M^-1 J^T f."""
        found: tuple[Array, Array] = self._several_of_frames("force_response", frame)(q, f)
        return found

    def constrained_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        constraints: Constraints = (),
        method: str | None = None,
        f_ext: Wrenches | None = None,
        on_conflict: str = "error",
        compliance: float | None = None,
    ) -> tuple[Array, Array]:
        """Accelerations (nv) [rad/s^2, m/s^2] under tau and motion constraints, and multipliers (rows) [N m, N].

        Constraints are `kinloop.Point`, `Weld`, `Rows`; loops in `Mechanism.constrained` are held too, last.
        A multiplier is the force its row exerts on the frame, in the frame's axes. Redundant constraints get
        the shortest multipliers; conflicting ones an error, or `on_conflict="least_squares"`. The soft methods
        let every row yield by `compliance` times its multiplier.
        """
        door = self._door
        a, multipliers = door.under(
            "constrained_dynamics", (q, v, tau), constraints, method, f_ext, on_conflict, compliance
        )
        return a, multipliers

    def delassus(self, q: ArrayLike, constraints: Constraints, method: str | None = None) -> Array:
        """J M^-1 J^T (m, m) [1/(kg m^2), 1/kg] of the rows of motion constraints: inverse_osim, rows chosen by K."""
        found: Array = self._door.under("delassus", (q,), constraints, method)
        return found

    def delassus_solve(self, q: ArrayLike, constraints: Constraints, x: ArrayLike, method: str | None = None) -> Array:
        """(J M^-1 J^T)^-1 x: multipliers (m) [N m, N] that give rows accelerations x (m); no dense matrix."""
        found: Array = self._door.under("delassus_solve", (q, x), constraints, method)
        return found

    def reactions(self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, f_ext: Wrenches | None = None) -> Reactions:
        """Wrenches (6) [N m, N] in all tree joints and loops under tau (nv), by name."""
        if f_ext is None:
            return Reactions(self.tree, self._answers["reactions"](q, v, tau))
        return Reactions(self.tree, self._by("reactions", (q, v, tau), None, f_ext))

    # --- any quantity, by its name

    def compute(
        self,
        quantity: str,
        *inputs: ArrayLike,
        method: str | None = None,
        frames: Sequence[str] = (),
        constraints: Constraints = (),
        f_ext: Wrenches | None = None,
        axes: str = "body",
        derivative: str | None = None,
    ) -> Any:
        """One of `kinloop.quantities()` at q (nq), v (nv), ... in SI units [rad, m, N]: its output, or their tuple.

        With a `derivative`, "jvp", "vjp" or "hvp", the inputs and the outputs that it adds come last: see `compile`.
        """
        if derivative is not None:
            return self._door.differentiate(derivative, quantity, inputs, method, f_ext, frames, constraints, axes)
        plain = method is None and f_ext is None and not frames and not constraints and axes == "body"
        if plain and quantity in self._answers:
            return self._answers[quantity](*inputs)
        return self._door.answer(quantity, inputs, method, f_ext, frames, constraints, axes)

    def compile(
        self,
        quantity: str,
        method: str | None = None,
        *,
        frames: Sequence[str] = (),
        constraints: Constraints = (),
        f_ext: bool = False,
        parameters: Sequence[str] = (),
        axes: str = "body",
        derivative: str | None = None,
        dtype: str = "float64",
        cache: bool = True,
    ) -> Kernel:
        """A kernel for one of `kinloop.quantities()`: an explicit handle to the machine code, which checks no states.

        Its inputs are the quantity's own (q, v, tau, ...), then f_ext (flat, 6 per body) if asked for,
        then every name in `parameters` ("torso.mass", "knee.com", "gear.ratio", ...). For constrained motion
        the last input holds the constraints' numbers (accelerations, K, k, at), if they have any.

        With a `derivative` more inputs follow, and outputs beside the quantity's own. "jvp": a direction of every input
        (dq, dv, dtau, ...), the derivatives of the outputs along them (da). "vjp": a weight for every entry of every
        output (bar_a), the gradient of the weighted sum (bar_q, bar_v, bar_tau, ...). "hvp": weights, then directions;
        the gradient, and its derivative along the directions (dbar_q, dbar_v, dbar_tau, ...). Directions of q, and
        gradients with respect to it, have nv entries: loops stay closed. docs/algorithms/reverse_mode.md
        """
        asked = ask(self.tree.top, quantity, method, frames, constraints, f_ext, parameters, None, axes, derivative)
        return self.kernels.compile(asked, str(dtype), cache)
