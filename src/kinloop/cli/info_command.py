"""`kinloop info` and `kinloop robots`: what a robot is made of, and which there are."""

from __future__ import annotations

from rich.table import Table

import kinloop as kl
from kinloop.cli.robot_argument import Floating, Name, Options, Packages, find
from kinloop.cli.terminal_output import add, console, table
from kinloop.clusters import Cluster
from kinloop.clusters.charts import rank_of
from kinloop.model import Joint


def info(name: Name, option: Options = None, floating: Floating = None, packages: Packages = None) -> None:
    """Print a robot's sizes, bodies, loops and clusters."""
    robot = find(name, option, floating, packages)
    out = console()
    for t in (sizes(robot), bodies(robot), loops(robot), clusters(robot), notes(robot)):
        if t.row_count:
            out.print(t)


def notes(robot: kl.Robot) -> Table:
    """What the model file said that the robot does not have, or has with reservations."""
    t = table("Warnings", "warning")
    for text in robot.mechanism.warnings:
        add(t, text)
    return t


def sizes(robot: kl.Robot) -> Table:
    """How many coordinates, bodies, loops and couplings there are."""
    m = robot.mechanism
    t = table(robot.name, "quantity", "value", "meaning", numbers=("value",))
    add(t, "nq", robot.nq, "positions of all tree joints, q")
    add(t, "nv", robot.nv, "independent velocities, v")
    add(t, "n_spanning", robot.n_spanning, "velocities of all tree joints, G v")
    add(t, "mass", f"{sum(b.mass for b in m.bodies):.6g}", "kg, all bodies")
    add(t, "bodies", len(m.bodies), f"in {len(robot.tree)} clusters")
    add(t, "loops", len(m.loops), "closed by an equation phi(q) = 0")
    add(t, "couplings", len(m.couplings), "gears, belts and the like, q = gamma(y)")
    return t


def bodies(robot: kl.Robot) -> Table:
    """Every body with its mass and its joint."""
    t = table("Bodies", "#", "body", "mass [kg]", "joint", "type", "axis", "parent", numbers=("#", "mass [kg]"))
    for i, (b, j) in enumerate(zip(robot.mechanism.bodies, robot.mechanism.joints, strict=True)):
        add(t, i, b.name, f"{b.mass:.6g}", j.name, j.type.name, _axis(j), j.parent)
    return t


def _axis(j: Joint) -> str:
    axis = j.type.direction
    if axis is None:
        return ""
    for name, unit in zip("xyz", ((1, 0, 0), (0, 1, 0), (0, 0, 1)), strict=True):
        if tuple(axis) == unit:
            return name
        if tuple(-x for x in axis) == unit:
            return f"-{name}"
    return " ".join(f"{x:.4g}" for x in axis)


def loops(robot: kl.Robot) -> Table:
    """Every loop and coupling: all its rows, how many count, and how far open before and after closing."""
    numbers = ("rows", "rank", "redundant", "open at q = 0", "at neutral()")
    t = table("Loops and couplings", "name", "kind", "between", *numbers, numbers=numbers)
    q = robot.neutral()
    for part in robot.mechanism.closures:
        rows = part.rows(robot.tree.top, q)
        rank = rank_of(rows.K)
        opened = (part.rows(robot.tree.top, robot.tree.top.neutral()).phi, rows.phi)
        add(
            t, part.name, part.kind, part.between, len(rows.phi), rank, len(rows.phi) - rank,
            *(f"{x:.1e}" if x else "0" for x in (float(max(map(abs, phi), default=0.0)) for phi in opened)),
        )  # fmt: skip
    return t


def clusters(robot: kl.Robot) -> Table:
    """Every cluster: its bodies, where it hangs, and which coordinates are independent."""
    tree, names = robot.tree, robot.body_names
    t = table("Clusters", "#", "bodies", "parent", "output bodies", "independent", "chosen by", numbers=("#", "parent"))
    for c in tree:
        outputs = dict.fromkeys("world" if i < 0 else names[i] for i in c.outputs)
        add(
            t, c.index, ", ".join(names[i] for i in c.bodies), c.parent if c.parent >= 0 else "world",
            ", ".join(outputs), ", ".join(independent(robot, c)), chosen_by(robot, c),
        )  # fmt: skip
    return t


def independent(robot: kl.Robot, c: Cluster) -> list[str]:
    """Names of a cluster's independent coordinates; a joint that is so as a whole by its name and size."""
    top = robot.tree.top
    dofs = {c.dofs[k] for k in c.chart.independent}
    out: list[str] = []
    for i in c.bodies:
        mine = range(top.v_of[i].start, top.v_of[i].stop)
        found = [d for d in mine if d in dofs]
        if len(found) == len(mine) > 1:
            out.append(f"{top.joints[i].name} ({len(mine)})")
        else:
            out += [top.coordinates[d] for d in found]
    return out


def chosen_by(robot: kl.Robot, c: Cluster) -> str:
    """Who chose a cluster's independent coordinates: the user by name, or kinloop by conditioning."""
    if not c.parts:
        return "nothing to choose"
    wanted = set(robot.mechanism.independent)
    top = robot.tree.top
    mine = {name for i in c.bodies for name in (top.joints[i].name, *top.coordinates[top.v_of[i]])}
    return "user" if mine & wanted else "kinloop"


def robots() -> None:
    """List the robots of the zoo."""
    t = table("The zoo", "name", "what it is")
    for name in kl.robots.names():
        add(t, name, kl.robots.describe(name))
    console().print(t)
