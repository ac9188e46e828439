"""Mechanisms the simulator's tests share."""

from __future__ import annotations

import numpy as np

import kinloop as kl
from kinloop.algorithms.trees.articulated import articulate
from kinloop.algorithms.trees.kinematics import motion
from kinloop.model import Builder
from kinloop.robots.solid_inertias import bar, box
from kinloop.sim import ContactPoint, Simulator, box_corners
from kinloop.sim.actuators import joint_forces
from kinloop.sim.smooth_motion import accelerate
from kinloop.sim.watch import BEGINNING


def crank_rocker(independent: str | None = None) -> kl.Robot:
    """A Grashof four-bar whose crank can turn fully; no configuration of it is singular in all charts."""
    b = Builder("crank_rocker")
    b.body("crank", axis="y", **bar(0.5, 0.2))
    b.body("coupler", "crank", axis="y", at=(0.2, 0, 0), **bar(0.8, 0.6))
    b.body("rocker", axis="y", at=(0.6, 0, 0), **bar(0.6, 0.5))
    b.loop("pin", "coupler", "rocker", axis="y", at=(0.6, 0, 0), at_successor=(0.5, 0, 0))
    if independent:
        b.independent = [independent]
    return b.build()


def pendulum(**joint: float) -> kl.Robot:
    b = Builder("pendulum")
    b.body("rod", axis="y", **bar(1.0, 0.5, along="z", sign=-1.0), **joint)
    return b.build()


def free_box(mass: float = 2.0, x: float = 0.2, y: float = 0.3, z: float = 0.1) -> kl.Robot:
    b = Builder("box")
    b.body("box", joint="free", **box(mass, x, y, z))
    return b.build()


def on_fixed_base(name: str) -> kl.Robot:
    """A robot of the zoo with its free base fixed to the world."""
    return kl.robots.load(name, floating_base=False)


RECORD = ("q", "v", "energy", "kinetic_energy", "loop_error")
"""What tests of passive motion record."""

SIZE = (0.2, 0.3, 0.1)
"""Of the box that tests of contact drop and slide [m]."""


def drift(r):
    """How much the energy changes, relative to the largest kinetic energy."""
    energy = np.atleast_2d(r.energy)
    return float(np.max(np.abs(energy - energy[:, :1])) / np.max(r.kinetic_energy))


def started(independent, speed=20.0):
    """The crank-rocker at the same state, whichever joint is independent."""
    base = crank_rocker("crank_joint")
    q = base.neutral()
    qd = base.spanning_velocity(q, np.array([speed]))
    robot = crank_rocker(independent)
    return robot, q, qd[robot.tree.independent_dofs]


def smooth_motion(tree, drive, q, v, u):
    """The smooth motion at a closed state under the controls u."""
    kin = motion(tree, q, v)
    f = joint_forces(drive, q, np.concatenate([e.qd for e in kin.embedding]), u)
    return accelerate(tree, kin, articulate(tree, kin), q, f)


def parallelograms(n: int) -> kl.Robot:
    """n parallelograms in a row, with common rockers of 1 m; all loops lose rank where they lie in line."""
    b = Builder(f"parallelograms_{n}")
    b.body("rocker0", axis="y", **bar(1.0, 1.0, along="z"))
    for i in range(1, n + 1):
        b.body(f"coupler{i}", f"rocker{i - 1}", axis="y", at=(0, 0, 1), **bar(1.0, 1.0))
        b.body(f"rocker{i}", axis="y", at=(float(i), 0, 0), **bar(1.0, 1.0, along="z"))
        b.loop(f"pin{i}", f"coupler{i}", f"rocker{i}", axis="y", at=(1, 0, 0), at_successor=(0, 0, 1))
    b.independent = ["rocker0_joint"]
    return b.build()


def turned(robot, angle, rate):
    """All rockers at an angle, turning at a rate, couplers level: q and qd."""
    sign = np.array([1.0 if name.startswith("rocker") else -1.0 for name in robot.joint_names])
    return sign * angle, sign * rate


def box_on(ground, dt=1e-3, **options):
    """A box of 2 kg on some ground, which it touches with its corners."""
    return Simulator(free_box(2.0, *SIZE), dt, ground=ground, contacts=box_corners("box", SIZE), **options)


def level(height=0.05):
    """The position of a free body that is not turned."""
    return np.array([0, 0, height, 1, 0, 0, 0], dtype=float)


def ball(ground):
    """A ball of 1 kg and 0.1 m radius on some ground."""
    b = kl.Builder("ball")
    b.body("ball", joint="free", mass=1.0, inertia=(0.004, 0.004, 0.004))
    return Simulator(b.build(), 1e-3, ground=ground, contacts=[ContactPoint("ball", radius=0.1)])


def leg(**knee):
    """A body on one leg whose knee has stops, and maybe dry friction."""
    b = kl.Builder("leg")
    b.body("trunk", joint="free", mass=3.0, inertia=(0.05, 0.05, 0.05))
    b.body("thigh", "trunk", axis="y", mass=0.5, com=(0, 0, -0.1), inertia=(2e-3, 2e-3, 1e-4), lower=-2.0, upper=2.0)
    b.body("shank", "thigh", axis="y", at=(0, 0, -0.2), mass=0.3, com=(0, 0, -0.1), inertia=(1e-3, 1e-3, 1e-4),
           joint_name="knee", lower=0.1, upper=1.4, **knee)  # fmt: skip
    b.frame("foot", "shank", at=(0, 0, -0.2))
    return b.build()


def leg_states(robot, n):
    """Legs above the ground, every other one with its knee running into a stop."""
    rng = np.random.default_rng(0)
    Q = np.tile(robot.neutral(), (n, 1))
    Q[:, 2], Q[:, 8] = rng.uniform(0.4, 0.5, n), rng.uniform(0.5, 0.9, n)
    V = 0.3 * rng.normal(size=(n, robot.nv))
    V[::2, 7] = 9.0
    return Q, V


def three_rockers(noise: float, named: bool = True) -> kl.Robot:
    """A platform on three equal rockers: one more than it needs, as double parallelograms have.

    The points of its pins miss each other by `noise` [m], as in a file of few digits: taken at its word it cannot move.
    """
    rng, link = np.random.default_rng(0), {"mass": 1.0, "inertia": (0.1, 0.1, 0.1), "com": (0, 0, 0.3), "axis": "y"}
    b = Builder("three_rockers")
    b.body("left", **link)
    b.body("platform", "left", at=(0, 0, 0.5), **link)
    for k, name in enumerate(("middle", "right"), start=1):
        b.body(name, at=(0.4 * k, 0, 0), **link)
        ends = [np.array(end) + noise * rng.normal(size=3) for end in ((0.4 * k, 0, 0), (0, 0, 0.5))]
        b.loop(f"{name}_pin", "platform", name, axis="y", at=ends[0], at_successor=ends[1])
    b.independent = ["left_joint"] if named else []
    return b.build()


def begin_watch(rows):
    """What is watched of batch rows that begin, (rows, fields)."""
    return np.tile(BEGINNING, (rows, 1))
