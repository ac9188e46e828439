"""The command `kinloop`: look at robots, list the zoo, look after the kernel cache."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

import kinloop as kl
from kinloop import io
from kinloop.clusters import Cluster
from kinloop.clusters.charts import rank_of
from kinloop.compiler import cache
from kinloop.constraints import rows_of
from kinloop.errors import KinloopError, MethodError, ModelError
from kinloop.model import Coupling, Joint, LinearCoupling, Loop, LoopFunction, LoopJoint, Rod

app = typer.Typer(
    help="Exact, fast dynamics for robots with kinematic loops.", no_args_is_help=True, pretty_exceptions_enable=False
)
cache_app = typer.Typer(help="Show or clear the cache of compiled kernels.", invoke_without_command=True)
app.add_typer(cache_app, name="cache")

WIDE = 140
"""Columns where the output is not a terminal: names are then not cut."""


def console() -> Console:
    out = Console()
    return out if out.is_terminal else Console(width=max(out.width, WIDE))


def table(title: str, *columns: str, numbers: tuple[str, ...] = ()) -> Table:
    t = Table(title=Text(title), title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for name in columns:
        right = name in numbers
        t.add_column(Text(name), justify="right" if right else "left", no_wrap=right, overflow="fold")
    return t


def add(t: Table, *cells: Any) -> None:
    """A row of plain text: brackets in names are no markup."""
    t.add_row(*(Text(str(c)) for c in cells))


@app.command()
def info(
    name: Annotated[str, typer.Argument(help="A robot of the zoo (see `kinloop robots`) or a model file.")],
    option: Annotated[list[str] | None, typer.Option("--option", "-o", help="Option of a zoo robot: links=24.")] = None,
    floating: Annotated[bool | None, typer.Option("--floating/--fixed", help="Base of a model file.")] = None,
) -> None:
    """Print a robot's sizes, bodies, loops and clusters."""
    robot = find(name, dict(map(_option, option or [])), floating)
    out = console()
    for t in (sizes(robot), bodies(robot), loops(robot), clusters(robot)):
        if t.row_count:
            out.print(t)


def find(name: str, options: dict[str, Any], floating: bool | None = None) -> kl.Robot:
    """A robot from a model file, where there is one by that name, else from the zoo."""
    path = Path(name)
    if path.is_file():
        if options:
            raise MethodError(f"{name!r} is a file and takes no options; remove {', '.join(options)}")
        return io.load(path, floating).build()
    if floating is not None:
        raise MethodError(f"--floating and --fixed are for model files, and there is no file {name!r}; remove them")
    if path.suffix:
        raise ModelError(f"there is no file {name!r}; give an existing model file or a name from `kinloop robots`")
    return kl.robots.load(name, **options)


def _option(text: str) -> tuple[str, Any]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise MethodError(f"option {text!r} is not of the form name=value, e.g. links=24")
    for number in (int, float):
        try:
            return key, number(value)
        except ValueError:
            continue
    return key, value


def sizes(robot: kl.Robot) -> Table:
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
    t = table("Bodies", "#", "body", "mass [kg]", "joint", "type", "axis", "parent", numbers=("#", "mass [kg]"))
    for i, (b, j) in enumerate(zip(robot.mechanism.bodies, robot.mechanism.joints, strict=True)):
        add(t, i, b.name, f"{b.mass:.6g}", j.name, j.type.name, _axis(j), j.parent)
    return t


def _axis(j: Joint) -> str:
    axis = getattr(j.type, "axis", None)
    if axis is None:
        return ""
    for name, unit in zip("xyz", ((1, 0, 0), (0, 1, 0), (0, 0, 1)), strict=True):
        if tuple(axis) == unit:
            return name
        if tuple(-x for x in axis) == unit:
            return f"-{name}"
    return " ".join(f"{x:.4g}" for x in axis)


def loops(robot: kl.Robot) -> Table:
    """Every loop and coupling: all its rows, how many count, and what is left open at the neutral q."""
    numbers = ("rows", "rank", "redundant", "residual at neutral")
    t = table("Loops and couplings", "name", "kind", "between", *numbers, numbers=numbers)
    q = robot.neutral()
    parts: list[Loop | Coupling] = [*robot.mechanism.loops, *robot.mechanism.couplings]
    for part in parts:
        rows = rows_of(robot.tree.top, part, q)
        rank, residual = rank_of(rows.K), max(map(abs, rows.phi), default=0.0)
        add(
            t, part.name, kind(part), between(part), len(rows.phi), rank, len(rows.phi) - rank,
            f"{float(residual):.1e}" if residual else "0",
        )  # fmt: skip
    return t


def kind(part: Loop | Coupling) -> str:
    match part:
        case LoopJoint():
            return f"{part.type.name} joint"
        case Rod():
            return f"rod of {part.length:.4g} m"
        case LoopFunction():
            return "function"
        case LinearCoupling() if part.matrix.shape == (1, 1):
            return f"gear of {part.matrix[0, 0]:.4g}"
    return type(part).__name__.removesuffix("Coupling").lower()


def between(part: Loop | Coupling) -> str:
    match part:
        case LoopJoint() | Rod():
            return f"{part.predecessor} - {part.successor}"
        case LoopFunction():
            return ", ".join(part.joints)
        case Coupling():
            return f"{', '.join(part.independent)} -> {', '.join(part.dependent)}"
    return ""


def clusters(robot: kl.Robot) -> Table:
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


@app.command()
def robots() -> None:
    """List the robots of the zoo."""
    t = table("The zoo", "name", "what it is")
    for name in kl.robots.names():
        add(t, name, kl.robots.describe(name))
    console().print(t)


@cache_app.callback()
def show(context: typer.Context) -> None:
    """Show where compiled kernels are kept and how much room they take."""
    if context.invoked_subcommand is not None:
        return
    found = cache.info()
    t = table("Kernel cache", "quantity", "value")
    add(t, "directory", found["directory"])
    add(t, "in use", "yes" if found["enabled"] else "no (KINLOOP_CACHE=off)")
    add(t, "kernels", found["kernels"])
    add(t, "size", f"{found['bytes'] / 1e6:.1f} MB of {found['limit'] / 1e6:.0f} MB")
    console().print(t)


@cache_app.command()
def clear() -> None:
    """Remove every compiled kernel."""
    console().print(f"removed {cache.clear()} kernels")


def main() -> None:
    """The entry point: what kinloop warns of, or refuses on purpose, becomes one line; a refusal ends with status 1."""
    errors = Console(stderr=True, soft_wrap=True, highlight=False)

    def say(message: Warning | str, *where: Any, **more: Any) -> None:
        errors.print(f"[yellow]warning:[/] {escape(str(message))}")

    with warnings.catch_warnings():
        warnings.showwarning = say
        try:
            app()
        except KinloopError as error:
            errors.print(f"[bold red]error:[/] {escape(str(error))}")
            sys.exit(1)
