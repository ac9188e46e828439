"""Derivatives of inverse and forward dynamics, one call and per state of a batch, beside Pinocchio's; on one core.

    python benchmarks/derivatives.py [Go1 G1 Talos chain feet]

Trees of the example-robot-data wheel, both of `pip install kinloop[peers]`, and a chain of 20 four-bars. All
contenders of a line are timed in turn, ours with arrays ready, and what is asked of a line is written behind it.
First answers are traced and compiled with nothing cached, on all cores.
Pinocchio is called from Python, one state at a time: it has no batches of derivatives. Loops are rigid points of its
constraintDynamics, which computeConstraintDynamicsDerivatives needs first and which is timed with it; they give
derivatives of all accelerations of the tree along all its coordinates, ours those along closed motions.

"feet" is G1 on two feet: `Simulator.linearize`, the step included, beside MuJoCo's mjd_transitionFD.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from kinloop import robots
from kinloop.bench.contenders import CALL, ONE, batch_call, one_call, timed
from kinloop.bench.model_files import available_trees, tree_robot
from kinloop.bench.number_format import digits, ratio
from kinloop.bench.peers import Peer, Problem, batch_for, make_problem, seconds_of
from kinloop.bench.peers_pinocchio import loop_derivatives, pinocchio_robot
from kinloop.bench.report_elements import Section, Table
from kinloop.bench.timing import Effort, machine
from kinloop.cli.bench_command import WIDE, print_section
from kinloop.cli.terminal_output import console
from kinloop.io import MjcfOptions, convert, mjcf_text
from kinloop.robot import Robot
from kinloop.scalar import Array
from kinloop.sim import ContactPoint, Motor, Plane, Simulator

CHAIN = "chain"
ASKED = {"Go1": (4.0, 12.0), "G1": (3.0, 9.0), "Talos": (3.0, 9.0), CHAIN: (40.0, 120.0)}
"""How many times slower Pinocchio has to be: than one call, than a state of a batch."""

FIRST_ANSWER = {("Talos", "forward_dynamics_derivatives"): 3.0}
"""How long a first answer may take [s], traced and compiled with nothing cached, on two cores."""

FEET = "feet"
MOST_US, LEAST_TIMES = 60.0, 10.0
"""How long `linearize` may take per state of a batch, and how many times as long MuJoCo has to take."""
SOLE = [(x, y, -0.035) for x in (-0.05, 0.12) for y in (-0.03, 0.03)]
"""Points of a foot of G1 that touch the ground, in the frame of the foot [m]."""
GAINS = {"kp": 200.0, "kd": 5.0}

PEERS = {
    "inverse_dynamics_derivatives": "computeRNEADerivatives",
    "forward_dynamics_derivatives": "computeABADerivatives",
}


def robot_of(name: str) -> Robot:
    """A tree of the wheel, or the chain of four-bars."""
    return robots.load("four_bar_chain", links=20) if name == CHAIN else tree_robot(name)


def peers(x: Problem, quantity: str) -> list[Peer]:
    """Pinocchio's derivatives; their block along velocities beside ours is a check of both."""
    if x.robot.mechanism.closures:
        return loop_derivatives(x) if quantity == "forward_dynamics_derivatives" else []
    p = pinocchio_robot(x.robot)
    if p is None:
        return []
    compute: Callable[..., Any] = getattr(p.pin, PEERS[quantity])
    given = (p.model, p.data, x.q[p.q_from], x.v[p.v_from], x.tau[p.v_from])

    def along_velocity() -> Any:
        block = np.array(compute(*given)[1])
        out = np.empty_like(block)
        out[np.ix_(p.v_from, p.v_from)] = block
        return out

    return [Peer(f"pinocchio {PEERS[quantity]}", lambda: compute(*given), along_velocity)]


def line(name: str, x: Problem, quantity: str, effort: Effort) -> list[str]:
    """One robot and one quantity."""
    start = time.perf_counter()
    kernel, given = x.robot.compile(quantity, cache=False), [x.q, x.v, x.tau]
    exact = kernel(*given)[1]
    compiled = time.perf_counter() - start
    states = batch_for(seconds_of(lambda: kernel(*given)))
    one, *peer = timed(quantity, CALL, [one_call(kernel, given), *peers(x, quantity)], None, effort)
    (each,) = timed(quantity, ONE, [batch_call(kernel, given, states)], None, effort)
    operations = f"{kernel.operations['total']:,}"
    most = FIRST_ANSWER.get((name, quantity))
    first = f"{compiled:.2f}" + (f" (at most {most:g}: {'yes' if compiled <= most else 'no'})" if most else "")
    cells = [name, quantity, operations, first, digits(one["us"]), digits(each["us"])]
    if not peer:
        return [*cells, "-", "-", "-", "-", "-"]
    (other,) = peers(x, quantity)
    assert other.result is not None
    wrong = float(np.max(np.abs(other.result() - exact)) / np.max(np.abs(exact)))
    found = peer[0]["us"] / one["us"], peer[0]["us"] / each["us"]
    held = all(a >= b for a, b in zip(found, ASKED[name], strict=True))
    asked = " ".join(ratio(r) for r in ASKED[name])
    times = [ratio(found[0]), ratio(found[1]), f"{asked}: {'yes' if held else 'no'}"]
    return [*cells, digits(peer[0]["us"]), *times, f"{wrong:.0e}"]


def derivatives(names: tuple[str, ...] = tuple(ASKED), effort: Effort | None = None) -> Section:
    """All robots, both quantities; the first answer includes tracing and compiling, nothing cached."""
    effort = effort or Effort(rounds=400)
    rows = []
    for name in names:
        if name == CHAIN or name in available_trees():
            x = make_problem(robot_of(name))
            rows += [line(name, x, quantity, effort) for quantity in PEERS]
    columns = ["robot", "quantity", "operations", "first answer [s]", "one call [µs]", "batch [µs]", "pinocchio [µs]"]
    columns += ["times", "times, batch", "asked", "difference"]
    return Section("Derivatives", str(machine()), [Table("Per state, on one core", columns, rows)])


def standing() -> tuple[Simulator, Array, Array, Array]:
    """G1 a moment after it was put on its feet: its simulator, state and targets of servos."""
    robot = tree_robot("G1")
    points = [ContactPoint(f"{side}_ankle_roll_link", at) for side in ("left", "right") for at in SOLE]
    servos = [Motor(name, "position", **GAINS) for name in robot.independent_names[6:]]
    sim = Simulator(robot, ground=Plane(0.8), contacts=points, motors=servos)
    q = robot.neutral()
    q[2] -= sim.rollout(q, None, steps=1, record=["gap"]).gap.min() - 1e-4
    run = sim.rollout(q, None, q[7:], steps=200)
    return sim, run.q[-1], run.v[-1], q[7:]


def transition(sim: Simulator, q: Array, v: Array, u: Array) -> Peer | None:
    """The same robot, feet and servos in MuJoCo, and mjd_transitionFD there; None without MuJoCo."""
    try:
        import mujoco
    except ImportError:
        return None
    text = mjcf_text(sim.robot, MjcfOptions(timestep=sim.dt, balance_inertia=True))
    text = text.replace("<worldbody>", '<worldbody><geom type="plane" size="0 0 1" friction="0.8"/>', 1)
    for side in ("left", "right"):
        spheres = "".join(f'<geom type="sphere" size="0.001" pos="{x} {y} {z}" friction="0.8"/>' for x, y, z in SOLE)
        joint = f'<joint name="{side}_ankle_roll_joint"'
        text = text.replace(joint, spheres + joint, 1)
    servo = '<position joint="{}" kp="{kp}" kv="{kd}"/>'
    motors = "".join(servo.format(m.joint, **GAINS) for m in sim.drive.motors)
    model = mujoco.MjModel.from_xml_string(text.replace("</mujoco>", f"<actuator>{motors}</actuator></mujoco>"))
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:], _ = convert.to_mujoco(sim.robot, model, q, v, np.zeros(sim.robot.nv))
    data.ctrl[:] = u
    data.qpos[2] += 0.001  # spheres touch where our points do
    mujoco.mj_forward(model, data)
    if data.ncon < len(SOLE):
        raise RuntimeError(f"G1 stands on {data.ncon} points in MuJoCo")
    A, B = np.zeros((2 * model.nv, 2 * model.nv)), np.zeros((2 * model.nv, model.nu))

    def call() -> None:
        mujoco.mjd_transitionFD(model, data, 1e-6, 0, A, B, None, None)

    return Peer("mujoco mjd_transitionFD", call, None)


def linearized(effort: Effort | None = None) -> Section:
    """A step of G1 on two feet and its derivatives."""
    effort = effort or Effort(rounds=400)
    sim, q, v, u = standing()
    start = time.perf_counter()
    found = sim.linearize(sim.state(q, v), u)
    first, size = time.perf_counter() - start, 64
    state, many = sim.state(*(np.repeat(x[None], size, axis=0) for x in (q, v))), np.repeat(u[None], size, axis=0)
    ours = Peer("kinloop", lambda: sim.linearize(state, many, threads=1), None, size)
    one = Peer("kinloop", lambda: sim.linearize(sim.state(q, v), u, threads=1), None)
    other = transition(sim, q, v, u)
    (each,) = timed("linearize", ONE, [ours], None, effort)
    single, *peer = timed("linearize", CALL, [one, *([other] if other else [])], None, effort)
    times = peer[0]["us"] / each["us"] if peer else np.nan
    held = each["us"] <= MOST_US and times >= LEAST_TIMES
    standing_on = f"{int(np.sum(found.contacts > 0))} of {found.contacts.size}"
    row = ["G1 on two feet", standing_on, f"{first:.1f}", digits(single["us"]), digits(each["us"])]
    row += [digits(peer[0]["us"]) if peer else "-", ratio(times), f"{MOST_US:g} us, {LEAST_TIMES:g} times: {held}"]
    columns = ["robot", "contacts", "first answer [s]", "one call [µs]", "batch [µs]", "mjd_transitionFD [µs]"]
    columns += ["times, batch", "asked"]
    return Section("A step's derivatives", str(machine()), [Table("Per state, on one core", columns, [row])])


if __name__ == "__main__":
    os.environ["OMP_NUM_THREADS"] = "1"  # on one core, two threads of Eigen's products wait for each other
    asked = tuple(sys.argv[1:]) or (*ASKED, FEET)
    if chosen := tuple(name for name in asked if name != FEET):
        print_section(derivatives(chosen), console(WIDE))
    if FEET in asked:
        print_section(linearized(), console(WIDE))
