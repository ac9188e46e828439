"""The front door: a robot, its coordinates, and everything it can compute.

Arrays broadcast over leading axes: one state (nq,), a batch (B, nq). Methods run native kernels, made
on first use and cached on disk; `backend="numpy"` keeps to the readable algorithms.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kinloop import compute
from kinloop.algorithms.quantities import QUANTITIES
from kinloop.algorithms.trees.articulated import check_regular
from kinloop.algorithms.trees.reactions import Reactions, reactions
from kinloop.clusters import ClusterTree, assembly, close, grow, neutral, random_closed
from kinloop.clusters.closing import TOLERANCE
from kinloop.constraints import rows_of
from kinloop.errors import LoopNotClosed, MethodError, unknown
from kinloop.model import Mechanism
from kinloop.spatial import Transform

if TYPE_CHECKING:
    from kinloop.algorithms.constrained.motion_constraints import MotionConstraint

Array = np.ndarray


class Robot:
    """A mechanism with its clusters and coordinates.

    `q` holds the positions of all spanning-tree joints (nq), `v` the velocities of the independent
    coordinates (nv); `spanning_velocity(q, v)` gives the velocities of all joints (n_spanning). `tau`
    is the force dual to `v`. External wrenches `f_ext` are (bodies, 6), each in its body's frame.
    `tree` gives the mechanism's clusters in charts that are already chosen; by default both are found.
    """

    def __init__(self, mechanism: Mechanism, backend: str = "kernel", tree: ClusterTree | None = None) -> None:
        if backend not in ("kernel", "numpy"):
            raise MethodError(f"backend {backend!r} is not one of 'kernel', 'numpy'")
        self.mechanism = mechanism
        self.tree = tree if tree is not None else grow(mechanism)
        self.backend = backend
        self._kernels: dict[Any, Any] = {}
        self._neutral: Array | None = None
        if tree is None and not all(b.mass > 0 for b in mechanism.bodies):
            check_regular(self.tree, self.neutral())

    def __repr__(self) -> str:
        return (
            f"<Robot {self.name!r}: {len(self.body_names)} bodies in {len(self.tree)} clusters, "
            f"nq={self.nq}, nv={self.nv}, n_spanning={self.n_spanning}>"
        )

    def __reduce__(self) -> Any:
        return Robot, (self.mechanism, self.backend)

    # --- names and sizes

    @property
    def name(self) -> str:
        return self.mechanism.name

    @property
    def nq(self) -> int:
        """Number of spanning-tree positions."""
        return self.tree.top.nq

    @property
    def nv(self) -> int:
        """Number of independent velocities."""
        return self.tree.nv

    @property
    def n_spanning(self) -> int:
        """Number of spanning-tree velocities."""
        return self.tree.top.n_spanning

    @property
    def body_names(self) -> list[str]:
        return [b.name for b in self.mechanism.bodies]

    @property
    def joint_names(self) -> list[str]:
        return [j.name for j in self.mechanism.joints]

    @property
    def loop_names(self) -> list[str]:
        """Loops and couplings, in the order of `loop_error`."""
        return [p.name for p in self.mechanism.closures]

    @property
    def frame_names(self) -> list[str]:
        """Bodies, then named frames: all can be used where a frame is asked for."""
        return self.body_names + [f.name for f in self.mechanism.frames]

    @property
    def independent_names(self) -> list[str]:
        """Names of the coordinates of v."""
        return [self.tree.top.coordinates[d] for d in self.tree.independent_dofs]

    def frame(self, name: str) -> tuple[int, Transform]:
        """Body index and placement of a frame."""
        index = self.tree.top.body_index
        if name in index and name != "world":
            return index[name], Transform.identity()
        for f in self.mechanism.frames:
            if f.name == name:
                return index[f.body], f.placement
        raise unknown("frame", name, self.frame_names)

    def with_independent(self, names: Sequence[str]) -> Robot:
        """The same robot with other independent coordinates in the clusters that `names` touch."""
        from dataclasses import replace

        return Robot(replace(self.mechanism, independent=tuple(names)), self.backend)

    # --- configurations

    def neutral(self) -> Array:
        """A closed q, nearest to all joints at zero where that is not singular."""
        if self._neutral is None:
            self._neutral = neutral(self.tree)
        return self._neutral.copy()

    def random_state(self, rng: np.random.Generator | int | None = None) -> tuple[Array, Array]:
        """A random closed (q, v)."""
        rng = np.random.default_rng(rng)
        return random_closed(self.tree, rng), rng.normal(size=self.nv)

    def close(self, q: Any, tolerance: float = TOLERANCE) -> Array:
        """The nearest closed q; `LoopNotClosed` names the loop that cannot be closed."""
        q = compute.checked("q", q, self.nq)
        return compute.rowwise(lambda x: close(self.tree, x, tolerance), q)

    def loop_error(self, q: Any) -> Array:
        """max |phi| of every loop and coupling [m or rad], in the order of `loop_names`."""
        q = compute.checked("q", q, self.nq)
        return compute.rowwise(lambda x: np.array(list(assembly.loop_errors(self.tree, x).values())), q)

    def check_closed(self, q: Any, tolerance: float = 1e-6) -> None:
        """Raise `LoopNotClosed` if a loop stands open at q."""
        errors = np.atleast_2d(self.loop_error(q))
        if errors.size and not np.max(errors) <= tolerance:
            row, k = np.unravel_index(int(np.argmax(errors)), errors.shape)
            raise LoopNotClosed(
                f"loop {self.loop_names[k]!r} is open by {errors[row, k]:.3g} at this q (tolerance {tolerance:.0e}). "
                "Call robot.close(q) first."
            )

    def integrate(self, q: Any, v: Any, dt: float = 1.0) -> Array:
        """The closed configuration reached from q by the constant velocity v in time dt."""
        q, v = compute.checked("q", q, self.nq), compute.checked("v", v, self.nv)
        return compute.rowwise(lambda x, y: assembly.step(self.tree, x, y * dt), q, v)

    def difference(self, q0: Any, q1: Any) -> Array:
        """The velocity that leads from q0 to q1 in unit time; the inverse of `integrate`."""
        q0, q1 = compute.checked("q0", q0, self.nq), compute.checked("q1", q1, self.nq)
        dofs = self.tree.independent_dofs
        return compute.rowwise(lambda x, y: self.tree.top.difference(x, y)[dofs], q0, q1)

    def loop_jacobian(self, q: Any, v: Any = None) -> tuple[Array, Array]:
        """K and k of the rows in use: K qdd = k, K G = 0. One state."""
        q = compute.checked("q", q, self.nq)
        qd = self.spanning_velocity(q, np.zeros(self.nv) if v is None else v)
        rows = self.tree.constraint_rows(q, qd)
        return rows.K, rows.k

    def loop_rows(self, name: str, q: Any) -> Any:
        """(dofs, phi, K, k at rest) of one loop or coupling: all its rows, redundant ones too."""
        for p in self.mechanism.closures:
            if p.name == name:
                return rows_of(self.tree.top, p, compute.checked("q", q, self.nq))
        raise unknown("loop", name, self.loop_names)

    # --- dynamics

    def forward_dynamics(self, q: Any, v: Any, tau: Any, f_ext: Any = None, method: str | None = None) -> Array:
        """Accelerations of the independent coordinates under the forces tau."""
        return self._compute("forward_dynamics", (q, v, tau), method, f_ext=f_ext)

    def inverse_dynamics(self, q: Any, v: Any, a: Any, f_ext: Any = None, method: str | None = None) -> Array:
        """The forces tau that give the accelerations a."""
        return self._compute("inverse_dynamics", (q, v, a), method, f_ext=f_ext)

    def mass_matrix(self, q: Any, method: str | None = None) -> Array:
        """M (nv, nv) of the independent coordinates."""
        return self._compute("mass_matrix", (q,), method)

    def inverse_mass_matrix(self, q: Any) -> Array:
        """M^-1 (nv, nv), from the innovations factorisation."""
        return self._compute("inverse_mass_matrix", (q,))

    def log_determinant(self, q: Any) -> Array:
        """log det M."""
        return self._compute("log_determinant", (q,))

    def bias_force(self, q: Any, v: Any, f_ext: Any = None) -> Array:
        """The forces tau at zero acceleration: Coriolis, centrifugal, gravity, less external ones."""
        return self._compute("bias_force", (q, v), f_ext=f_ext)

    def inverse_osim(self, q: Any, frames: Sequence[str], method: str | None = None) -> Array:
        """J M^-1 J^T (6 m, 6 m) of the named frames, each in its own axes, angular first."""
        frames = [frames] if isinstance(frames, str) else list(frames)
        return self._compute("inverse_osim", (q,), method, frames=frames)

    def force_response(self, q: Any, frame: str, f: Any) -> tuple[Array, Array]:
        """What a wrench f on a frame does: the acceleration M^-1 J^T f and the compliance f^T J M^-1 J^T f."""
        return self._compute("force_response", (q, f), frames=[frame])

    def forward_dynamics_derivatives(self, q: Any, v: Any, tau: Any) -> tuple[Array, Array, Array]:
        """da/dq, da/dv, da/dtau in the tangent space: loops stay closed, the other arguments are held."""
        return self._compute("forward_dynamics_derivatives", (q, v, tau))

    def inverse_dynamics_derivatives(self, q: Any, v: Any, a: Any) -> tuple[Array, Array, Array]:
        """dtau/dq, dtau/dv, dtau/da = M in the tangent space."""
        return self._compute("inverse_dynamics_derivatives", (q, v, a))

    def constrained_dynamics(
        self,
        q: Any,
        v: Any,
        tau: Any,
        constraints: Sequence[MotionConstraint] = (),
        method: str | None = None,
        f_ext: Any = None,
        on_conflict: str = "error",
        compliance: float | None = None,
    ) -> tuple[Array, Array]:
        """Accelerations under tau and motion constraints, and the constraints' multipliers, row by row.

        Constraints are `kinloop.Point`, `Weld`, `Rows`; loops in `Mechanism.constrained` are held too, last.
        A multiplier is the force its row exerts on the frame, in the frame's axes. Redundant constraints get
        the shortest multipliers; conflicting ones an error, or `on_conflict="least_squares"`. The soft methods
        let every row yield by `compliance` times its multiplier.
        """
        from kinloop import compute_constrained  # when first needed: it takes a tenth of every start

        return compute_constrained.constrained_dynamics(
            self, q, v, tau, constraints, method, f_ext, on_conflict, compliance
        )

    def delassus(self, q: Any, constraints: Sequence[MotionConstraint], method: str | None = None) -> Array:
        """J M^-1 J^T (m, m) of the rows of motion constraints: inverse_osim, rows chosen by K."""
        from kinloop import compute_constrained

        return compute_constrained.delassus(self, q, constraints, None, method)

    def delassus_solve(
        self, q: Any, constraints: Sequence[MotionConstraint], x: Any, method: str | None = None
    ) -> Array:
        """(J M^-1 J^T)^-1 x: the multipliers that give the rows the accelerations x, without the dense matrix."""
        from kinloop import compute_constrained

        return compute_constrained.delassus(self, q, constraints, x, method)

    def reactions(self, q: Any, v: Any, tau: Any, f_ext: Any = None) -> Reactions:
        """Wrenches in all tree joints and loops under tau; one state."""
        q, v = compute.checked("q", q, self.nq), compute.checked("v", v, self.nv)
        tau = compute.checked("tau", tau, self.nv)
        if f_ext is not None:
            f_ext = compute.checked_wrenches(f_ext, len(self.tree.top))
        a = self.forward_dynamics(q, v, tau, f_ext)
        return reactions(self.tree, q, v, a, tau, f_ext)

    # --- kinematics and energy

    def spanning_velocity(self, q: Any, v: Any) -> Array:
        """qd = G v: velocities of all spanning-tree joints."""
        return self._compute("spanning_velocity", (q, v))

    def spanning_jacobian(self, q: Any) -> Array:
        """G (n_spanning, nv)."""
        return self._compute("spanning_jacobian", (q,))

    def spanning_bias(self, q: Any, v: Any) -> Array:
        """g (n_spanning): qdd = G a + g."""
        return self._compute("spanning_bias", (q, v))

    def kinetic_energy(self, q: Any, v: Any) -> Array:
        """Kinetic energy [J]."""
        return self._compute("kinetic_energy", (q, v))

    def potential_energy(self, q: Any) -> Array:
        """Potential energy in gravity [J], zero at the world's origin."""
        return self._compute("potential_energy", (q,))

    def momentum(self, q: Any, v: Any) -> Array:
        """Spatial momentum about the world's origin, world axes [N m s, N s]."""
        return self._compute("momentum", (q, v))

    def center_of_mass(self, q: Any) -> Array:
        """Centre of mass in the world [m]."""
        return self._compute("center_of_mass", (q,))

    def frame_pose(self, q: Any, frame: str) -> Array:
        """Pose of a frame in the world, as a 4x4 matrix."""
        return self._compute("frame_pose", (q,), frames=[frame])

    def frame_jacobian(self, q: Any, frame: str) -> Array:
        """J (6, nv): twist of a frame in its own axes, angular first."""
        return self._compute("frame_jacobian", (q,), frames=[frame])

    def frame_jacobian_rate(self, q: Any, v: Any, frame: str) -> Array:
        """dJ/dt (6, nv)."""
        return self._compute("frame_jacobian_rate", (q, v), frames=[frame])

    def frame_velocity(self, q: Any, v: Any, frame: str) -> Array:
        """Twist of a frame in its own axes [rad/s, m/s]."""
        return self._compute("frame_velocity", (q, v), frames=[frame])

    def frame_bias_acceleration(self, q: Any, v: Any, frame: str) -> Array:
        """dJ/dt v: spatial acceleration of a frame at zero independent acceleration, in its own axes."""
        return self._compute("frame_bias_acceleration", (q, v), frames=[frame])

    # --- kernels

    def compile(
        self,
        quantity: str,
        method: str | None = None,
        *,
        frames: Sequence[str] = (),
        constraints: Sequence[MotionConstraint] = (),
        f_ext: bool = False,
        parameters: Sequence[str] = (),
        dtype: str = "float64",
        cache: bool = True,
    ) -> Any:
        """A kernel for one of `kinloop.quantities()`: an explicit handle to the machine code.

        Its inputs are the quantity's own (q, v, tau, ...), then f_ext (flat, 6 per body) if asked for,
        then every name in `parameters` ("torso.mass", "knee.com", "gear.ratio", ...). For constrained motion
        the last input holds the constraints' numbers (accelerations, K, k, at), if they have any.
        """
        if quantity not in QUANTITIES and quantity in compute.constrained_quantities():
            from kinloop import compute_constrained

            placed = compute_constrained.place(self, constraints)
            return compute_constrained.kernel(self, quantity, method, placed, f_ext, str(dtype), cache)
        if quantity not in QUANTITIES:
            raise unknown("quantity", quantity, QUANTITIES)
        return compute.kernel(self, quantity, method, tuple(frames), f_ext, tuple(parameters), str(dtype), cache)

    def _compute(
        self, quantity: str, arrays: tuple, method: str | None = None, f_ext: Any = None, frames: Sequence[str] = ()
    ) -> Any:
        return compute.compute(self, quantity, arrays, method, f_ext, tuple(frames))
