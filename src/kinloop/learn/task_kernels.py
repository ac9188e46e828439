"""A task as kernels: where episodes begin, controls of actions, and what comes of them, each traced once.

They are kernels of their own beside the simulator's step: a reward that is edited is compiled in a moment, and the step
stays as it is in the cache; rows that take their steps in parts are finished before they are judged.
docs/decisions/environments.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from kinloop import compiler
from kinloop import scalar as sc
from kinloop.clusters.framing import framed
from kinloop.errors import MethodError, ShapeError, unknown
from kinloop.interpreted import Interpreted
from kinloop.learn.learning_task import Task, TaskState
from kinloop.learn.random_numbers import STREAM, Draws
from kinloop.scalar import Array
from kinloop.sim.on_loops import closed
from kinloop.sim.open_numbers import check_values
from kinloop.sim.sensors import Sensors
from kinloop.sim.simulator import Simulator

CLOSING = 20
"""Rounds of Newton's method in which the loops of a start are closed, at most."""


class Carried:
    """The vector that an environment carries from action to action: names for its parts.

    `count` are actions taken, `late` the latency of controls [s], `told` the controls of earlier actions that may still
    be on their way, the last first.
    """

    def __init__(self, task: Task) -> None:
        sizes = {"stream": STREAM, "count": 1, "late": 1, "action": task.action_size}
        sizes["told"] = kept_controls(task) * task.sim.nu
        clash = set(sizes) & set(task.memory)
        if clash:
            raise MethodError(f"a task cannot remember something by the name of {', '.join(map(repr, sorted(clash)))}")
        self.sizes = {**sizes, **task.memory}
        self.size = sum(self.sizes.values())
        self._memory = tuple(task.memory)

    def split(self, vector: Array) -> dict[str, Array]:
        """The parts of the vector, or of rows (B, n) of such."""
        ends = np.cumsum([0, *self.sizes.values()])
        return {name: vector[..., a:b] for name, a, b in zip(self.sizes, ends[:-1], ends[1:], strict=True)}

    def memory(self, parts: Mapping[str, Array]) -> dict[str, Array]:
        """What the task itself remembers."""
        return {name: parts[name] for name in self._memory}

    def joined(self, parts: Mapping[str, Any]) -> Array:
        """The vector of its parts."""
        return np.concatenate([np.asarray(parts[name], dtype=object) for name in self.sizes])


def kept_controls(task: Task) -> int:
    """Of how many actions before the last controls may still be on their way."""
    low, high = task.latency
    if not 0.0 <= low <= high < np.inf:
        raise MethodError(f"latency {task.latency!r} is not a range of seconds from 0 on, the smaller one first")
    return int(np.ceil(high / task.period - 1e-9))


class TaskKernels:
    """The kernels of a task, called with rows of arrays by name."""

    def __init__(self, task: Task) -> None:
        self.task, self.carried, self.open = task, Carried(task), task.sim.engine.system.open
        for name, varied in task.vary.items():
            if name not in self.open.names:
                raise unknown("open number of the task's simulator", name, self.open.names)
            check_values(name, varied.limits(np.array(self.open.usual)[self.open.columns(name)]))
        robot, contact, sensed = task.sim.robot, task.sim.contact, task.sim.sensed_shapes
        self.of_steps = {name: sensed[name] for name in task.sim.engine.system.sensed}
        self.of_steps |= {"contact_force": contact.records["contact_force"]} if contact else {}
        self._sizes = {
            "q": robot.nq, "qd": robot.n_spanning, "action": task.action_size, "carried": self.carried.size,
            "numbers": len(self.open.usual), **{name: int(np.prod(shape)) for name, shape in self.of_steps.items()},
        }  # fmt: skip
        self.start = _Part(task, "task_start", self._start, {"stream": STREAM})
        self.controls = _Part(task, "task_controls", self._controls, self._sizes)
        self.outcome = _Part(task, "task_outcome", self._outcome, self._sizes)
        self.observe = _Part(task, "task_observe", self._observe, self._sizes)
        (self.observation_size,) = self.observe.shapes["observation"]

    def _start(self, stream: Array) -> dict[str, Any]:
        """Where an episode begins that draws from a stream."""
        task, random = self.task, Draws(stream)
        robot = task.sim.robot
        begin = task.start(random)
        q = _vector("the q that start gives", begin.q, robot.nq)
        v = _vector("the v that start gives", np.zeros(robot.nv) if begin.v is None else begin.v, robot.nv)
        if robot.mechanism.closures:
            q = np.asarray(closed(framed(robot.tree), q, rounds=CLOSING)[0])
        usual, numbers = np.array(self.open.usual), []
        for name in self.open.names:
            own = usual[self.open.columns(name)]
            numbers.append(task.vary[name].drawn(own, random) if name in task.vary else own)
        memory = self._named(begin.memory, {name: np.zeros(n) for name, n in task.memory.items()})
        late = random.uniform(*task.latency) if task.latency[1] > 0.0 else 0.0
        told = np.zeros(self.carried.sizes["told"])
        rest = {"stream": random.stream, "count": [0.0], "late": [late], "action": np.zeros(task.action_size)}
        carried = self.carried.joined({**rest, "told": told, **memory})
        return {"q_begin": q, "v_begin": v, "carried": carried, "numbers": np.array([x for n in numbers for x in n])}

    def _state(self, given: Mapping[str, Array]) -> TaskState:
        """The state that functions of the task are asked at, of the arrays that kernels are given."""
        parts, task = self.carried.split(given["carried"]), self.task
        t, memory, random = parts["count"][0] * task.period, self.carried.memory(parts), Draws(parts["stream"])
        named = {name: given["numbers"][self.open.columns(name)] for name in self.open.names}
        force = given.get("contact_force", np.zeros(0)).reshape(self.of_steps.get("contact_force", (0, 3)))
        actions = given["action"], parts["action"]
        state = TaskState(task.sim.robot.tree, given["q"], given["qd"], t, actions, memory, force, named, random)
        sim = task.sim
        state.ask_sensors = lambda: _told(sim, given, t)
        return state

    def _controls(self, *arrays: Array) -> dict[str, Any]:
        """Controls for an action, (nu,), or (hold, nu) where some arrive late; and what is carried on."""
        task, sim, given = self.task, self.task.sim, self._given(arrays)
        state, parts = self._state(given), self.carried.split(given["carried"])
        u = _vector("controls", task.controls(state), sim.nu)
        told = np.asarray(parts["told"]).reshape(-1, sim.nu)
        after = parts | {"stream": state.random.stream, "told": np.concatenate([u, *told])[: told.size]}
        if len(told):  # what motors were told before the first action is what it says
            first = parts["count"][0] <= 0.5
            before = [np.array([sc.where(first, a, b) for a, b in zip(u, line, strict=True)]) for line in told]
            after["told"] = np.concatenate([u, *before])[: told.size]
            u = np.array([self._arrived(k * sim.dt, [u, *before], parts["late"][0]) for k in range(task.hold)])
        return {"u": u, "carried": self.carried.joined(after)}

    def _arrived(self, time: float, told: list[Array], late: Any) -> Array:
        """The controls that have arrived so long after an action began: those of that action, or of one before."""
        out = told[-1]
        for k in reversed(range(len(told) - 1)):
            here = late <= time + k * self.task.period + 1e-9
            out = np.array([sc.where(here, a, b) for a, b in zip(told[k], out, strict=True)])
        return out

    def _outcome(self, *arrays: Array) -> dict[str, Any]:
        """What comes of an action: reward, whether the episode ends or is cut, what is seen and carried on."""
        task, given = self.task, self._given(arrays)
        parts = self.carried.split(given["carried"])
        count, action = parts["count"][0] + 1.0, given["action"]
        state = self._state(given | {"carried": self.carried.joined(parts | {"count": [count]})})
        reward, ended = _one("the reward", task.reward(state)), _one("what ended gives", task.ended(state))
        state.memory = self._named(task.remember(state), state.memory)
        seen = _seen(task.observe(state))
        rest = {"stream": state.random.stream, "count": [count], "action": action, **state.memory}
        over = [sc.where(ended, 1.0, 0.0), sc.where(count >= task.limit - 0.5, 1.0, 0.0)]
        return {"observation": seen, "reward": np.array([reward]), "over": np.array(over),
                "carried": self.carried.joined(parts | rest)}  # fmt: skip

    def _observe(self, *arrays: Array) -> dict[str, Any]:
        """What is seen of a state before any action, and what is carried on."""
        given = self._given(arrays)
        state = self._state(given)
        seen, parts = _seen(self.task.observe(state)), self.carried.split(given["carried"])
        return {"observation": seen, "carried": self.carried.joined(parts | {"stream": state.random.stream})}

    def _given(self, arrays: Sequence[Array]) -> dict[str, Array]:
        """What kernels are given, by name; actions within their bounds."""
        given = dict(zip(self._sizes, arrays, strict=True))
        return given | {"action": np.array([sc.minimum(sc.maximum(x, -1.0), 1.0) for x in given["action"]])}

    def _named(self, given: Mapping[str, Any], old: Mapping[str, Array]) -> dict[str, Array]:
        """What is remembered, with new values for some of it."""
        for name in given:
            if name not in self.task.memory:
                raise unknown("name in the task's memory", name, self.task.memory)
        sizes = self.task.memory
        return {**old, **{n: _vector(f"{n!r} in the task's memory", x, sizes[n]) for n, x in given.items()}}


class _Part:
    """One function of a task as a kernel of those arrays that it needs."""

    def __init__(self, task: Task, name: str, call: Callable[..., Any], sizes: Mapping[str, int]) -> None:
        try:
            function = sc.trace(call, sizes)
        except TypeError as error:
            raise MethodError(
                f"{type(task).__name__} could not be traced on symbols ({error}); write its functions with NumPy and "
                "kinloop.scalar (where, minimum, sin, ...), without math and if"
            ) from error
        used = {s.payload[0] for s in function.nodes if s.op == "input"} or {next(iter(sizes))}
        self.needs = tuple(n for n in sizes if n in used)
        self.function = sc.Function({n: sizes[n] for n in self.needs}, function.outputs, function.graph)
        self.shapes = {name: x.shape for name, x in function.outputs.items()}
        compiles = task.sim.robot.kernels.compiles
        self.kernel: Any = (
            compiler.compile_function(self.function, name=name)
            if compiles
            else Interpreted(name, self.function.named, self.function.inputs)
        )

    def __call__(self, given: Mapping[str, Array], threads: int | None = None) -> dict[str, Array]:
        """Its outputs by name, for rows of all inputs that it needs."""
        found = self.kernel(*(given[name] for name in self.needs), threads=threads)
        return dict(zip(self.shapes, found if isinstance(found, tuple) else (found,), strict=True))


def _told(sim: Simulator, given: Mapping[str, Array], t: Any) -> dict[str, Array]:
    """What the sensors of the model tell, by name."""
    qdd, u, touching, pushed = [given.get(name, np.zeros(shape)) for name, shape in sim.sensed_shapes.items()]
    system = sim.engine.system
    own = system.with_numbers(*([given["numbers"]] if system.open.names else []))
    sensors = Sensors(own.tree, own.drive, sim.nu, own.contact, own.outside)
    return sensors.split(
        sensors(given["q"], given["qd"], qdd, u, touching, pushed, np.array([t]))["told"], np.asarray(t)
    )


def _vector(what: str, given: Any, size: int) -> Array:
    x = np.asarray(given)
    if x.shape != (size,):
        raise ShapeError(f"{what} must have shape ({size},), received {x.shape}")
    return x


def _seen(given: Any) -> Array:
    x = np.asarray(given)
    if x.ndim != 1 or not len(x):
        raise ShapeError(f"what observe gives must be a vector, received an array of shape {x.shape}")
    return x


def _one(what: str, given: Any) -> Any:
    if np.shape(given) != ():
        raise ShapeError(f"{what} must be one number, received an array of shape {np.shape(given)}")
    return given
