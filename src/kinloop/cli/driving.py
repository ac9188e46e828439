"""Motors for `kinloop sim`: none, those of the model file, or servos that hold the robot where it starts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import kinloop as kl
from kinloop.errors import MethodError, SingularConfiguration
from kinloop.model.joints import Free
from kinloop.sim import Motor
from kinloop.sim.actuation import make_drive, model_motors
from kinloop.sim.contact.candidates import find_candidates

CHOICES = ("torque", "model", "hold")

FREQUENCY, DAMPING = 20.0, 0.7
"""Of servos that hold [rad/s, part of critical], for the inertia a motor moves at the start."""


@dataclass(frozen=True)
class Driving:
    """Motors (None: forces on the independent coordinates), what they are told all along, and both in words."""

    motors: list[Motor] | None
    controls: np.ndarray | None
    words: str


def checked_choice(motors: str, kp: float | None, kd: float | None) -> None:
    """Complain about motors that do not exist, and gains that would not be used or are no gains."""
    if motors not in CHOICES:
        raise MethodError(f"--motors {motors!r} is not one of {', '.join(CHOICES)}")
    if motors != "hold" and (kp is not None or kd is not None):
        raise MethodError(
            f"--kp and --kd are for --motors hold, received --motors {motors}; remove them or change that"
        )
    for name, gain in (("--kp", kp), ("--kd", kd)):
        if gain is not None and not (np.isfinite(gain) and gain >= 0):
            raise MethodError(f"{name} must be a number not below zero, received {gain:g}")


def driving(robot: kl.Robot, q: np.ndarray, choice: str, kp: float | None = None, kd: float | None = None) -> Driving:
    """The motors of a run that starts at q."""
    if choice == "torque":
        return Driving(None, None, "none: joints move freely")
    motors = file_motors(robot) if choice == "model" else holding(robot, q, kp, kd)
    count = {kind: sum(m.kind == kind for m in motors) for kind in ("position", "velocity", "torque")}
    told = {
        "position": "position servos that hold the start", "velocity": "velocity servos told to rest",
        "torque": "torque motors told nothing",
    }  # fmt: skip
    parts = [told[kind] if n == len(motors) else f"{n} {told[kind]}" for kind, n in count.items() if n]
    servos = [m for m in motors if m.kind == "position"]
    if servos:
        parts.append(f"kp {_range([m.kp for m in servos])}, kd {_range([m.kd for m in servos])}")
    return Driving(motors, targets(robot, motors, q, choice), "; ".join(parts))


def _range(values: list[float]) -> str:
    low, high = (f"{abs(x):.3g}" for x in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"


def file_motors(robot: kl.Robot) -> list[Motor]:
    """The motors a model file describes."""
    if not robot.mechanism.extras.get("actuators"):
        raise MethodError(f"the model of {robot.name!r} describes no motors; use --motors hold or --motors torque")
    try:
        return model_motors(robot.tree)
    except MethodError as error:
        raise MethodError(f"{str(error).partition(';')[0]}; use --motors hold or --motors torque") from None


def targets(robot: kl.Robot, motors: list[Motor], q: np.ndarray, choice: str) -> np.ndarray:
    """What the motors are told: positions where they are at q, as far as their range goes; else nothing."""
    drive = make_drive(robot.tree, motors)
    u = np.array([m.gear * q[k] if m.kind == "position" else 0.0 for m, k in zip(motors, drive.places, strict=True)])
    if choice != "model":
        return u
    ranges = [a.get("ctrlrange", (-np.inf, np.inf)) for a in robot.mechanism.extras["actuators"]]
    return np.clip(u, *np.array(ranges, dtype=float).T)


def holding(robot: kl.Robot, q: np.ndarray, kp: float | None, kd: float | None) -> list[Motor]:
    """A position servo on every driven coordinate; its gains from the inertia it moves, where none are given."""
    names = held_coordinates(robot)
    if not names:
        raise MethodError(f"robot {robot.name!r} has no independent joint that a servo could hold; use --motors torque")
    given = kp is not None and kd is not None
    servos = []
    for name, inertia in zip(names, np.zeros(len(names)) if given else moved_inertias(robot, q, names), strict=True):
        stiffness, damping = (float(f"{x * inertia:.3g}") for x in (FREQUENCY**2, 2 * DAMPING * FREQUENCY))
        servos.append(Motor(name, "position", stiffness if kp is None else kp, damping if kd is None else kd))
    return servos


def held_coordinates(robot: kl.Robot) -> list[str]:
    """Coordinates with a position that the file's motors drive; without motors the independent ones but the base's."""
    top = robot.tree.top
    places = make_drive(robot.tree, None).place_of
    index = {name: d for d, name in enumerate(top.coordinates)}
    driven = dict.fromkeys(name for a in robot.mechanism.extras.get("actuators") or () for name in a["joints"])
    names = [name for name in driven if name in index]
    if not names:
        base = {i for i, t in enumerate(top.types) if top.parent[i] < 0 and t.nv > 1}
        names = [top.coordinates[d] for d in robot.tree.independent_dofs if top.body_of[d] not in base]
    return [name for name in names if places[index[name]] >= 0]


def moved_inertias(robot: kl.Robot, q: np.ndarray, names: list[str]) -> np.ndarray:
    """The inertia each coordinate moves at q while the others of `names` rest: its own leg's, or the whole robot's.

    The motion of unit rate is the one of least energy, springs included, in which a certain body rests: the base,
    or in turn each body that may touch the ground, for a leg that stands there moves the robot. The most counts.
    """
    plain = kl.Robot.from_tree(robot.tree, "numpy")
    top = robot.tree.top
    M, G = plain.mass_matrix(q), plain.spanning_jacobian(q)
    if not (np.all(np.isfinite(M)) and np.all(np.isfinite(G))):
        raise SingularConfiguration(
            f"at the start the coordinates {', '.join(robot.independent_names)} do not determine the motion; "
            "start elsewhere, or give --kp and --kd"
        )
    driven = G[[top.coordinates.index(name) for name in names]]
    springs = np.array([j.stiffness for j in top.joints for _ in range(j.type.nv)]) / FREQUENCY**2
    ease = np.linalg.inv(M + G.T @ (springs[:, None] * G))
    out = np.zeros(len(names))
    for body in resting_bodies(robot):
        rows = driven if body is None else np.concatenate([driven, plain.frame_jacobian(q, body)])
        X = ease @ rows.T @ np.linalg.pinv(rows @ ease @ rows.T, rcond=1e-10)[:, : len(names)]
        out = np.maximum(out, np.einsum("ik,ij,jk->k", X, M, X))
    return out


def resting_bodies(robot: kl.Robot) -> list[str | None]:
    """Bodies of a robot with a free base that may be at rest: the base, and what may touch; None for the world."""
    top = robot.tree.top
    base = [i for i, t in enumerate(top.types) if isinstance(t, Free) and top.parent[i] < 0]
    if len(base) != 1:
        return [None]
    return list(dict.fromkeys([robot.body_names[base[0]], *touching_bodies(robot)]))


def touching_bodies(robot: kl.Robot) -> list[str]:
    try:
        candidates = find_candidates(robot, None)
    except MethodError:
        return []
    return list(dict.fromkeys(robot.body_names[c.body] for c in candidates))
