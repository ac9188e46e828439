"""Legged robots with what tasks need to know of them: where they stand, what drives them, what touches the ground."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kinloop.clusters.framing import framed
from kinloop.io import build
from kinloop.robot import Robot
from kinloop.robots import load as from_zoo
from kinloop.scalar import Array
from kinloop.sim.contact.candidates import ContactPoint, find_candidates
from kinloop.sim.motors import Motor
from kinloop.sim.on_loops import closed_twice

BENDS = 10
"""Steps in which loops are bent, so that every one of them is closed easily."""


@dataclass(frozen=True, eq=False)
class LeggedMachine:
    """A robot on a free base that stands at `home` (nq,) under servos; actions shift their targets by up to `reach`.

    `feet` has for every foot the points of contact on it, `swing` the part of a stride at which it leaves the ground.
    `stride` is how long a stride takes [s]. Targets and `reach` (motors,) are in the motors' own radians.
    """

    robot: Robot
    servos: tuple[Motor, ...]
    home: Array
    feet: tuple[tuple[ContactPoint, ...], ...]
    swing: tuple[float, ...]
    stride: float
    reach: Array
    dt: float
    hold: int

    @property
    def contacts(self) -> list[ContactPoint]:
        """The points of all feet."""
        return [point for foot in self.feet for point in foot]

    @property
    def places(self) -> list[int]:
        """Where the positions of the motors' coordinates are in q."""
        return [int(self.robot.q_index(m.coordinate).start) for m in self.servos]

    @property
    def dofs(self) -> list[int]:
        """Where their velocities are in qd."""
        top = self.robot.tree.top
        return [top.coordinates.index(m.coordinate) for m in self.servos]

    @property
    def ratios(self) -> Array:
        """How many times as fast as their coordinates motors turn."""
        return np.array([m.ratio for m in self.servos])

    @property
    def targets(self) -> Array:
        """What servos are told to stand at home."""
        return self.ratios * self.home[self.places]

    @property
    def height(self) -> float:
        """How high the base is at home [m]."""
        return float(self.home[2])


def posed(robot: Robot, angles: Mapping[str, float], q: Array | None = None) -> Array:
    """The closed configuration with the named joints at given angles, all else neutral, or as at q."""
    q = robot.neutral() if q is None else q.copy()
    for name, x in angles.items():
        q[robot.q_index(name)] = x
    return closed_twice(framed(robot.tree), q)[0]


def bent_links(robot: Robot, angles: Mapping[str, float]) -> Array:
    """The closed configuration with the named joints of loops at given angles; motors go where these lead them."""
    linked = robot.with_independent(list(angles))
    q = linked.neutral()
    step = np.zeros(linked.nv)
    for name, x in angles.items():
        step[linked.v_index(name)] = (x - q[linked.q_index(name)]) / BENDS
    for _ in range(BENDS):
        q = linked.integrate(q, step)
    return q


def on_the_ground(robot: Robot, q: Array, points: list[ContactPoint]) -> Array:
    """The configuration q of a robot on a free base at such a height that the lowest point touches level ground."""
    q = q.copy()
    q[2] -= min(
        float((robot.frame_pose(q, p.frame) @ [*np.asarray(p.at, dtype=float), 1.0])[2]) - p.radius for p in points
    )
    return q


def mini_cheetah(dt: float = 2.5e-3, hold: int = 8) -> LeggedMachine:
    """Mini Cheetah of the zoo with its rotors: it trots."""
    robot = from_zoo("mini_cheetah")
    pose = {"abad": 0.0, "hip": -0.8, "knee": 1.6}
    joints = [n for n in robot.independent_names if n.endswith("link_joint")]
    feet = tuple((ContactPoint(f),) for f in robot.frame_names if f.endswith("foot_contact"))
    servos = tuple(Motor(j, "position", kp=20.0, kd=0.5, limit=18.0) for j in joints)
    home = posed(robot, {j: pose[j.split("_")[1]] for j in joints})
    home = on_the_ground(robot, home, [p for foot in feet for p in foot])
    reach = np.array([{"abad": 0.25, "hip": 0.5, "knee": 0.5}[j.split("_")[1]] for j in joints])
    swing = tuple(0.5 if foot[0].frame[:2] in ("HR", "FL") else 0.0 for foot in feet)
    return LeggedMachine(robot, servos, home, feet, swing, 0.5, reach, dt, hold)


GEAR = 6.0
"""How many times as fast as Tello's joints its rotors turn."""


def tello(dt: float = 1e-3, hold: int = 20) -> LeggedMachine:
    """Tello of the zoo: its motors act on the rotors of its differentials."""
    robot = from_zoo("tello")
    motors = [n for n in robot.independent_names if not n.startswith("torso-to-ground")]
    bent = {"hip-clamp-to-gimbal": 0.0, "gimbal-to-thigh": -0.37, "thigh-to-shin": 0.8, "shin-to-foot": -0.43}
    home = bent_links(robot, {f"{side}-{joint}": x for side in ("left", "right") for joint, x in bent.items()})
    feet = tuple(
        tuple(ContactPoint(f"{side}-foot", (x, 0.0, -0.041)) for x in (0.1, -0.05)) for side in ("left", "right")
    )
    home = on_the_ground(robot, home, [p for foot in feet for p in foot])
    servos = tuple(
        Motor(j, "position", kp=100.0, kd=2.0, limit=60.0) if j.endswith("clamp")
        else Motor(j, "position", kp=100.0 / GEAR**2, kd=2.0 / GEAR**2, limit=60.0 / GEAR)
        for j in motors
    )  # fmt: skip
    reach = np.array([0.2 if j.endswith("clamp") else 0.4 * GEAR for j in motors])
    return LeggedMachine(robot, servos, home, feet, (0.0, 0.5), 0.6, reach, dt, hold)


CASSIE_GAINS = {"hip-roll": 100.0, "hip-yaw": 100.0, "hip-pitch": 200.0, "knee": 200.0, "foot": 50.0}
"""Servos of Cassie [N m/rad]."""


def cassie(path: str | Path, dt: float = 1e-3, hold: int = 20) -> LeggedMachine:
    """Cassie of a MuJoCo Menagerie file, `agility_cassie/scene.xml`, with its rods and leaf springs as loops."""
    robot = build(path, Robot)
    (key,) = [k for k in robot.mechanism.keyframes if k.name == "home"]
    joints = [a.joints[0] for a in robot.mechanism.actuators]
    gains = [CASSIE_GAINS[j.split("-", 1)[1]] for j in joints]
    servos = tuple(Motor(j, "position", kp, 0.05 * kp, limit=200.0) for j, kp in zip(joints, gains, strict=True))
    soles = find_candidates(robot, [b.name for b in robot.mechanism.bodies if b.name.endswith("foot")])
    names = robot.body_names
    feet = tuple(
        tuple(ContactPoint(names[c.body], c.at, c.radius) for c in soles if names[c.body].startswith(side))
        for side in ("left", "right")
    )
    home = on_the_ground(robot, robot.close(np.array(key.q)), [p for foot in feet for p in foot])
    reach = np.array([0.3 if "roll" in j or "yaw" in j else 0.5 for j in joints])
    return LeggedMachine(robot, servos, home, feet, (0.0, 0.5), 0.7, reach, dt, hold)


def go1(path: str | Path, dt: float = 2.5e-3, hold: int = 8) -> LeggedMachine:
    """Go1 of a MuJoCo Menagerie file, `unitree_go1/go1.xml`: it trots on its four feet."""
    robot = build(path, Robot)
    (key,) = [k for k in robot.mechanism.keyframes if k.name == "home"]
    joints = [a.joints[0] for a in robot.mechanism.actuators]
    feet = []
    for body in robot.mechanism.bodies:
        for g in body.geometry:
            if body.name.endswith("calf") and g.kind == "sphere" and g.role != "visual":
                feet.append((ContactPoint(body.name, g.placement.p, g.size[0]),))
    home = on_the_ground(robot, np.array(key.q), [p for foot in feet for p in foot])
    servos = tuple(Motor(j, "position", kp=30.0, kd=0.8, limit=30.0) for j in joints)
    swing = tuple(0.5 if foot[0].frame[:2] in ("FR", "RL") else 0.0 for foot in feet)
    reach = np.array([0.25 if "hip" in j else 0.5 for j in joints])
    return LeggedMachine(robot, servos, home, tuple(feet), swing, 0.5, reach, dt, hold)
