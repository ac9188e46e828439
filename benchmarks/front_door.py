"""What users call beside what they could: methods of robots, the kernels behind them, Pinocchio; on one core.

    python benchmarks/front_door.py

Trees of the example-robot-data wheel beside Pinocchio, both of `pip install kinloop[peers]`, and robots with loops by
themselves; then every method of a robot that computes something, with options too, beside its kernel; then kernels
called for rows beside their machine code. All contenders are timed in turn, and what is asked of each line is written
behind it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from kinloop import Point, robots
from kinloop.algorithms.quantities import QUANTITIES
from kinloop.bench import peers_pinocchio
from kinloop.bench.contenders import CALL, batch_call, one_call, robot_call, timed
from kinloop.bench.model_files import available_trees, tree_robot
from kinloop.bench.number_format import digits, ratio
from kinloop.bench.peers import Peer, Problem, make_problem
from kinloop.bench.report_elements import Section, Table
from kinloop.bench.timing import Effort, machine
from kinloop.cli.bench_command import WIDE, print_section
from kinloop.cli.terminal_output import console
from kinloop.scalar import Array

TREES = ("Panda", "Go1", "G1", "Talos")
LOOPS = ("four_bar", "mini_cheetah", "tello")
ABOVE = 0.5
"""What a method may cost above its kernel [µs]."""


class Question(NamedTuple):
    """A quantity with the inputs of its kernel, Pinocchio's call of it, and how many times slower that has to be."""

    quantity: str
    inputs: tuple[str, ...]
    peers: Callable[[Problem], list[Peer]]
    times: float
    frame: bool = False


QUESTIONS = (
    Question("forward_dynamics", ("q", "v", "tau"), peers_pinocchio.forward_peers, 4.0),
    Question("inverse_dynamics", ("q", "v", "tau"), lambda x: peers_pinocchio.inverse_peers(x, x.tau), 3.0),
    Question("mass_matrix", ("q",), peers_pinocchio.mass_peers, 3.0),
    Question("frame_jacobian", ("q",), lambda x: peers_pinocchio.jacobian_peers(x, frame_of(x)), 1.0, frame=True),
)


def frame_of(x: Problem) -> str:
    """The frame whose Jacobian is asked for."""
    return x.robot.frame_names[-1]


def method_call(x: Problem, asked: Question) -> Callable[[], Any]:
    """The call as users write it, arguments at hand."""
    robot, q, v, tau, frame = x.robot, x.q, x.v, x.tau, frame_of(x)
    return {
        "forward_dynamics": lambda: robot.forward_dynamics(q, v, tau),
        "inverse_dynamics": lambda: robot.inverse_dynamics(q, v, tau),
        "mass_matrix": lambda: robot.mass_matrix(q),
        "frame_jacobian": lambda: robot.frame_jacobian(q, frame),
    }[asked.quantity]


def line(name: str, x: Problem, asked: Question, effort: Effort) -> list[str]:
    """One robot and one question: times, what the method costs above its kernel, how much slower the peer is."""
    kernel = x.robot.compile(asked.quantity, frames=[frame_of(x)] if asked.frame else [])
    ours = [one_call(kernel, [getattr(x, given) for given in asked.inputs]), robot_call(method_call(x, asked))]
    peers = asked.peers(x)[:1] if not x.robot.mechanism.closures else []
    handle, method, *peer = timed(asked.quantity, CALL, [*ours, *peers], None, effort)
    above = method["us"] - handle["us"]
    missed = [f"above its kernel by more than {ABOVE} µs"] if above > ABOVE else []
    cells = [name, asked.quantity, digits(method["us"]), digits(handle["us"]), digits(above)]
    if not peer:
        return [*cells, "-", "-", "-", "-", "; ".join(missed) or "yes"]
    slower = peer[0]["us"] / method["us"]
    missed += [f"less than {asked.times:g} times faster"] if slower < asked.times else []
    times = [ratio(slower), ratio(asked.times)]
    return [*cells, peer[0]["who"], digits(peer[0]["us"]), *times, "; ".join(missed) or "yes"]


class Way(NamedTuple):
    """A method as users call it, the kernel behind it with its inputs, and what it may cost above that [µs]."""

    call: str
    kernel: Callable[..., Any] | None
    inputs: tuple[Array, ...]
    most: float = ABOVE


OPTIONS, BATCH = 1.0, 3.0
"""What methods may cost above their kernels with options and under constraints, and with rows [µs]."""
ROWS = 8
DERIVATIVES = "forward_dynamics_derivatives"
RENAMED = {"q": "Q", "v": "V", "tau": "T", "a": "A", "f": "F", "x": "X"}
"""What inputs are called where they have rows."""
CONFIGURATIONS = (
    "integrate(q, v, 1e-3)", "integrate(Q, V, 1e-3)", "difference(q, q)", "close(q)", "loop_error(q)",
    "loop_jacobian(q, v)", "loop_rows(robot.loop_names[0], q)", "check_closed(q)", "check_closed(Q)", "neutral()",
    "random_state(0)", "random_state(0, size=8)", "independent(robot.spanning_velocity(q, v))",
    "inverse_dynamics_second_derivatives(q, v, a)", "forward_dynamics_second_derivatives(q, v, tau)",
)  # fmt: skip
"""What has kernels that are not handed out, or none: only their own times."""


def arrays(x: Problem) -> dict[str, Any]:
    """What calls name: the robot, one state, and rows of it by capital letters."""
    frame, wrenches = frame_of(x), np.ones((len(x.robot.body_names), 6))
    one = {"q": x.q, "v": x.v, "tau": x.tau, "a": x.tau, "f": np.ones(6), "x": np.ones(3)}
    rows = {RENAMED[name]: np.repeat(y[None], ROWS, axis=0) for name, y in one.items()}
    return {"robot": x.robot, "f_ext": wrenches, "frame": frame, "frames": [frame], "held": [Point(frame)]} | one | rows


def ways(x: Problem) -> list[Way]:
    """Every method that computes something: by itself, with rows, external wrenches, a method, under constraints."""
    robot, names = x.robot, arrays(x)
    out = []
    for name, entry in QUANTITIES.items():
        if entry.constraints and robot.nv < len(names["x"]):
            continue
        inputs, batch = (tuple(names[k] for k in x) for x in (entry.inputs, map(RENAMED.__getitem__, entry.inputs)))
        equal = "{0}={1}" if entry.frames or entry.constraints else "{1}"  # a frame may stand between inputs
        given = ", ".join(equal.format(k, k) for k in entry.inputs)
        rows = ", ".join(equal.format(k, RENAMED[k]) for k in entry.inputs)
        text, options = "", {}
        if entry.frames:
            text, options = (
                {"one": ", frame=frame", "many": ", frames=frames"}[entry.frames],
                {"frames": names["frames"]},
            )
        elif entry.constraints:
            text, options = ", constraints=held", {"constraints": names["held"]}
        kernel = robot.compile(name, **options)
        out.append(Way(f"{name}({given}{text})", kernel, inputs, OPTIONS if entry.constraints else ABOVE))
        out.append(Way(f"{name}({rows}{text})", kernel, batch, BATCH))
        if entry.forces:
            pushed = robot.compile(name, f_ext=True, **options)
            out.append(Way(f"{name}({given}{text}, f_ext=f_ext)", pushed, (*inputs, names["f_ext"].ravel()), OPTIONS))
        for method, how in [*entry.methods.items()][1:2]:
            if not how.numeric:
                chosen = robot.compile(name, method, **options)
                out.append(Way(f"{name}({given}{text}, method={method!r})", chosen, inputs, OPTIONS))
    by_name = "compute('forward_dynamics', q, v, tau)"
    out.append(Way(by_name, robot.compile("forward_dynamics"), (x.q, x.v, x.tau), OPTIONS))
    return out + [Way(call, None, ()) for call in CONFIGURATIONS if robot.loop_names or "loop_rows" not in call]


def way_line(name: str, x: Problem, way: Way, effort: Effort) -> list[str]:
    """One method: its time, its kernel's with new results as the method has and with ready ones, what lies between."""
    call = eval(f"lambda: robot.{way.call}", arrays(x))
    ours = [robot_call(call)]
    if way.kernel is not None:
        handle = partial(way.kernel, *way.inputs)
        ours += [Peer("kernel, new arrays", handle, None), one_call(way.kernel, way.inputs)]
    method, *handles = timed(way.call, CALL, ours, None, effort)
    if not handles:
        return [name, way.call, digits(method["us"]), *"-" * 6]
    above = [method["us"] - handle["us"] for handle in handles]
    held = "yes" if above[0] <= way.most else f"above its kernel by more than {way.most} µs"
    times = [digits(y["us"]) for y in (method, *handles)]
    return [name, way.call, *times, *map(digits, above), digits(way.most), held]


def every_method(names: tuple[str, ...] = LOOPS, effort: Effort | None = None) -> Table:
    """All methods of robots with loops."""
    effort = effort or Effort(rounds=100)
    problems = {name: make_problem(robots.load(name)) for name in names}
    rows = [way_line(name, x, way, effort) for name, x in problems.items() for way in ways(x)]
    columns = [
        "robot", "method", "robot [µs]", "kernel, new arrays [µs]", "kernel, ready arrays [µs]",
        "above the first", "above the second", "asked of the first", "held",
    ]  # fmt: skip
    return Table("Every method, one call from Python, on one core", columns, rows)


def row_line(name: str, x: Problem, quantity: str, rows: int, effort: Effort) -> list[str]:
    """A kernel called for rows, by position and with both keywords, above its machine code."""
    kernel, inputs = x.robot.compile(quantity), [getattr(x, given) for given in QUANTITIES[quantity].inputs]
    many = [np.repeat(y[None], rows, axis=0) for y in inputs]
    made = kernel(*many)
    ready = (*many, *(made if isinstance(made, tuple) else (made,)))
    code = kernel.over(*ready)
    ours = [robot_call(lambda: code(0, rows)), robot_call(lambda: kernel(*ready)), batch_call(kernel, inputs, rows)]
    named = [
        peer._replace(name=text, states=1) for peer, text in zip(ours, ("code", "position", "keywords"), strict=True)
    ]
    times = [record["us"] for record in timed(quantity, CALL, named, None, effort)]
    above = [time - times[0] for time in times[1:]]
    held = "yes" if max(above) <= BATCH else f"above its machine code by more than {BATCH} µs"
    return [name, quantity, str(rows), *map(digits, (*times, *above, BATCH)), held]


def kernels_of_rows(names: tuple[str, ...], effort: Effort) -> Table:
    """Calls with inputs and outputs ready; Python's way to machine code is 0.9 µs of the first time."""
    problems = {name: make_problem(robots.load(name)) for name in names}
    asked = [(quantity, rows) for quantity in ("forward_dynamics", DERIVATIVES) for rows in (ROWS, 8 * ROWS)]
    lines = [row_line(name, x, quantity, rows, effort) for name, x in problems.items() for quantity, rows in asked]
    columns = [
        "robot", "quantity", "rows", "machine code [µs]", "by position [µs]", "out=, threads=1 [µs]",
        "above, by position", "above, by name", "asked", "held",
    ]  # fmt: skip
    return Table("Kernels called for rows, on one core", columns, lines)


def front_door(trees: tuple[str, ...] = TREES, loops: tuple[str, ...] = LOOPS, effort: Effort | None = None) -> Section:
    """All robots, all questions."""
    effort = effort or Effort(rounds=400)
    made = {name: tree_robot(name) for name in trees if name in available_trees()}
    made |= {name: robots.load(name) for name in loops}
    rows = []
    for name, robot in made.items():
        x = make_problem(robot)
        rows += [line(name, x, asked, effort) for asked in QUESTIONS]
    columns = ["robot", "quantity", "robot [µs]", "kernel [µs]", "above", "peer", "[µs]", "ratio", "asked", "held"]
    tables = [Table("One call from Python, on one core", columns, rows), every_method(loops, effort)]
    tables.append(kernels_of_rows(loops, effort))
    return Section("The front door", str(machine()), tables)


if __name__ == "__main__":
    print_section(front_door(), console(WIDE))
