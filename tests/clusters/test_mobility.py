"""Free velocities that lead nowhere are refused, those that lead somewhere are not."""

from __future__ import annotations

import numpy as np
import pytest

import kinloop as kl
from kinloop.clusters import grow
from kinloop.errors import ModelError
from tests.sim.mechanisms import three_rockers

AXES = [(0.0, 0.0, 1.0), (1.0, 2.0, 3.0)]


def in_line(axis: tuple[float, ...], welded: bool, longer: float = 0.0, moving: bool = False) -> kl.Mechanism:
    """A flat four-bar drawn in line, its coupler welded to its crank or not; on a moving carriage or not."""
    u = np.array(axis) / np.linalg.norm(axis)
    x = np.cross(u, (0.3, -0.5, 0.2))
    x = x / np.linalg.norm(x)
    b = kl.Builder("line")
    solid = {"mass": 1.0, "com": 0.1 * x, "inertia": (0.01, 0.02, 0.025)}
    base = "world"
    if moving:
        b.body("left", axis=u, at=-1.0 * x, **solid)
        b.body("right", axis=u, **solid)
        b.body("carriage", "left", axis=u, at=0.7 * u + 0.3 * x, **solid)
        lift = 0.7 * u + 0.3 * x
        b.loop("swing", "carriage", "right", axis=u, at=1.0 * x, at_successor=lift)
        base = "carriage"
    b.body("crank", base, axis=u, **solid)
    if welded:
        b.body("coupler", "crank", joint="fixed", at=0.4 * x, **solid)
    else:
        b.body("coupler", "crank", axis=u, at=0.4 * x, **solid)
    b.body("rocker", base, axis=u, at=1.0 * x, **solid)
    b.loop("pin", "coupler", "rocker", axis=u, at=(0.9 + longer) * x, at_successor=0.3 * x)
    return b.mechanism()


@pytest.mark.parametrize("longer", [0.0, -1e-8, 1e-8, 1e-6])
@pytest.mark.parametrize("axis", AXES)
def test_a_rigid_loop_drawn_in_line_says_that_it_cannot_move(axis: tuple[float, ...], longer: float) -> None:
    with pytest.raises(ModelError, match=r"'pin' .*1 velocities seem free .* 0 of them lead anywhere"):
        grow(in_line(axis, welded=True, longer=longer))


@pytest.mark.parametrize("axis", AXES)
def test_a_rigid_loop_on_what_moves_is_found_too(axis: tuple[float, ...]) -> None:
    with pytest.raises(ModelError, match=r"'pin' .* 0 of them lead anywhere"):
        grow(in_line(axis, welded=True, moving=True))
    assert grow(in_line(axis, welded=False, moving=True)).nv == 2


@pytest.mark.parametrize("axis", AXES)
def test_a_linkage_drawn_in_line_that_can_move_is_taken(axis: tuple[float, ...]) -> None:
    assert grow(in_line(axis, welded=False)).nv == 1


@pytest.mark.parametrize("axis", AXES)
def test_a_rigid_loop_out_of_line_has_no_velocities(axis: tuple[float, ...]) -> None:
    assert grow(in_line(axis, welded=True, longer=-0.01)).nv == 0


@pytest.mark.parametrize("name", ["four_bar", "slider_crank", "rssr", "stewart", "bennett", "bricard", "six_bar"])
def test_linkages_of_the_zoo_move(name: str) -> None:
    assert grow(kl.robots.mechanism(name)).nv > 0


def test_parallelograms_that_pass_through_a_line_move() -> None:
    """Drawn flat, where two branches of their motion meet."""
    b = kl.Builder("parallelogram")
    solid = {"mass": 1.0, "com": (0.1, 0, 0), "inertia": (0.01, 0.02, 0.025), "axis": "z"}
    b.body("crank", **solid)
    b.body("coupler", "crank", at=(0.3, 0, 0), **solid)
    b.body("rocker", at=(1.0, 0, 0), **solid)
    b.loop("pin", "coupler", "rocker", axis="z", at=(1.0, 0, 0), at_successor=(0.3, 0, 0))
    assert grow(b.mechanism()).nv == 1


def test_rows_that_are_rounding_everywhere_hold_nothing() -> None:
    """A spherical linkage whose pin lies where all axes meet: its shifts are zero, and zero but for rounding."""
    rng = np.random.default_rng(0)
    u = [x / np.linalg.norm(x) for x in rng.normal(size=(4, 3))]
    centre = np.array((0.3, -0.2, 0.5))
    b = kl.Builder("spherical")
    solid = {"mass": 1.0, "com": (0.1, 0.2, 0), "inertia": (0.1, 0.12, 0.15)}
    b.body("crank", axis=u[0], at=centre - 0.7 * u[0], **solid)
    b.body("coupler", "crank", axis=u[1], at=0.7 * u[0] - 0.4 * u[1], **solid)
    b.body("rocker", axis=u[2], at=centre - 0.5 * u[2], **solid)
    b.loop("pin", "coupler", "rocker", axis=u[3], at=0.4 * u[1], at_successor=0.5 * u[2])
    robot = b.build(backend="numpy")
    q, v = robot.random_state(0)
    assert robot.nv == 1
    expected = robot.forward_dynamics(q, v, [1.0], method="dense_kkt")
    assert robot.forward_dynamics(q, v, [1.0]) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("named", [True, False])
def test_redundant_loops_that_disagree_too_much_are_refused_by_name(named):
    """Three rockers whose pins miss each other by a micrometre carry a platform that had no velocity: unsaid."""
    assert three_rockers(1e-8).nv == 1
    with pytest.raises(ModelError, match="'middle_pin', 'right_pin' hold more than they need to and disagree"):
        three_rockers(1e-6, named)
