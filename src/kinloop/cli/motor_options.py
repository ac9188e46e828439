"""Motors for `kinloop sim`: none, those of the model file, or servos that hold the robot where it starts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import typer

import kinloop as kl
from kinloop.errors import MethodError, SingularConfiguration
from kinloop.sim import Motor
from kinloop.sim.actuators import Drive, make_drive, resting_controls
from kinloop.sim.felt_inertia import felt_inertias
from kinloop.sim.keyframes import keyframe_controls

CHOICES = ("torque", "model", "hold")

FREQUENCY, DAMPING = 20.0, 0.7
"""Of servos that hold [rad/s, part of critical], for the inertia felt at their joints at the start."""

PANEL = "Motors"


@dataclass(frozen=True)
class MotorOptions:
    """Which motors drive the robot."""

    motors: Annotated[
        str,
        typer.Option(
            help="torque: none, joints move freely. hold: servos that hold the start. "
            "model: those of the model file; its position servos hold the start.",
            rich_help_panel=PANEL,
        ),
    ] = "torque"
    kp: Annotated[
        float | None,
        typer.Option(help="Stiffness of all servos that hold. Default: from inertia.", rich_help_panel=PANEL),
    ] = None
    kd: Annotated[
        float | None,
        typer.Option(help="Damping of all servos that hold. Default: from inertia.", rich_help_panel=PANEL),
    ] = None

    def check(self) -> None:
        """Complain about motors that do not exist, and gains that would not be used or are no gains."""
        if self.motors not in CHOICES:
            raise MethodError(f"--motors {self.motors!r} is not one of {', '.join(CHOICES)}")
        if self.motors != "hold" and (self.kp is not None or self.kd is not None):
            raise MethodError(
                f"--kp and --kd are for --motors hold, received --motors {self.motors}; remove them or change that"
            )
        for name, gain in (("--kp", self.kp), ("--kd", self.kd)):
            if gain is not None and not (np.isfinite(gain) and gain >= 0):
                raise MethodError(f"{name} must be a number not below zero, received {gain:g}")


@dataclass(frozen=True)
class MotorSetup:
    """Motors (None: forces on the independent coordinates; "model": the file's), what they are told, both in words."""

    motors: list[Motor] | str | None
    controls: np.ndarray | None
    words: str


def motor_setup(robot: kl.Robot, q: np.ndarray, options: MotorOptions, keyframe: str | None = None) -> MotorSetup:
    """The motors of a run that starts at q, which may be a keyframe: then the file's are told what it says there."""
    if options.motors == "torque":
        return MotorSetup(None, None, "none: joints move freely")
    chosen = "model" if options.motors == "model" else holding_servos(robot, q, options.kp, options.kd)
    drive = file_drive(robot) if isinstance(chosen, str) else make_drive(robot.tree, chosen)
    motors = drive.motors
    count = {kind: sum(m.kind == kind for m in motors) for kind in ("position", "velocity", "torque")}
    told = {
        "position": "position servos that hold the start", "velocity": "velocity servos told to rest",
        "torque": "torque motors told nothing",
    }  # fmt: skip
    parts = [told[kind] if n == len(motors) else f"{n} {told[kind]}" for kind, n in count.items() if n]
    servos = [m for m in motors if m.kind == "position"]
    if servos:
        parts.append(f"kp {_range([m.kp for m in servos])}, kd {_range([m.kd for m in servos])}")
    there = [k for k in robot.mechanism.keyframes if k.name == keyframe and any(k.ctrl)]
    if there and drive.of_file:
        return MotorSetup(
            chosen, keyframe_controls(there[0], drive), f"told what keyframe {keyframe!r} says; {parts[-1]}"
        )
    return MotorSetup(chosen, resting_controls(drive, q), "; ".join(parts))


def _range(values: list[float]) -> str:
    low, high = (f"{abs(x):.3g}" for x in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"


def file_drive(robot: kl.Robot) -> Drive:
    """The motors a model file describes."""
    if not robot.mechanism.actuators:
        raise MethodError(f"the model of {robot.name!r} describes no motors; use --motors hold or --motors torque")
    try:
        return make_drive(robot.tree, "model")
    except MethodError as error:
        raise MethodError(f"{str(error).partition(';')[0]}; use --motors hold or --motors torque") from None


def holding_servos(robot: kl.Robot, q: np.ndarray, kp: float | None, kd: float | None) -> list[Motor]:
    """A position servo on every driven coordinate; its gains from the inertia felt there, where none are given."""
    names = held_coordinates(robot)
    if not names:
        raise MethodError(f"robot {robot.name!r} has no independent joint that a servo could hold; use --motors torque")
    given = kp is not None and kd is not None
    servos = []
    for name, inertia in zip(names, np.zeros(len(names)) if given else start_inertias(robot, q, names), strict=True):
        stiffness, damping = (float(f"{x * inertia:.3g}") for x in (FREQUENCY**2, 2 * DAMPING * FREQUENCY))
        servos.append(Motor(name, "position", stiffness if kp is None else kp, damping if kd is None else kd))
    return servos


def start_inertias(robot: kl.Robot, q: np.ndarray, names: list[str]) -> np.ndarray:
    """The inertia felt at the named coordinates where the run starts."""
    try:
        return felt_inertias(robot, q, names, FREQUENCY)
    except SingularConfiguration:
        raise SingularConfiguration(
            f"at the start the coordinates {', '.join(robot.independent_names)} do not determine the motion; "
            "start elsewhere, or give --kp and --kd"
        ) from None


def held_coordinates(robot: kl.Robot) -> list[str]:
    """Coordinates with a position that the file's motors drive; without motors the independent ones but the base's."""
    top = robot.tree.top
    places = make_drive(robot.tree, None).place_of
    index = {name: d for d, name in enumerate(top.coordinates)}
    driven = dict.fromkeys(name for a in robot.mechanism.actuators for name in a.joints)
    names = [name for name in driven if name in index]
    if not names:
        base = {i for i, t in enumerate(top.types) if top.parent[i] < 0 and t.nv > 1}
        names = [top.coordinates[d] for d in robot.tree.independent_dofs if top.body_of[d] not in base]
    return [name for name in names if places[index[name]] >= 0]
