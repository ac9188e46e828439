"""`kinloop sim`: any robot, from its neutral configuration, simulated."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import kinloop as kl
from kinloop.cli.find import Floating, Name, Options, find
from kinloop.cli.running import figures, lands, raised, run, write_page
from kinloop.cli.tables import console
from kinloop.errors import MethodError
from kinloop.viewer.page import checked_path


def sim(
    name: Name,
    option: Options = None,
    floating: Floating = None,
    time: Annotated[float, typer.Option(help="How long to simulate [s].")] = 5.0,
    dt: Annotated[float, typer.Option(help="Time step [s].")] = 1e-3,
    integrator: Annotated[str | None, typer.Option(help="semi_implicit, rk4 or adaptive.")] = None,
    ground: Annotated[bool | None, typer.Option("--ground/--no-ground", help="Default: for a free base.")] = None,
    height: Annotated[float, typer.Option(help="Height of the lowest point of a free base's robot [m].")] = 0.1,
    out: Annotated[Path | None, typer.Option(help="Folder for sim.html and sim.npz.")] = None,
    html: Annotated[Path | None, typer.Option(help="Write a page that plays the motion.")] = None,
    npz: Annotated[Path | None, typer.Option(help="Write all recorded arrays.")] = None,
    batch: Annotated[int, typer.Option(help="Rows to simulate side by side.")] = 1,
    threads: Annotated[int | None, typer.Option(help="Threads; default: as many as the machine has.")] = None,
    seed: Annotated[int | None, typer.Option(help="Start with random velocities drawn from this seed.")] = None,
) -> None:
    """Simulate a robot from its neutral configuration; print rate, energy, loop and contact figures."""
    if not time > 0 or batch < 1:
        raise MethodError(f"--time must be positive and --batch at least 1, received {time:g} and {batch}")
    if html is not None:
        checked_path(html)
    if npz is not None and npz.suffix not in (".npz", ".parquet"):
        raise MethodError(f"cannot save to {npz.name!r}; give a name that ends in .npz or .parquet")
    robot = find(name, option, floating)
    grounded = lands(robot) if ground is None else ground
    simulator = make(robot, dt, grounded, integrator)
    q0, v0 = start(robot, height, batch, seed)
    record = ["q", "v", "energy", "loop_error"]
    if simulator.ground is not None:
        record += ["contact_force", "gap", "residual"]
    done = run(simulator, q0, v0, None, time, record, threads)
    say = console()
    say.print(figures(done))
    if out is not None:
        html, npz = html or out / "sim.html", npz or out / "sim.npz"
    if npz is not None:
        npz.parent.mkdir(parents=True, exist_ok=True)
        say.print(f"wrote {done.rollout.save(npz)}", soft_wrap=True)
    if html is not None:
        say.print(f"wrote {write_page(done, html)}", soft_wrap=True)


def make(robot: kl.Robot, dt: float, ground: bool, integrator: str | None, **more: Any) -> Any:
    """A simulator; its integrator is the one contact needs where there is ground, else the accurate one."""
    from kinloop.sim import Plane, Simulator

    integrator = integrator or ("semi_implicit" if ground else "rk4")
    return Simulator(robot, dt, ground=Plane() if ground else None, integrator=integrator, **more)


def start(robot: kl.Robot, height: float, batch: int, seed: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Neutral configurations above the ground: one at rest; with a seed or as several rows, with random velocities."""
    q = robot.neutral()
    q = raised(robot, q, height) if lands(robot) else q
    if batch == 1 and seed is None:
        return q, np.zeros(robot.nv)
    v = 0.5 * np.random.default_rng(0 if seed is None else seed).normal(size=(batch, robot.nv))
    return np.tile(q, (batch, 1)), v
