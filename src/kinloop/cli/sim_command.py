"""`kinloop sim`: any robot, simulated from its neutral configuration or a keyframe."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import kinloop as kl
from kinloop.cli import start_options as start
from kinloop.cli.motor_options import checked_choice, driving
from kinloop.cli.robot_argument import Floating, Name, Options, find
from kinloop.cli.terminal_output import console
from kinloop.cli.timed_run import Run, figures, lands, run, write_page
from kinloop.errors import MethodError
from kinloop.sim import Plane, Simulator
from kinloop.sim.rollout import checked_path as checked_save
from kinloop.viewer.camera_and_light import checked_path as checked_page

RECORD = ("q", "v", "qd", "kinetic_energy", "potential_energy", "energy", "loop_error")

START, GROUND, MOTORS, OUTPUT, STEPS = "Start", "Ground", "Motors", "Output", "Steps"


def sim(
    name: Name,
    option: Options = None,
    floating: Floating = None,
    keyframe: Annotated[
        str | None, typer.Option(help="Start at this keyframe of the model file.", rich_help_panel=START)
    ] = None,
    height: Annotated[
        float | None,
        typer.Option(
            help="Metres from the ground to the robot's lowest point. Default: 0.1, or as in the keyframe.",
            rich_help_panel=START,
        ),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Start with random velocities drawn from this seed.", rich_help_panel=START)
    ] = None,
    motors: Annotated[
        str,
        typer.Option(
            help="torque: none, joints move freely. hold: servos that hold the start. "
            "model: those of the model file; its position servos hold the start.",
            rich_help_panel=MOTORS,
        ),
    ] = "torque",
    kp: Annotated[
        float | None,
        typer.Option(help="Stiffness of all servos that hold. Default: from inertia.", rich_help_panel=MOTORS),
    ] = None,
    kd: Annotated[
        float | None,
        typer.Option(help="Damping of all servos that hold. Default: from inertia.", rich_help_panel=MOTORS),
    ] = None,
    ground: Annotated[
        bool | None, typer.Option("--ground/--no-ground", help="Default: for a free base.", rich_help_panel=GROUND)
    ] = None,
    slope: Annotated[
        float | None, typer.Option(help="Degrees by which the ground rises along x.", rich_help_panel=GROUND)
    ] = None,
    time: Annotated[float, typer.Option(help="Seconds to simulate.", rich_help_panel=STEPS)] = 5.0,
    dt: Annotated[float, typer.Option(help="Time step in seconds.", rich_help_panel=STEPS)] = 1e-3,
    integrator: Annotated[
        str | None,
        typer.Option(
            help="semi_implicit, rk4 or adaptive. Default: rk4 where nothing touches, stops or drives the robot.",
            rich_help_panel=STEPS,
        ),
    ] = None,
    batch: Annotated[int, typer.Option(help="Rows to simulate side by side.", rich_help_panel=STEPS)] = 1,
    threads: Annotated[
        int | None, typer.Option(help="Default: as many as the machine has.", rich_help_panel=STEPS)
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for sim.html, sim.png and sim.npz.", rich_help_panel=OUTPUT)
    ] = None,
    html: Annotated[
        Path | None, typer.Option(help="Write a page that plays the motion.", rich_help_panel=OUTPUT)
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Write a picture of curves over time.", rich_help_panel=OUTPUT)
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option("--save", "--npz", help="Write all recorded arrays: .npz or .parquet.", rich_help_panel=OUTPUT),
    ] = None,
) -> None:
    """Simulate a robot; print rate, energy, loop and contact figures."""
    if not time > 0 or batch < 1:
        raise MethodError(f"--time must be positive and --batch at least 1, received {time:g} and {batch}")
    checked_choice(motors, kp, kd)
    below = plane(ground, slope)
    if out is not None:
        html, plot, save = html or out / "sim.html", plot or out / "sim.png", save or out / "sim.npz"
    checked_outputs(html, plot, save)
    robot = find(name, option, floating)
    below = (Plane() if ground is None and lands(robot) else None) if below is None else below
    q = start.configuration(robot, keyframe, height, below)
    driven = driving(robot, q, motors, kp, kd)
    simulator = make(robot, dt, below, integrator, motors=driven.motors)
    record = [*RECORD, *(("contact_force", "gap", "residual") if simulator.ground is not None else ())]
    done = run(simulator, *start.rows(robot, q, batch, seed), driven.controls, time, record, threads)
    console().print(figures(done, ("motors", len(driven.motors or ()), driven.words)))
    write(done, html, plot, save)


def plane(ground: bool | None, slope: float | None) -> Plane | None:
    """The ground the options ask for, if they ask for one."""
    if slope is None:
        return Plane() if ground else None
    if ground is False:
        raise MethodError("--slope needs ground; remove --no-ground or --slope")
    if not abs(slope) < 90:
        raise MethodError(f"--slope must be between -90 and 90 degrees, received {slope:g}")
    angle = np.radians(slope)
    return Plane(normal=(-np.sin(angle), 0.0, np.cos(angle)))


def checked_outputs(html: Path | None, plot: Path | None, save: Path | None) -> None:
    """Complain about what cannot be written, before the work and not after it."""
    if html is not None:
        checked_page(html)
    if plot is not None and plot.suffix not in (".png", ".pdf", ".svg"):
        raise MethodError(f"cannot write a plot to {plot.name!r}; give a name that ends in .png, .pdf or .svg")
    if save is not None:
        checked_save(save)


def write(done: Run, html: Path | None, plot: Path | None, save: Path | None) -> None:
    """Write what is asked for, and say so."""
    from kinloop.cli.run_plots import plot as draw

    for path, make_file in (
        (save, done.rollout.save),
        (plot, lambda p: draw(done, p)),
        (html, lambda p: write_page(done, p)),
    ):
        if path is not None:
            console().print(f"wrote {make_file(path)}", soft_wrap=True, highlight=False)


def make(robot: kl.Robot, dt: float, ground: Any, integrator: str | None, motors: Any = None) -> Simulator:
    """A simulator; by default of the accurate kind where nothing touches, stops or drives the robot."""
    stops = any(np.isfinite([j.lower, j.upper]).any() or j.friction for j in robot.mechanism.joints)
    smooth = ground is None and motors is None and not stops
    return Simulator(
        robot, dt, ground=ground, integrator=integrator or ("rk4" if smooth else "semi_implicit"), motors=motors
    )
