"""`kinloop demo`: Tello, whose legs are closed linkages, lands on its feet and stands."""

from __future__ import annotations

import sys
import webbrowser
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

import kinloop as kl
from kinloop.cli.output_paths import writable
from kinloop.cli.run_plots import checked_plot_path, plot_run
from kinloop.cli.run_summary import stops, summary
from kinloop.cli.sim_command import RECORD, RECORD_CONTACT, make_simulator
from kinloop.cli.start_options import lowest, raised
from kinloop.cli.terminal_output import console, say, waiting
from kinloop.cli.timed_run import Run, check_run, record_page, run
from kinloop.errors import MethodError
from kinloop.model import Frame
from kinloop.sim import Motor, Plane
from kinloop.spatial import Transform
from kinloop.viewer.html_page import checked_page_path

CROUCH = 1.1
"""Bend of the knees at landing [rad]."""

LINKS = ("hip-clamp-to-gimbal", "gimbal-to-thigh", "thigh-to-shin", "shin-to-foot")

TRIALS, STRIDES = 20, 5
"""Corrections of the lean until the robot is balanced, and steps in which the legs go from one to the next."""
BALANCED = 1e-4
"""The centre of mass is so near to the middle of the feet [m]."""
LEG = 0.4
"""How far the feet move forward per radian of lean [m]."""

DT = 1e-3
TOUCHING = 1e-3
"""A foot no higher than this is on the ground [m]."""
PUSH = 0.08
"""Standard deviation of the velocities with which a batch starts [rad/s, m/s]."""

KP, KD = 3.0, 0.05
"""Gains of the motors' servos, at the rotors [N m/rad, N m s/rad]."""


def demo(
    out: Annotated[Path, typer.Option(help="Folder for what the demo writes.")] = Path("kinloop-demo"),
    time: Annotated[float, typer.Option(help="Seconds to simulate.")] = 2.0,
    height: Annotated[float, typer.Option(help="Metres from which to drop.")] = 0.2,
    batch: Annotated[int, typer.Option(help="Rows of the timed batch.")] = 64,
) -> None:
    """Simulate closed-loop legs landing on the ground: figures, a page that plays, a plot."""
    check_run(time, batch)
    if not 0 <= height < np.inf:
        raise MethodError(f"--height must be a finite number of metres not below zero, received {height:g}")
    page, picture = writable(checked_page_path(out / "tello.html")), writable(checked_plot_path(out / "tello.png"))
    with waiting("building Tello"):
        robot = landing_tello()
        q0 = raised(robot, crouched(robot), height, Plane())
    simulator = make_simulator(robot, DT, Plane(), None, motors(robot))
    controls = targets(robot, q0)
    one = run(simulator, q0, None, controls, time, (*RECORD, *RECORD_CONTACT))
    many = run_batch(one, q0, batch, controls, min(time, 1.0))
    console().print(summary(one))
    for sentence in stops(one):
        say(sentence)
    landed = int(np.sum(on_feet(robot, many.rollout["q"][:, -1], q0) & ~many.rollout.diverged))
    say(f"{batch} robots pushed at random, side by side: {many.rate:,.0f} steps/s, {landed} land on their feet")
    notes = f"dropped from {100 * height:.0f} cm, servos at the motors, contact forces as arrows"
    for path in (record_page(one, page, "Tello lands", notes), plot_run(one, picture)):
        say(f"wrote {path}")
    if sys.stdout.isatty() and sys.stdin.isatty():
        webbrowser.open(page.resolve().as_uri())


def landing_tello() -> kl.Robot:
    """Tello with a heel and a toe on each foot, both toes to the front."""
    m = kl.robots.mechanism("tello")
    frames = [
        Frame(f"{side}-{part}", f"{side}-foot", Transform(np.eye(3), np.array([x, 0.0, -0.041])))
        for side in ("left", "right")
        for part, x in (("heel", -0.05), ("toe", 0.1))
    ]
    return replace(m, frames=tuple(frames)).build()


def crouched(robot: kl.Robot) -> np.ndarray:
    """Knees bent, soles level, torso upright, centre of mass over the middle of the feet; loops closed."""
    links = [f"{side}-{name}" for side in ("left", "right") for name in LINKS]
    posed = robot.with_independent(links)
    places = [posed.independent_names.index(name) for name in links]
    at = [robot.tree.top.q_of[robot.tree.top.joint_index[name]].start for name in links]
    lean = 0.5 * CROUCH
    q = posed.neutral()
    for _ in range(TRIALS):
        wanted = np.array(2 * [0.0, -lean, CROUCH, lean - CROUCH])
        step = np.zeros(posed.nv)
        step[places] = (wanted - q[at]) / STRIDES
        for _ in range(STRIDES):
            q = posed.integrate(q, step)
        feet = np.mean([robot.frame_pose(q, f.name)[:3, 3] for f in robot.mechanism.frames], axis=0)
        ahead = float(robot.center_of_mass(q)[0] - feet[0])
        if abs(ahead) < BALANCED:
            break
        lean += ahead / LEG
    return q


def motors(robot: kl.Robot) -> list[Motor]:
    """A position servo on every independent coordinate but the base's."""
    return [Motor(name, "position", KP, KD) for name in robot.independent_names if "[" not in name]


def targets(robot: kl.Robot, q: np.ndarray) -> np.ndarray:
    """The servos' targets that hold q."""
    top = robot.tree.top
    return np.array([q[top.q_of[top.joint_index[m.joint]].start] for m in motors(robot)])


def run_batch(one: Run, q0: np.ndarray, rows: int, controls: np.ndarray, seconds: float) -> Run:
    """Many landings at once, each with a push of its own."""
    v0 = PUSH * np.random.default_rng(0).normal(size=(rows, one.sim.robot.nv))
    return run(one.sim, np.tile(q0, (rows, 1)), v0, controls, seconds, ("q",))


def on_feet(robot: kl.Robot, Q: np.ndarray, q0: np.ndarray) -> np.ndarray:
    """At which configurations Q (B, nq) a foot is on the ground and the base has not fallen from its height at q0."""
    upright = q0[2] - lowest(robot, q0, Plane())
    low = np.array([lowest(robot, q, Plane()) for q in Q])
    return np.asarray((low < TOUCHING) & (Q[:, 2] > 0.5 * upright))
