"""`kinloop sim`: any robot, simulated from its neutral configuration or a keyframe."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

import kinloop as kl
from kinloop.cli.motor_options import MotorOptions, motor_setup
from kinloop.cli.option_groups import grouped
from kinloop.cli.output_paths import writable
from kinloop.cli.robot_argument import Floating, Name, Options, Packages, find
from kinloop.cli.run_plots import checked_plot_path, plot_run
from kinloop.cli.run_summary import page_notes, stops, summary
from kinloop.cli.start_options import StartOptions, batch_start, configuration
from kinloop.cli.terminal_output import console, say
from kinloop.cli.timed_run import Run, check_run, record_page, run
from kinloop.errors import MethodError
from kinloop.sim import Motor, Plane, Simulator
from kinloop.sim.contact.standing import can_land
from kinloop.sim.rollout_files import checked_path as checked_data_path
from kinloop.viewer.html_page import checked_page_path

RECORD = ("q", "v", "qd", "kinetic_energy", "potential_energy", "energy", "loop_error")
RECORD_CONTACT = ("contact_force", "gap", "residual")
RECORD_COLLISIONS = (*RECORD_CONTACT, "contact_point")

GROUND, STEPS, OUTPUT = "Ground", "Steps", "Output"
"""Panels of the help page."""


@dataclass(frozen=True)
class GroundOptions:
    """What the robot stands on."""

    ground: Annotated[
        bool | None, typer.Option("--ground/--no-ground", help="Default: for a free base.", rich_help_panel=GROUND)
    ] = None
    collisions: Annotated[
        bool,
        typer.Option(
            "--collisions", help="All shapes of the model touch each other and its world.", rich_help_panel=GROUND
        ),
    ] = False
    slope: Annotated[
        float | None, typer.Option(help="Degrees by which the ground rises along x.", rich_help_panel=GROUND)
    ] = None

    def plane(self) -> Plane | None:
        """The ground the options ask for, if they ask for one."""
        if self.slope is None:
            return Plane() if self.ground else None
        if self.ground is False:
            raise MethodError("--slope needs ground; remove --no-ground or --slope")
        if not abs(self.slope) < 90:
            raise MethodError(f"--slope must be between -90 and 90 degrees, received {self.slope:g}")
        angle = np.radians(self.slope)
        return Plane(normal=(-np.sin(angle), 0.0, np.cos(angle)))


@dataclass(frozen=True)
class StepOptions:
    """How long to simulate, how finely, how many at once."""

    time: Annotated[float, typer.Option(help="Seconds to simulate.", rich_help_panel=STEPS)] = 5.0
    dt: Annotated[float, typer.Option(help="Time step in seconds.", rich_help_panel=STEPS)] = 1e-3
    integrator: Annotated[
        str | None,
        typer.Option(
            help="semi_implicit, rk4 or adaptive. Default: rk4 where nothing touches, stops or drives the robot.",
            rich_help_panel=STEPS,
        ),
    ] = None
    batch: Annotated[int, typer.Option(help="Rows to simulate side by side.", rich_help_panel=STEPS)] = 1
    threads: Annotated[int | None, typer.Option(help="Default: as many as the machine has.", rich_help_panel=STEPS)] = (
        None
    )

    monitor: Annotated[
        bool,
        typer.Option("--monitor/--no-monitor", help="Watch energy and loops in every step.", rich_help_panel=STEPS),
    ] = True

    def check(self) -> None:
        """Complain about a run without time or robots."""
        check_run(self.time, self.batch)
        if self.threads is not None and self.threads < 1:
            raise MethodError(f"--threads must be at least 1, received {self.threads}")


@dataclass(frozen=True)
class OutputOptions:
    """What to write."""

    out: Annotated[
        Path | None, typer.Option(help="Folder for sim.html, sim.png and sim.npz.", rich_help_panel=OUTPUT)
    ] = None
    html: Annotated[Path | None, typer.Option(help="Write a page that plays the motion.", rich_help_panel=OUTPUT)] = (
        None
    )
    plot: Annotated[Path | None, typer.Option(help="Write a picture of curves over time.", rich_help_panel=OUTPUT)] = (
        None
    )
    save: Annotated[
        Path | None,
        typer.Option("--save", "--npz", help="Write all recorded arrays: .npz or .parquet.", rich_help_panel=OUTPUT),
    ] = None

    def files(self) -> OutputOptions:
        """The same with the files of the folder by name; what cannot be written is an error, before the work."""
        html, plot, save = self.html, self.plot, self.save
        if self.out is not None:
            html, plot, save = html or self.out / "sim.html", plot or self.out / "sim.png", save or self.out / "sim.npz"
        checked = (html and checked_page_path(html), plot and checked_plot_path(plot), save and checked_data_path(save))
        return OutputOptions(None, *(path and writable(path) for path in checked))


@grouped
def sim(
    name: Name,
    option: Options = None,
    floating: Floating = None,
    packages: Packages = None,
    *,
    start: StartOptions,
    motors: MotorOptions,
    ground: GroundOptions,
    steps: StepOptions,
    output: OutputOptions,
) -> None:
    """Simulate a robot; print rate, energy, loop and contact figures."""
    steps.check()
    motors.check()
    plane, files = ground.plane(), output.files()
    robot = find(name, option, floating, packages)
    around = ground.collisions and robot.mechanism.world_geometry  # the model says what there is to stand on
    if plane is None and ground.ground is None and can_land(robot) and not around:
        plane = Plane()
    q = configuration(robot, start, plane)
    driven = motor_setup(robot, q, motors, start.keyframe)
    simulator = make_simulator(
        robot, steps.dt, plane, steps.integrator, driven.motors, steps.monitor, ground.collisions
    )
    record = RECORD if simulator.ground is None else (*RECORD, *RECORD_CONTACT)
    record = (*RECORD, *RECORD_COLLISIONS) if ground.collisions else record
    q0, v0 = batch_start(robot, q, steps.batch, start.seed)
    done = run(simulator, q0, v0, driven.controls, steps.time, record, steps.threads)
    console().print(summary(done, ("motors", simulator.nu if driven.motors else 0, driven.words)))
    for sentence in stops(done):
        say(sentence)
    write(done, files)


def write(done: Run, files: OutputOptions) -> None:
    """Write what is asked for, and say so."""
    for path, make_file in (
        (files.save, done.rollout.save),
        (files.plot, lambda p: plot_run(done, p)),
        (files.html, lambda p: record_page(done, p, notes=page_notes(done))),
    ):
        if path is not None:
            say(f"wrote {make_file(path)}")


def make_simulator(
    robot: kl.Robot,
    dt: float,
    ground: Plane | None,
    integrator: str | None,
    motors: Sequence[Motor] | str | None = None,
    monitor: bool = True,
    collisions: bool = False,
) -> Simulator:
    """A simulator; by default of the accurate kind where nothing touches, stops or drives the robot."""
    stops = any(np.isfinite([j.lower, j.upper]).any() or j.friction for j in robot.mechanism.joints)
    smooth = ground is None and motors is None and not stops and not collisions
    chosen = integrator or ("rk4" if smooth else "semi_implicit")
    return Simulator(robot, dt, ground=ground, integrator=chosen, motors=motors, monitor=monitor, collisions=collisions)
