"""The kernels of a simulation, made when first asked for, and the loop that runs the step over a batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from kinloop import scalar as sc
from kinloop.algorithms.trees.energy import potential_energy
from kinloop.clusters.tangent_frame import TangentFrame
from kinloop.compiler import Kernel
from kinloop.compiler.run.iteration import Stepping
from kinloop.compiler.run.variant import First
from kinloop.errors import MethodError
from kinloop.interpreted import InterpretedStepping
from kinloop.kernels import Computed
from kinloop.model.facts import plain
from kinloop.robot import Robot
from kinloop.scalar import Array
from kinloop.sim.actuators import each_motor_force, joint_forces
from kinloop.sim.on_loops import closed_twice, projected
from kinloop.sim.recorded_controls import where_told
from kinloop.sim.searching import HasMiddle, Searching
from kinloop.sim.sensors import OF_STEPS, Sensors
from kinloop.sim.single_step import SingleStep
from kinloop.sim.singularity import loop_speed, nearness
from kinloop.sim.smooth_motion import spanning_kinetic_energy, state_rate
from kinloop.sim.status import Status
from kinloop.sim.stepper import StepMethod, Stepper, StepState, System, memory_size
from kinloop.sim.watch import Watch

if TYPE_CHECKING:
    from kinloop.sim.integrators.integrator import Integrator

FEEDBACK = {name: f"{name}_next" for name in StepState._fields}
"""Inputs of a step kernel that are its outputs of the step before."""


@dataclass
class Places:
    """Where the batch rows of a simulation lie: their arrays, the states among them, and columns of what is watched.

    `remember` is what `Engine.remembering` made for them.
    """

    stepping: Stepping | InterpretedStepping
    state: StepState
    watch: Watch
    remember: First | None = None

    @staticmethod
    def of(stepping: Stepping | InterpretedStepping) -> Places:
        state = StepState(*(stepping.arrays[name] for name in StepState._fields))
        return Places(stepping, state, Watch.of(state.watch))


class Engine:
    """The kernels of a system under an integrator."""

    def __init__(self, robot: Robot, system: System, integrator: Integrator, monitor: bool = False) -> None:
        tree = system.tree
        self.robot, self.system, self.integrator, self.tree, self.monitor = robot, system, integrator, tree, monitor
        self._spare: list[Places] = []
        self._likes: dict[tuple[str, ...], Engine] = {}
        self._method = integrator if isinstance(integrator, StepMethod) else None
        frames = tuple(c.chart.key for c in tree if isinstance(c.chart, TangentFrame))
        contact = system.contact.key if system.contact else None
        outside = system.outside.key if system.outside else ()
        self._key = (frames, system.drive.key, integrator.key, contact, *outside, *system.sensed)
        self._key = (*self._key, "open", *system.open.names) if system.open.names else self._key
        self.sensors = Sensors(tree, system.drive, system.nu, system.contact, system.outside)

    @property
    def takes_steps(self) -> bool:
        """Whether the integrator takes steps of fixed length, by a kernel."""
        return self._method is not None

    def sensing(self, names: tuple[str, ...]) -> Engine:
        """This engine, or one like it, whose steps give these too (`sensors.OF_STEPS`)."""
        own = self.system.sensed
        wanted = tuple(name for name in OF_STEPS if name in own or name in names)
        if wanted == own:
            return self
        if wanted not in self._likes:
            system = replace(self.system, sensed=wanted)
            self._likes[wanted] = Engine(self.robot, system, self.integrator, self.monitor)
        return self._likes[wanted]

    @cached_property
    def step(self) -> Any:
        """The kernel of one step."""
        if self._method is None:
            raise MethodError(f"the {self.integrator.name} integrator has no single step; use rollout")
        stepper = Stepper(self.system, self._method, self.monitor)
        return self.kernel("monitored_step" if self.monitor else "step", stepper, stepper.inputs())

    @cached_property
    def single(self) -> SingleStep | None:
        """One row's step with little around it; None where it is no kernel, needs a search, or has open numbers."""
        if self._method is None or self.system.searched or self.system.open.names:
            return None
        return SingleStep(self.step) if isinstance(self.step, Kernel) else None

    @cached_property
    def start(self) -> Any:
        """The kernel of what rows remember that begin at (q, qd) under u with steps of length h; None if nothing.

        And whether that is lost: 1 where accelerations before the beginning cannot be told.
        """
        method, system = self._method, self.system
        if method is None or not method.has_start(system):
            return None

        timed, more = len(system.clock), system.clock | system.open.inputs

        def start(q: Array, qd: Array, u: Array, h: Array, *given: Array) -> dict[str, Any]:
            now = system.at(*given[:timed]).with_numbers(*given[timed:])
            memory, lost = method.starting_memory(now, q, qd, u, h[0])
            return {"memory": memory, "lost": np.array([sc.where(lost, 1.0, 0.0)])}

        return self.kernel("start", start, self._spanning_sizes | {"u": system.nu, "h": 1} | more)

    @cached_property
    def searching(self) -> Searching | None:
        """What looks for contacts before every step; None where all have a formula."""
        return Searching(self, self._method) if self.system.searched and isinstance(self._method, HasMiddle) else None

    @cached_property
    def rate(self) -> Any:
        """The kernel of dq/dt and dqd/dt at (q, qd, u), near closed loops: f(P(x)) of `smooth_motion`; and nearness."""
        tree, system = self.tree, self.system

        def rate(q: Array, qd: Array, u: Array, *clock: Array) -> dict[str, Any]:
            now = system.at(*clock)
            rates, near = state_rate(tree, now.drive, (q, qd), u, now.outside)
            return {"dq": rates[0], "dqd": rates[1], "near": np.array([near])}

        return self.kernel("rate", rate, self._spanning_sizes | {"u": system.nu} | system.clock)

    @cached_property
    def projection(self) -> Any:
        """The kernel of the closed state nearest to (q, qd): P(x) of `smooth_motion`; what there is to say of it.

        `there` are its nearness to a singular configuration, its speed in the loops, its loop error, and how fast a
        joint turns.
        """
        tree, system = self.tree, self.system

        def project(q: Array, qd: Array) -> dict[str, Any]:
            q, _ = closed_twice(tree, q)
            qd = projected(tree, q, qd)
            turning = sc.largest([qd[d] for d in system.turning])
            there = np.array([nearness(tree, q), loop_speed(tree, qd), system.loop_error(q), turning])
            return {"q_on": np.asarray(q), "qd_on": np.asarray(qd), "there": there}

        return self.kernel("project", project, self._spanning_sizes)

    @cached_property
    def nearness(self) -> Any:
        """The kernel of the nearness of q to a singular configuration (`singularity`)."""
        tree = self.tree

        def near(q: Array) -> dict[str, Any]:
            return {"near": np.array([nearness(tree, q)])}

        return self.kernel("nearness", near, {"q": tree.top.nq})

    @cached_property
    def allowed(self) -> Any:
        """The kernel of the velocity nearest to qd that the loops allow at q."""
        tree = self.tree

        def allowed(q: Array, qd: Array) -> dict[str, Any]:
            return {"qd_on": np.asarray(projected(tree, q, qd))}

        return self.kernel("allowed", allowed, self._spanning_sizes)

    @cached_property
    def reading(self) -> Any:
        """The kernel of what is read off a state (q, qd): the velocity the loops allow, and energies [J].

        These are the kinetic energy, the potential energy in gravity, and that of springs of users, if there are any.
        Without steps (`adaptive`) velocities are allowed already, and better than a projection near singular
        configurations would make them.
        """
        tree, outside, steps = self.tree, self.system.outside, self.takes_steps

        def read(q: Array, qd: Array) -> dict[str, Any]:
            on = projected(tree, q, qd) if steps else qd
            energies = [spanning_kinetic_energy(tree, q, on), potential_energy(tree, q)]
            stored = [outside.stored(tree.top, q)] if outside.springs else []
            return {"qd_on": np.asarray(on), "energies": np.array(energies + stored)}

        return self.kernel("read", read, self._spanning_sizes)

    @cached_property
    def motor_force(self) -> Any:
        """The kernel of the forces of all motors at (q, qd) under what they are told."""
        drive, sizes = self.system.drive, self._spanning_sizes | {"u": self.system.nu}

        def force(q: Array, qd: Array, u: Array) -> dict[str, Any]:
            return {"force": np.array([x for _, x in each_motor_force(drive, q, qd, u)])}

        return self.kernel("motor_force", force, sizes)

    @cached_property
    def told(self) -> Any:
        """The kernel of what sensors tell of a state, with accelerations and controls of a step."""
        mechanism = self.tree.top.mechanism
        key = tuple(map(plain, (mechanism.sensors, mechanism.actuators, mechanism.tendons)))
        return self.kernel("sensors", self.sensors, self.sensors.inputs(), key)

    @cached_property
    def _without_steps(self) -> Any:
        """The kernel of what sensors need to know of a state (`sensors.OF_STEPS`), where there are no steps."""
        tree, system = self.tree, self.system

        def sensed(q: Array, qd: Array, u: Array, *clock: Array) -> dict[str, Any]:
            now = system.at(*clock)
            (_, qdd), _ = state_rate(tree, now.drive, (q, qd), u, now.outside)
            return {"sensed": np.concatenate([qdd, joint_forces(now.drive, q, qd, u)])}

        return self.kernel("sensed", sensed, self._spanning_sizes | {"u": system.nu} | system.clock)

    def sensed_at(self, q: Array, qd: Array, u: Array, t: Array) -> list[Array]:
        """What sensors need to know of states (B, N, n) under controls u, where there are no steps; nan where u is."""
        clock = [t[..., None]] if self.system.clock else []
        qdd, pushed = np.split(where_told(self._without_steps, q, qd, u, *clock), 2, axis=-1)
        return [qdd, u, np.zeros((*q.shape[:2], self.sensors.inputs()["touching"])), pushed]

    def places(self, rows: int) -> Places:
        """Arrays for so many batch rows; steps are taken on them, if the method has any."""
        if self._spare and (spare := self._spare.pop()).stepping.rows == rows:
            return spare
        if self._method is not None:
            return Places.of(self.step.stepping(rows, FEEDBACK))
        sizes = self._spanning_sizes | {
            "watch": len(Watch._fields),
            "memory": memory_size(self.system, self.integrator),
        }
        return Places.of(InterpretedStepping({n: np.zeros((rows, x)) for n, x in sizes.items()}, {}, {}, {}))

    def remembering(self, places: Places) -> First | None:
        """What lets rows a to b remember a past under their controls, in any thread; None for one row, or no kernel.

        Rows whose past is lost remember nothing.
        """
        if self.system.searched:  # which looks at what rows remember before they step
            return None
        if places.remember is None and len(places.state.q) > 1 and isinstance(self.start, Kernel):
            given, memory, lost = places.stepping.arrays, places.state.memory, np.empty((len(places.state.q), 1))
            remember = self.start.over(*(given[name] for name in self.start.inputs), memory, lost)

            def first(a: int, b: int) -> int:
                bad = remember(a, b)
                if lost[a:b].any():
                    memory[a:b][lost[a:b, 0] > 0.0] = 0.0
                return bad

            places.remember = first
        return places.remember

    def take_back(self, places: Places) -> None:
        """Keep arrays that nobody needs any more for the next batch; one set, whoever asks first gets it."""
        places.stepping.forget()
        self._spare[:] = [places]

    def respace(self, state: StepState, h: float) -> None:
        """Let rows that run remember what they do for steps of length h from now on."""
        spaced = self._method.respaced(self.system, state.memory, h) if self._method else state.memory
        if spaced is not state.memory:
            running = Watch.of(state.watch).has(Status.RUNNING)[:, None]  # others wait, or have stopped
            state.memory[:] = np.where(running, spaced, state.memory)

    @property
    def _spanning_sizes(self) -> dict[str, int]:
        return {"q": self.tree.top.nq, "qd": self.tree.top.n_spanning}

    def kernel(
        self, name: str, call: Callable[..., Any], inputs: dict[str, int], more: tuple[Any, ...] = (), *sources: str
    ) -> Computed:
        """A kernel of this system, or the same call on numbers where there is no compiler; `more` for its key.

        `sources` are the rooms of kinloop besides `sim` where the call is written.
        """
        return self.robot.kernels.make(name, call, inputs, key=(*self._key, *more), sources=("sim", *sources))

    def advance(
        self, state: StepState, u: Array, until: Array, h: float, steps: int, every: int, keep: tuple[str, ...],
        threads: int | None, *told: Array, alone: bool = False,
    ) -> tuple[StepState, dict[str, Array]]:  # fmt: skip
        """`steps` steps of batch rows under u (B, steps or 1, nu): their last state, and outputs `keep` (B, n, ...).

        Steps are h long. Rows stop where they have taken `until` (B, 1) steps in all; outputs are kept after
        every `every`-th step. `told` are what the step needs besides: the clock (B, 1), which says what the time was
        when no step was taken, and open numbers (B, n), where there are any. There is a search before every step, or
        rows go `alone` and stop before one that needs it.
        """
        held = u.shape[1] == 1
        if self.searching and steps > 1 and not alone:
            return self._one_by_one(state, u, until, h, steps, every, keep, threads, *told)
        state = StepState(*map(np.array, state))
        self.respace(state, h)
        found: tuple[Array, ...] = ()
        if search := self.searching:
            found = (search.nothing(len(u)) if alone else search(state, u[:, 0], until, h, threads),)
        out = self.step.iterate(
            *state, np.ascontiguousarray(u[:, 0] if held else u[:, :steps]), until, np.full((len(u), 1), h),
            *told, *found, steps=steps, feedback=FEEDBACK, stepped=() if held else ("u",),
            every=every if keep else steps, threads=threads,
        )  # fmt: skip
        return StepState(*(out[name] for name in FEEDBACK.values())), {name: out[name] for name in keep}

    def _one_by_one(
        self, state: StepState, u: Array, until: Array, h: float, steps: int, every: int, keep: tuple[str, ...],
        threads: int | None, *told: Array,
    ) -> tuple[StepState, dict[str, Array]]:  # fmt: skip
        """`advance`, with a search before every step."""
        kept: list[dict[str, Array]] = []
        for k in range(steps):
            now = u if u.shape[1] == 1 else u[:, k : k + 1]
            state, one = self.advance(state, now, until, h, 1, 1, keep, threads, *told)
            kept.append(one)
        return state, {name: np.concatenate([x[name] for x in kept[every - 1 :: every]], axis=1) for name in keep}
