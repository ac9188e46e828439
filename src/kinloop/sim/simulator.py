"""The simulator: a robot, a step length, a ground; steps and rollouts of whole batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kinloop.clusters import ClusterTree
from kinloop.errors import MethodError, ShapeError, SingularConfiguration
from kinloop.inputs import checked
from kinloop.kernels import Interpreted, charts_key
from kinloop.robot import Robot
from kinloop.sim.actuation import Motor, make_drive
from kinloop.sim.batch import Rows
from kinloop.sim.charts.loop_kernels import native
from kinloop.sim.charts.recharting import typical_singular
from kinloop.sim.contact.candidates import find_candidates
from kinloop.sim.contact.impact import Contact
from kinloop.sim.contact.joint_stops import joint_limits
from kinloop.sim.engine import Engine
from kinloop.sim.integrators.adaptive import Field, rollout_adaptive
from kinloop.sim.integrators.stepper import BEGINNING, RUNNING, memory_size
from kinloop.sim.recorder import Recorder
from kinloop.sim.rollout import Rollout, State
from kinloop.spatial.transform import Array

INTEGRATORS = ("semi_implicit", "rk4", "adaptive")
CHUNK = 250


class Simulator:
    """Simulates a robot on closed loops, with or without ground, one state or a batch.

    `motors` says where controls act (`Motor`s or coordinate names, or "model" for those of the model file);
    by default a control is `tau`, the force on the robot's independent coordinates. `integrator`:
    "semi_implicit" (the default, and the only one that takes contact), "rk4", "adaptive" (to `tolerance`).
    `ground` is a `Plane` or `HeightField`, `contacts` what may touch it (see `candidates.find_candidates`),
    `limits` says whether joint stops and dry friction act (in "semi_implicit" only), `iterations` how often the
    contact solver sweeps, `substeps` how many classical steps "rk4" takes within one dt.
    Charts change by themselves; `v` is always given and recorded in the robot's own coordinates.
    """

    def __init__(
        self,
        robot: Robot,
        dt: float = 1e-3,
        ground: Any = None,
        integrator: str = "semi_implicit",
        contacts: Any = None,
        motors: Sequence[Motor | str] | str | None = None,
        limits: bool = True,
        iterations: int = 5,
        tolerance: float = 1e-10,
        substeps: int = 8,
    ) -> None:
        if integrator not in INTEGRATORS:
            raise MethodError(f"integrator {integrator!r} is not one of {', '.join(map(repr, INTEGRATORS))}")
        if not (np.isfinite(dt) and dt > 0):
            raise MethodError(f"dt must be a positive number of seconds, received {dt!r}")
        self.robot, self.dt, self.integrator, self.ground = robot, float(dt), integrator, ground
        self.tolerance, self.substeps = float(tolerance), int(substeps)
        if self.substeps < 1:
            raise MethodError(f"substeps must be at least 1, received {substeps!r}")
        self.drive = make_drive(robot.tree, motors)
        self.contact = self._contact(ground, contacts, limits, iterations)
        self._tree = native(robot.kernels)
        self._own = charts_key(self._tree)
        self._samples = robot.tree.samples.jacobians
        self._typical = typical_singular(robot.tree, self._samples)
        self._engines: dict[tuple, Engine] = {}
        self._fields: dict[tuple, Field] = {}
        self._begins: dict[int, tuple[Array, Array]] = {}

    def _contact(self, ground: Any, contacts: Any, limits: bool, iterations: int) -> Contact | None:
        candidates = find_candidates(self.robot, contacts) if ground is not None else []
        joints = joint_limits(self.robot.tree, self.drive) if limits else []
        if not candidates and not joints:
            return None
        if self.integrator != "semi_implicit":
            if ground is None:
                return None
            raise MethodError(f"contact needs integrator='semi_implicit', received {self.integrator!r}")
        return Contact(ground, candidates, joints, int(iterations))

    @property
    def nu(self) -> int:
        """Number of controls."""
        return len(self.drive.motors)

    @property
    def control_names(self) -> list[str]:
        return [m.joint for m in self.drive.motors]

    def engine(self, tree: ClusterTree | None = None) -> Engine:
        """The engine for a tree's charts, made once."""
        key = charts_key(tree) if tree is not None else self._own
        tree = tree or self._tree
        if key not in self._engines:
            self._engines[key] = Engine(
                self.robot, tree, self.drive, self._samples, self.dt, self.integrator, self.contact, self.substeps
            )
        return self._engines[key]

    def field(self, engine: Engine) -> Field:
        """The right-hand side of the adaptive integrator in an engine's charts, made once."""
        key = charts_key(engine.tree)
        if key not in self._fields:
            self._fields[key] = Field(engine)
        return self._fields[key]

    def state(self, q: Any = None, v: Any = None, t: Any = 0.0, qd: Any = None) -> State:
        """A batch of states from closed positions q and velocities v (zero if left out), or spanning qd."""
        robot = self.robot
        q = np.atleast_2d(checked("q", robot.neutral() if q is None else q, robot.nq))
        robot.check_closed(q, 1e-8)
        if qd is None:
            v = np.atleast_2d(checked("v", np.zeros(robot.nv) if v is None else v, robot.nv))
            rows = max(len(q), len(v))
            q, v = (np.broadcast_to(x, (rows, x.shape[1])).copy() for x in (q, v))
            qd = np.atleast_2d(robot.spanning_velocity(q, v))
            if not np.all(np.isfinite(qd)):
                row = int(np.argwhere(~np.all(np.isfinite(qd), axis=1))[0, 0])
                raise SingularConfiguration(
                    f"at q of row {row} the coordinates {robot.independent_names} do not determine the motion; "
                    "start elsewhere, or give the velocities of all joints as qd="
                )
        qd = np.atleast_2d(checked("qd", qd, robot.n_spanning))
        rows = max(len(q), len(qd))
        q, qd = (np.broadcast_to(x, (rows, x.shape[1])).copy() for x in (q, qd))
        time = np.broadcast_to(np.asarray(t, dtype=float), (rows,)).copy()
        return State(
            q,
            qd,
            time,
            np.ones(rows, dtype=bool),
            np.zeros((rows, memory_size(self.robot.tree, self.contact, self.integrator))),
        )

    def rows_of(self, state: State) -> Rows:
        rows = Rows(self.engine, self._typical, self.dt, self.drive)
        engine = self._engine_of(state)
        rows.start(engine, state.q, state.qd[:, engine.tree.independent_dofs], state.qd, state.memory)
        rows.state["watch"][~state.ok, 0] = 4.0
        return rows

    def step(self, state: State, u: Any = None) -> State:
        """The state one dt later under controls u (nu,) or (B, nu)."""
        if self.integrator == "adaptive":
            raise MethodError("the adaptive integrator has no single step; use rollout")
        u = checked("u", np.zeros(self.nu) if u is None else u, self.nu)
        if u.shape != (len(state), self.nu):
            u = np.broadcast_to(u, (len(state), self.nu))
        done = self._direct(state, u)
        return done or self._run(state, u[:, None], 1, Recorder(self, (), 1, 1, len(state)), None, None)[0]

    def _engine_of(self, state: State) -> Engine:
        """The engine in whose charts a state last moved, else the robot's own."""
        return (self._engines.get(state.charts) if state.charts else None) or self.engine()

    def _direct(self, state: State, u: Array) -> State | None:
        """One step by a single call of the kernel; None if some row needs more than that."""
        engine, rows = self._engine_of(state), len(state)
        if isinstance(engine.step, Interpreted) or not state.ok.all():
            return None
        if rows not in self._begins:
            self._begins[rows] = np.tile(BEGINNING, (rows, 1)), np.ones((rows, 1))
        begin, until = self._begins[rows]
        given = [state.q, state.qd[:, engine.independent], state.qd, begin, state.memory, u, until]
        found = engine.step(*([x[0] for x in given] if rows == 1 else given))
        out = dict(zip(engine.step.outputs, found, strict=True))
        if not (out["watch_next"][..., 0] == RUNNING).all():
            return None
        q, v, memory = out["q_next"], out["v_next"], out["memory_next"]
        qd = engine.velocities(q, v)
        q, qd, memory = (x.reshape(rows, -1) for x in (q, qd, memory))
        return State(q, qd, state.t + self.dt, state.ok, memory, state.charts)

    def rollout(
        self,
        q0: Any = None,
        v0: Any = None,
        controls: Any = None,
        *,
        steps: int | None = None,
        record: Sequence[str] = ("q", "v"),
        every: int = 1,
        threads: int | None = None,
        progress: Callable[[int, int], None] | None = None,
        state: State | None = None,
    ) -> Rollout:
        """Simulate a horizon for all rows at once.

        `controls`: None, (nu,) held, (T, nu) for all rows, (B, T, nu), or a function (t, state) -> (B, nu)
        called once per step. `record` names what to keep after every `every`-th step: q, v, qd, energy,
        kinetic_energy, potential_energy, loop_error, and with contact contact_force, gap, residual.
        `progress(done, steps)` is called now and then.
        """
        single = state is None and np.ndim(q0) <= 1 and np.ndim(v0) <= 1 and np.ndim(controls) < 3
        state = self.state(q0, v0) if state is None else state
        u, steps, state = self._controls(controls, steps, state)
        recorder = Recorder(self, tuple(record), every, steps, len(state))
        if self.integrator == "adaptive":
            return rollout_adaptive(self, state, u, steps, recorder, single)
        final, rows = self._run(state, u, steps, recorder, threads, progress)
        return recorder.result(final, rows, state, single)

    def _controls(self, controls: Any, steps: int | None, state: State) -> tuple[Any, int, State]:
        if callable(controls):
            if steps is None:
                raise MethodError("a control function needs steps=, the number of steps to take")
            return controls, int(steps), state
        u = checked("controls", np.zeros(self.nu) if controls is None else controls, self.nu)
        if u.ndim > 3:
            raise ShapeError(f"controls must have shape (nu,), (T, nu) or (B, T, nu), received {u.shape}")
        steps = int(steps) if steps is not None else (u.shape[-2] if u.ndim > 1 else 0)
        if steps < 1:
            raise MethodError("say how many steps to take: steps=, or controls with a time axis (T, nu)")
        if u.ndim > 1 and u.shape[-2] not in (1, steps) and u.shape[-2] < steps:
            raise ShapeError(f"controls have {u.shape[-2]} steps, {steps} are asked for")
        u = u if u.ndim == 3 else u[None] if u.ndim == 2 else u[None, None]
        rows = max(len(state), len(u))
        if len(state) not in (1, rows) or len(u) not in (1, rows):
            raise ShapeError(f"{len(state)} states and controls for {len(u)} rows do not match")
        if len(state) < rows:
            state = state.repeated(rows)
        return np.broadcast_to(u, (rows, *u.shape[1:])), steps, state

    def _run(
        self, state: State, u: Any, steps: int, recorder: Recorder, threads: int | None, progress: Any
    ) -> tuple[State, Rows]:
        rows = self.rows_of(state)
        chunk = 1 if callable(u) else max(recorder.every, CHUNK // recorder.every * recorder.every)
        for start in range(0, steps, chunk):
            n = min(chunk, steps - start)
            if callable(u):
                asked = checked("u", u(start * self.dt, self.read(rows, state)), self.nu)
                control = np.broadcast_to(asked, (len(state), self.nu))[:, None]
            else:
                control = u if u.shape[1] == 1 else u[:, start : start + n]
            self._chunk(rows, control, start, n, recorder, threads)
            if progress is not None:
                progress(start + n, steps)
        return self.read(rows, state), rows

    def _chunk(self, rows: Rows, u: Array, start: int, n: int, recorder: Recorder, threads: int | None) -> None:
        """Bring every row n steps further, whatever charts it needs on the way."""
        rows.until[:] = start + n
        for k in rows.by_engine():
            self._advance(rows, k, u[k], start, n, recorder, threads)
        while len(waiting := rows.stopped()):
            for k in waiting:
                at = 0 if u.shape[1] == 1 else min(int(rows.state["watch"][k, 1]) - start, u.shape[1] - 1)
                rows.help(int(k), u[k, at])
                if rows.state["watch"][k, 0] == 1.0:
                    done = int(rows.state["watch"][k, 1])
                    recorder.fill(rows, int(k), done)
                    if done < start + n:
                        shifted = u[[k]] if u.shape[1] == 1 else u[[k], done - start :]
                        self._advance(rows, np.array([k]), shifted, done, start + n - done, recorder, threads)

    def _advance(
        self, rows: Rows, k: Array, u: Array, start: int, n: int, recorder: Recorder, threads: int | None
    ) -> None:
        engine = rows.engines[rows.engine_of[k[0]]]
        every = recorder.every if start % recorder.every == 0 else 1
        keep = recorder.keep(engine)
        state = {name: x[k] for name, x in rows.state.items()}
        state, kept = engine.advance(state, u, rows.until[k], n, every, keep, threads)
        rows.take(k, state)
        recorder.store(engine, k, start, every, kept)

    def read(self, rows: Rows, before: State) -> State:
        """The spanning states of all rows."""
        q, qd = rows.state["q"].copy(), np.empty_like(rows.state["qd"])
        groups = rows.by_engine()
        engines = [rows.engines[rows.engine_of[k[0]]] for k in groups]
        for k, engine in zip(groups, engines, strict=True):
            qd[k] = engine.velocities(q[k], rows.state["v"][k])
        watch, charts = rows.state["watch"], engines[0].charts if len(engines) == 1 else None
        time, ok = before.t + watch[:, 1] * self.dt, watch[:, 0] == RUNNING
        return State(q, qd, time, ok, rows.state["memory"].copy(), charts)
