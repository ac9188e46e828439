"""The simulator: a robot, a step length, a ground, motors; steps and rollouts of whole batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kinloop.algorithms.requests import refuse_constrained_loops
from kinloop.clusters.framing import framed
from kinloop.compiler.keys import parts_digest
from kinloop.errors import MethodError, SingularConfiguration
from kinloop.inputs import LARGEST, checked, checked_count, checked_number
from kinloop.interpreted import rowwise
from kinloop.robot import Robot
from kinloop.scalar import Array
from kinloop.sim.actuators import make_drive, resting_activations
from kinloop.sim.asked_contact import Asked, check_motors, check_named, with_mobilities, with_stiff_gains
from kinloop.sim.batch import Batch
from kinloop.sim.contact.candidates import ContactPoint
from kinloop.sim.contact.ground import Ground
from kinloop.sim.contact.scene import Collisions
from kinloop.sim.controls import ControlFunction, as_controls
from kinloop.sim.engine import Engine
from kinloop.sim.file_motors import FileMotor
from kinloop.sim.integrators import INTEGRATORS, IntegratorOptions
from kinloop.sim.integrators.fixed_step import FixedStep
from kinloop.sim.integrators.integrator import Progress
from kinloop.sim.keyframes import at_keyframe
from kinloop.sim.motors import Motor
from kinloop.sim.open_numbers import Parts, open_numbers
from kinloop.sim.outside import make_outside
from kinloop.sim.recorder import Recorder, RecordPlan
from kinloop.sim.rollout import Rollout
from kinloop.sim.schedule import Span, scheduled, span_of
from kinloop.sim.sensors import OF_STEPS, needed
from kinloop.sim.simulator_derivatives import SimulatorDerivatives
from kinloop.sim.singularity import AT_SINGULAR
from kinloop.sim.state import Maker, State, equal_rows, following, fresh, times_of_rows
from kinloop.sim.stepper import System, memory_size
from kinloop.sim.user_forces import UserForce
from kinloop.sim.watch import BEGINNING

SMALLEST = float(np.finfo(float).tiny)
"""The smallest step length and tolerance."""

_BEGINNING = BEGINNING[None]


class Simulator(SimulatorDerivatives):
    """Simulates a robot on closed loops, with or without ground, one state or a batch.

    `motors` says where controls act (`Motor`s or coordinate names, or "model" for those of the model file);
    by default a control is `tau`, the force on the robot's independent coordinates. `integrator`:
    "semi_implicit" (the default, and the only one that takes contact), "rk4", "adaptive" (to `tolerance`).
    `ground` is a `Plane` or `HeightField`, `contacts` what may touch it (see `candidates.find_candidates`),
    `collisions=True`, or `Collisions(...)`, lets all collision shapes of bodies and of the world touch each other
    instead, and a ground if one is given; `ground="model"`, the world as the model says, implies that,
    `limits` says whether joint stops and dry friction act (in "semi_implicit" only; others warn), `iterations` how
    often the contact solver sweeps, `substeps` how many classical steps "rk4" takes within one dt. `monitor` watches
    energy (`energy_monitor`) and loop errors in every step: a row whose energy does not balance says so in its status.
    By default it does with "rk4", whose steps it makes no longer. `forces` are those of users (`user_forces`).
    `v` is always given and recorded in the robot's own coordinates. `open` names numbers that every batch row has its
    own of, "trunk.mass", "ground.friction", "knee.strength", ... (`open_numbers`).
    """

    def __init__(
        self,
        robot: Robot,
        dt: float = 1e-3,
        ground: Ground | str | None = None,
        integrator: str = "semi_implicit",
        contacts: Sequence[ContactPoint | str] | None = None,
        motors: Sequence[Motor | FileMotor | str] | str | None = None,
        limits: bool = True,
        iterations: int = 5,
        tolerance: float = 1e-10,
        substeps: int = 8,
        monitor: bool | None = None,
        forces: Sequence[UserForce] = (),
        collisions: Collisions | bool = False,
        open: Sequence[str] = (),
    ) -> None:
        contacts = tuple(contacts) if isinstance(contacts, list) else contacts
        motors = tuple(motors) if isinstance(motors, list) else motors
        options = (limits, iterations, tolerance, substeps, monitor, tuple(forces), collisions, open)
        self._given: tuple[Any, ...] = (robot, dt, ground, integrator, contacts, motors, *options)
        if isinstance(ground, str):
            check_named(ground)
            ground, collisions = None, collisions or True
        if integrator not in INTEGRATORS:
            raise MethodError(f"integrator {integrator!r} is not one of {', '.join(map(repr, INTEGRATORS))}")
        self.dt = checked_number("dt", dt, "be a positive number of seconds", SMALLEST)
        tolerance = checked_number("tolerance", tolerance, "be a positive number", SMALLEST)
        chosen = IntegratorOptions(checked_count("substeps", substeps), tolerance)
        self.robot, self.integrator, self.ground = robot, integrator, ground
        self.method = INTEGRATORS[integrator].make(chosen)
        refuse_constrained_loops(robot.tree.top, "Simulator")
        self.drive = with_mobilities(robot, make_drive(robot.tree, motors, self.dt))
        check_motors(self.drive, self.method, limits)
        self.outside = make_outside(robot.tree, forces, len(self.drive.motors))
        asked = Asked(robot, self.drive, self.method, ground, limits, checked_count("iterations", iterations))
        self.contact = asked.collisions(collisions, contacts) if collisions else asked.points(contacts)
        if self.contact is not None:
            self.drive = with_stiff_gains(robot, self.drive, self.dt)
            self.drive = self.drive.without_lengths() if limits else self.drive
        sensed = needed(robot.mechanism) if isinstance(self.method, FixedStep) else ()
        monitor = integrator == "rk4" if monitor is None else bool(monitor)
        parts = Parts(framed(robot.tree), self.drive, self.contact)
        opened = open_numbers(parts, open, self.method.has_contact and not monitor)
        system = System(*parts, self.outside, sensed, opened)
        self.engine = Engine(robot, system, self.method, monitor)
        self._memory_size = memory_size(system, self.method)
        self._last_plan: RecordPlan | None = None
        self._one_step = np.ones(1), np.full(1, self.dt)  # how many steps, how long

    def __reduce__(self) -> tuple[Any, ...]:
        """A simulator pickles as what it was made of; its kernels are found in the cache, or made again."""
        return Simulator, self._given

    def __repr__(self) -> str:
        return (
            f"<Simulator of {self.robot.name!r}: dt = {self.dt:g} s, {self.integrator}, {self.nu} "
            f"control{'' if self.nu == 1 else 's'}{', with contact' if self.contact else ''}>"
        )

    def with_forces(self, forces: Sequence[UserForce]) -> Simulator:
        """This simulator with further forces; their controls follow those that it has."""
        given: tuple[Any, ...] = (*self._given[:-3], (*self._given[-3], *forces), *self._given[-2:])
        return Simulator(*given)

    @property
    def nu(self) -> int:
        """Number of controls."""
        return len(self.drive.motors) + len(self.outside.inputs)

    @property
    def control_names(self) -> list[str]:
        """The coordinates that the controls of motors act on, then the controls of forces."""
        return [*(m.joint for m in self.drive.motors), *self.outside.inputs]

    def state(
        self, q: ArrayLike | None = None, v: ArrayLike | None = None, t: ArrayLike = 0.0, qd: ArrayLike | None = None,
        act: ArrayLike | None = None,
    ) -> State:  # fmt: skip
        """States from closed q (B, nq) [rad, m] and v (B, nv) [rad/s, m/s] (zero if left out), or spanning qd.

        `act` are the activations of the motors that have one. If left out they are zero, and motors with delays were
        told to stay where they are.
        """
        robot = self.robot
        q = checked("q", robot.neutral() if q is None else q, robot.nq)
        robot.check_closed(q)
        if qd is None:
            qd = robot.spanning_velocity(q, np.zeros(robot.nv) if v is None else v)
        q, qd = equal_rows(q, checked("qd", qd, robot.n_spanning))
        time = t if type(t) is float and abs(t) <= LARGEST else times_of_rows(t, len(q))
        self._check_regular(q)
        found = fresh(q, qd, time, self._memory_size, self.maker)
        if act is not None:
            self.activations(found)[:] = checked("act", act, len(self.drive.states))
        elif any(self.drive.delays):
            self.activations(found)[:] = rowwise(partial(resting_activations, self.drive), q)
        return found

    def activations(self, state: State) -> Array:
        """The activations (B, n) [1] of motors that have one, in the order of the controls: a view of the state's."""
        size = self._memory_size
        return self.fitting(state).memory[:, size - len(self.drive.states) :]

    def sensors(self, state: State, u: ArrayLike | None = None) -> dict[str, Array]:
        """What the sensors of the model tell (B, n), by name, in SI units [m, rad, N, ...].

        Those of positions and velocities tell of the state; accelerations and forces are those of the step that leads
        on from it under the controls u.
        """
        state, engine = self.fitting(state), self.engine
        names, step, rows = engine.system.sensed, dict[str, Array](), len(state)
        given = checked("u", np.zeros(self.nu) if u is None else u, self.nu)
        t = np.broadcast_to(state.t, rows)[:, None].copy()
        if names:
            held = given if given.ndim == 1 else given[:, None]
            step = self.rollout(state=state, controls=held, steps=1, record=names).records
        told = [step[n][:, 0] if n in step else np.zeros((rows, *x)) for n, x in self.sensed_shapes.items()]
        if not engine.takes_steps:
            q, qd, held = (x[:, None] for x in (state.q, state.qd, np.broadcast_to(given, (rows, self.nu))))
            told = [x[:, 0] for x in engine.sensed_at(q, qd, held, t)]
        found = np.asarray(engine.told(state.q, state.qd, *told, t))
        return engine.sensors.split(found, state.t)

    @property
    def sensed_shapes(self) -> dict[str, tuple[int, ...]]:
        """What sensors need to know of a step (`sensors.OF_STEPS`), and its shape."""
        sizes = self.engine.sensors.inputs()
        return {name: (sizes[given],) for name, given in OF_STEPS.items()}

    def keyframe(self, name: str) -> tuple[State, Array]:
        """The state at a keyframe of the file, loops closed, and what motors are told there (nu,) [N m, N, rad, m]."""
        start = at_keyframe(self.robot, self.drive, name)
        return self.state(start.q, act=start.activations), start.controls

    def _check_regular(self, q: Array) -> None:
        """Refuse positions at which a loop has lost rank: the equations of motion lead nowhere in particular."""
        if not self.engine.system.bends:
            return
        near = np.asarray(self.engine.nearness(q))[:, 0]
        if not np.min(near) > AT_SINGULAR:
            row = int(np.argmin(near))
            raise SingularConfiguration(
                f"at q of row {row} a loop of {self.robot.name!r} has lost rank (nearness {near[row]:.1e}, allowed "
                f"above {AT_SINGULAR:.0e}), and the motion from there is not determined; start beside it"
            )

    @cached_property
    def maker(self) -> Maker:
        """Whose states these are: what a state says that may go on here."""
        robot = self.robot
        acting = (self.drive.key, self.outside.key) if self.outside else self.drive.key
        own = tuple(robot.tree.independent_dofs)
        return Maker(robot.name, robot.kernels.digest, self.integrator, parts_digest(acting), own)

    def fitting(self, state: State) -> State:
        """The state, if it may go on here: a state of the same robot, which remembers what this simulator needs.

        One that remembers nothing, such as a fresh one, fits every simulator of its robot.
        """
        size, mine = self._memory_size, self.maker
        if state.made_by == mine and state.memory.shape[1] == size:
            return state
        made = state.made_by or mine
        remedy = "begin anew with state=sim.state(s.q, qd=s.qd, t=s.t)"
        if made.model != mine.model:
            what = f"{made.robot!r}" if made.robot != mine.robot else f"another {made.robot!r}, with other parameters"
            raise MethodError(f"the state is one of {what}, the simulator's robot is {mine.robot!r}; {remedy}")
        if not np.any(state.memory):
            return replace(state, memory=np.zeros((len(state), size)), made_by=mine)
        if made.integrator != mine.integrator:
            what = f"the {made.integrator} integrator, not of {mine.integrator}"
        elif made.motors != mine.motors:
            what = "a simulator with other motors or forces"
        else:
            what = f"{state.memory.shape[1]} numbers, and {size} are needed with these contacts and joint stops"
        raise MethodError(f"the state has the memory of {what}; {remedy}")

    def _record_plan(self, names: tuple[str, ...]) -> RecordPlan:
        """How these quantities are recorded; that of the last rollout is kept."""
        if self._last_plan is None or self._last_plan.names != names:
            self._last_plan = RecordPlan(self, names)
        return self._last_plan

    def batch(
        self, state: State, engine: Engine | None = None, numbers: Mapping[str, ArrayLike] | None = None
    ) -> Batch:
        """The batch that begins at a state, with its open numbers by name."""
        given = self.engine.system.open.rows(numbers, len(state)) if numbers else None
        return Batch(state, engine or self.engine, self.dt, given)

    def step(self, state: State, u: ArrayLike | None = None) -> State:
        """The state one dt [s] later under controls u (nu,) or (B, nu), in the motors' units [N m, rad, rad/s]."""
        single = self.engine.single
        if single is not None and state.h == self.dt and state.made_by is self.maker:
            one, h = self._one_step
            if single.is_timed:
                after = single.ahead(state.q, state.qd, _BEGINNING, state.memory, u, one, h, state.t)
            else:
                after = single.ahead(state.q, state.qd, _BEGINNING, state.memory, u, one, h)
            if after is not None:
                q, qd, memory = after
                return following(state, q, qd, single.later(state.t, h), memory)
        return self.careful_step(state, u)

    def careful_step(self, state: State, u: ArrayLike | None, threads: int | None = None) -> State:
        """`step`, in parts where need be, with everything checked."""
        if isinstance(u, np.ndarray) and u.shape == (1, self.nu):
            return self.step(state, u[0])
        if not isinstance(self.method, FixedStep):
            raise MethodError(f"the {self.integrator} integrator has no single step; use rollout")
        state, nu = self.fitting(state), self.nu
        u = checked("u", np.zeros(nu) if u is None else u, nu)
        u = np.broadcast_to(u, (len(state), nu))[:, None]
        batch = self.batch(state)
        plan = self._record_plan(())
        self.method.run(batch, u, 1, Recorder(plan, plan.even(1, 1), len(state)), threads, None)
        done = batch.read()
        batch.end()
        return done

    def rollout(
        self,
        q0: ArrayLike | None = None,
        v0: ArrayLike | None = None,
        controls: ArrayLike | ControlFunction | None = None,
        *,
        steps: int | None = None,
        until: float | None = None,
        times: ArrayLike | None = None,
        record: Sequence[str] = ("q", "v"),
        every: int = 1,
        record_start: bool = False,
        threads: int | None = None,
        progress: Progress | None = None,
        state: State | None = None,
        numbers: Mapping[str, ArrayLike] | None = None,
    ) -> Rollout:
        """Simulate a horizon for all batch rows at once.

        `controls`: None, (nu,) held, (T, nu) for all rows, (B, T, nu), or a function (t, state) -> (B, nu)
        called once per step. It goes `steps` steps of length dt, or `until` a time [s], or to the last of `times`; a
        last step is shorter where need be. `record` names what to keep after every `every`-th step, or at the `times`
        (a list of times [s], which need not lie on steps), with `record_start` at the beginning too: q, v, qd, energy,
        kinetic_energy, potential_energy, loop_error; of the step before a and qdd (mean accelerations), controls,
        motor_force (of each motor, at the record); with contact contact_force, gap, residual, iterations,
        joint_impulse; sensors of the model by their names (accelerations and forces are those of the step before).
        `progress(done, steps)` is called now and then. `numbers` are open numbers by name, (n,) or (B, n) each.
        """
        flat = [np.ndim(x) if x is not None else 0 for x in (q0, v0)]
        table = np.ndim(controls) if controls is not None and not callable(controls) else 0
        single = state is None and max(flat) <= 1 and table < 3
        start = self.state(q0, v0) if state is None else self.fitting(state)
        plan, span = self._record_plan(tuple(record)), span_of(start, self.dt, steps, until, times)
        u, steps, start = as_controls(controls, steps if span is None else span.total, start, self.nu)
        if span is None and not record_start:
            schedule = plan.even(every, steps)
        else:
            schedule = scheduled(start, self.dt, span or Span(steps), times, every, record_start)
        recorder, batch = Recorder(plan, schedule, len(start)), self.batch(start, plan.engine, numbers)
        recorder.begin(start)
        info = self.method.run(batch, u, steps, recorder, threads, progress)
        found = recorder.result(batch, start, single, info)
        batch.end()
        return found
