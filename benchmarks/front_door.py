"""What users call beside what they could: methods of robots, the kernels behind them, Pinocchio; on one core.

    python benchmarks/front_door.py

Trees of the example-robot-data wheel beside Pinocchio, both of `pip install kinloop[peers]`, and robots with loops by
themselves. All contenders are timed in turn, and what is asked of each line is written behind it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from kinloop import robots
from kinloop.bench import peers_pinocchio
from kinloop.bench.contenders import CALL, one_call, robot_call, timed
from kinloop.bench.model_files import available_trees, tree_robot
from kinloop.bench.number_format import digits, ratio
from kinloop.bench.peers import Peer, Problem, make_problem
from kinloop.bench.report_elements import Section, Table
from kinloop.bench.timing import Effort, machine
from kinloop.cli.bench_command import WIDE, print_section
from kinloop.cli.terminal_output import console

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
    return Section("The front door", str(machine()), [Table("One call from Python, on one core", columns, rows)])


if __name__ == "__main__":
    print_section(front_door(), console(WIDE))
