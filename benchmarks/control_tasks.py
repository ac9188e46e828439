"""Inverse kinematics and whole-body control, measured: the sections "ik" and "wbc" of benchmarks/control.py.

Every line is (what, value, unit, limit).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

import kinloop as kl
from kinloop.bench.model_files import TREES, available_trees, tree_robot, wheel_file
from kinloop.bench.timing import seconds_per_call
from kinloop.control import CenterOfMassTask, InverseKinematics, OrientationTask, PoseTask, Tracked, WholeBodyControl
from kinloop.sim import Motor

ROWS, PART, TOLERANCE = 1024, 0.2, 1e-6
"""Rows of a batch, how far targets are away (as a part of the way to another random state), errors allowed [m, rad]."""

SOLVES = 16
"""States that pink is measured on, one after the other, as we are then."""

LIMBS = {
    "tello": ("left-foot", "right-foot", "torso"),
    "G1": ("left_ankle_roll_link", "right_ankle_roll_link", "torso_link"),
}
CONTACTS = ["left-toe_contact", "left-heel_contact", "right-toe_contact", "right-heel_contact"]

Line = tuple[str, float, str, float | None]


def starts_and_goals(robot: kl.Robot, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Random configurations, and those a part of the way to others."""
    rng = np.random.default_rng(0)
    a, b = (robot.random_state(rng, size=rows)[0] for _ in range(2))
    return a, robot.integrate(a, PART * robot.difference(a, b))


def inverse_kinematics() -> Iterator[Line]:
    """Both feet and the torso of Tello and of G1, from random states; pink beside it on G1."""
    robots = {"tello": kl.robots.load("tello")}
    if "G1" in available_trees():
        robots["G1"] = tree_robot("G1")
    for name, robot in robots.items():
        yield from limbs(name, robot)


def limbs(name: str, robot: kl.Robot) -> Iterator[Line]:
    """One robot's feet and torso."""
    q, goal = starts_and_goals(robot, ROWS)
    ik = InverseKinematics(robot, [PoseTask(f) for f in LIMBS[name]])
    targets = [robot.frame_pose(goal, f) for f in LIMBS[name]]
    found = ik.solve(q, targets, TOLERANCE, threads=1)
    took = seconds_per_call({"batch": lambda: ik.solve(q, targets, TOLERANCE, threads=1)}, rounds=10)["batch"]
    first, start = [x[0] for x in targets], q[0].copy()
    one = seconds_per_call({"one": lambda: ik.solve(start, first, TOLERANCE)})["one"]
    yield f"{name}, feet and torso, per solve of a batch", 1e6 * took / ROWS, "us", 25.0
    yield f"{name}, feet and torso, one solve from Python", 1e6 * one, "us", None
    yield f"{name}, rows not reached", float(np.sum(~found.reached)), "", 0.0
    yield f"{name}, rounds, mean", float(np.mean(found.iterations)), "", None
    if robot.loop_names:
        yield f"{name}, loops at every iterate, worst", worst_loop(ik, q, targets), "m,rad", 1e-10
    if name == "G1":
        each = [
            1e6 * seconds(partial(ik.solve, q[k].copy(), [x[k] for x in targets], TOLERANCE)) for k in range(SOLVES)
        ]
        yield from beside_pink(robot, q[:SOLVES], targets, 1e6 * took / ROWS, float(np.median(each)))


def worst_loop(ik: InverseKinematics, q: np.ndarray, targets: Sequence[np.ndarray]) -> float:
    """How far loops are open at the best configuration after every number of rounds."""
    worst = 0.0
    for rounds in range(1, 12):
        found = ik.solve(q[:64], [x[:64] for x in targets], TOLERANCE, iterations=rounds)
        worst = max(worst, float(ik.robot.loop_error(found.q).max()))
    return worst


def seconds(call: Callable[[], Any]) -> float:
    """How long one call takes, the second of two."""
    call()
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def beside_pink(
    robot: kl.Robot, q: np.ndarray, targets: Sequence[np.ndarray], batch: float, one: float
) -> Iterator[Line]:
    """pink on the same states and targets, to the same residual, with each of its QP solvers; our times in us."""
    try:
        import pink
        import pinocchio as pin
        import qpsolvers
    except ImportError:
        print("G1, pink: not measured, it is not installed (pip install pin-pink quadprog)")
        return
    model = pin.buildModelFromUrdf(str(wheel_file(TREES["G1"][0])), pin.JointModelFreeFlyer())
    data, best = model.createData(), np.inf
    for solver in sorted({"daqp", "proxqp", "quadprog", "piqp"} & set(qpsolvers.available_solvers)):
        times, left = [], 0.0
        for k in range(len(q)):
            configuration = pink.Configuration(model, data, pinocchio_q(robot, model, q[k]))
            tasks = [pink.FrameTask(f, position_cost=1.0, orientation_cost=1.0) for f in LIMBS["G1"]]
            for task, x in zip(tasks, targets, strict=True):
                task.set_target(pin.SE3(x[k][:3, :3], x[k][:3, 3]))
            begin = time.perf_counter()
            left = max(left, pink_search(pink, configuration, tasks, solver))
            times.append(time.perf_counter() - begin)
        yield f"G1, pink with {solver}, per solve", 1e6 * float(np.median(times)), "us", None
        yield f"G1, pink with {solver}, largest error left", left, "m,rad", None
        best = min(best, 1e6 * float(np.median(times))) if left <= TOLERANCE else best
    yield "G1, our batch beside the fastest pink (as a part of it)", batch / best, "", 0.1
    yield "G1, our single solves from Python beside it (as a part of it)", one / best, "", 0.1


def pink_search(pink: Any, configuration: Any, tasks: list[Any], solver: str) -> float:
    """Steps of pink until all errors are as small as asked, at most 100; the largest error."""
    left = np.inf
    for _ in range(100):
        left = max(float(np.max(np.abs(t.compute_error(configuration)))) for t in tasks)
        if left <= TOLERANCE:
            break
        v = pink.solve_ik(configuration, tasks, 1.0, solver=solver, damping=1e-9, safety_break=False)
        configuration.integrate_inplace(v, 1.0)
    return left


def pinocchio_q(robot: kl.Robot, model: Any, q: np.ndarray) -> np.ndarray:
    """q in the order of Pinocchio's model: joint by joint, the quaternion's real part last."""
    out = np.zeros(model.nq)
    for name, j in zip(model.names[1:], model.joints[1:], strict=True):
        if j.nq == 7:
            out[j.idx_q : j.idx_q + 7] = [*q[:3], *q[4:7], q[3]]
        else:
            out[j.idx_q] = q[robot.q_index(name)][0]
    return out


def whole_body() -> Iterator[Line]:
    """A step of whole-body control for Tello on both feet: the QP made and solved."""
    robot = kl.robots.load("tello")
    motors = [Motor(j, limit=6.0) for j in robot.joint_names if "rotor" in j]
    tasks = [Tracked(CenterOfMassTask()), Tracked(OrientationTask("torso"))]
    wbc = WholeBodyControl(robot, tasks, CONTACTS, motors)
    q, v = robot.neutral(), np.zeros(robot.nv)
    middle = np.mean([robot.frame_pose(q, f)[:3, 3] for f in CONTACTS], axis=0)
    com = robot.center_of_mass(q)
    ik = InverseKinematics(
        robot, [CenterOfMassTask(), OrientationTask("torso"), *(PoseTask(f) for f in LIMBS["tello"][:2])]
    )
    feet = [robot.frame_pose(q, f) for f in LIMBS["tello"][:2]]
    q = ik.solve(q, [[middle[0], com[1], com[2] - 0.03], np.eye(3), *feet]).q
    references = wbc.reference([robot.center_of_mass(q), np.eye(3)])
    found = wbc.step(q, v, references)
    times = seconds_per_call(
        {"step": lambda: wbc.step(q, v, references), "kernel": lambda: wbc.kernel(q, v, references)}, rounds=100
    )
    yield "Tello on two feet, whole step with the QP", 1e6 * times["step"], "us", 150.0
    yield "Tello on two feet, the kernel that makes the QP", 1e6 * times["kernel"], "us", None
    yield "Tello on two feet, iterations of the QP solver", float(found.iterations), "", None
