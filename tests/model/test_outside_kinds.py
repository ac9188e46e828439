"""Kinds that this package does not know: a joint type and loop kinds defined here work wherever its own do."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest
from helpers import assert_agree

import kinloop as kl
from kinloop.algorithms.trees.kinematics import world_poses
from kinloop.errors import ModelError
from kinloop.io.own.write_own import dumps
from kinloop.io.shared.file_errors import Where
from kinloop.io.shared.remap_closures import remap_loop
from kinloop.io.urdf.write_urdf import urdf_plus
from kinloop.model import WORLD, BodyLoop, Builder, JointType, Loop, LoopRows
from kinloop.model.facts import facts, own_functions
from kinloop.model.loops import RowUnit
from kinloop.spatial import Transform, axis_rotation, cross

SOLID = {"mass": 1.0, "com": (0.1, 0.02, 0.0), "inertia": (0.02, 0.03, 0.04)}
H = 1e-3
STENCIL = {-2: (1 / 12, -1 / 12), -1: (-2 / 3, 4 / 3), 0: (0.0, -5 / 2), 1: (2 / 3, 4 / 3), 2: (-1 / 12, -1 / 12)}
"""Five-point weights of the first and second difference: error H^4, about 1e-11."""


class PinInSlot(JointType):
    """A pin in a slot along x: q = (distance [m] along the slot, angle [rad] about z)."""

    nq = nv = 2

    def pose(self, q):
        return Transform(axis_rotation(np.array([0.0, 0.0, 1.0]), q[1]), np.array([1.0, 0.0, 0.0]) * q[0])

    def columns(self, q):
        return np.array([[0.0, 0.0, 0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0, 0.0, 0.0]]).T

    def subspace_bias(self, q, qd):
        slide = self.subspace(q)[3:, 0] * qd[0]
        return np.concatenate([np.zeros(3), -cross(np.array([0.0, 0.0, 1.0]) * qd[1], slide)])

    def loop_rows(self, writer):
        writer.along((0, 1, 0))
        writer.along((0, 0, 1))
        writer.parallel((0, 0, 1))


@dataclass(frozen=True)
class Spiral(JointType):
    """A turn about z that climbs with the square of the angle; it says nothing about loops."""

    rise: float = 0.05
    nq = nv = 1

    def pose(self, q):
        return Transform(axis_rotation(np.array([0.0, 0.0, 1.0]), q[0]), np.array([0.0, 0.0, self.rise]) * q[0] * q[0])

    def columns(self, q):
        return np.array([[0.0, 0.0, 1.0, 0.0, 0.0, 2.0 * self.rise * q[0]]]).T

    def columns_bias(self, q, qd):
        return np.array([0.0, 0.0, 0.0, 0.0, 0.0, 2.0 * self.rise * qd[0] * qd[0]])

    def subspace_bias(self, q, qd):
        return self.columns_bias(q, qd)


@dataclass(frozen=True, eq=False)
class PointOnPlane(BodyLoop):
    """A point of the successor stays in a plane of the predecessor, given by a point and its normal."""

    plane: tuple[float, float, float] = (0.0, 0.0, 0.0)
    normal: tuple[float, float, float] = (0.0, 0.0, 1.0)
    point: tuple[float, float, float] = (0.0, 0.0, 0.0)

    @property
    def frames(self):
        return Transform(np.eye(3), np.array(self.plane)), Transform(np.eye(3), np.array(self.point))

    def write(self, writer):
        writer.along(self.normal)


@dataclass(frozen=True, eq=False)
class Balance(Loop):
    """A weighted sum of joint positions stays what it is."""

    joints: tuple[str, ...] = ()
    weights: tuple[float, ...] = ()
    total: float = 0.0

    linear: ClassVar[bool] = True

    def bodies(self, top):
        return [top.joint_index[name] for name in self.joints]

    def rows(self, top, q, qd=None):
        positions, dofs = top.places(self.joints)
        w = np.array(self.weights)
        return LoopRows(dofs, np.array([w @ q[positions] - self.total]), w.reshape(1, -1), np.zeros(1))


def tree_joint() -> kl.Mechanism:
    """A pin in a slot and a spiral as tree joints."""
    b = Builder("outside_tree")
    b.body("carriage", joint=PinInSlot(), **SOLID)
    b.body("nut", "carriage", joint=Spiral(0.03), at=(0.2, 0.1, 0.0), rpy=(0.4, 0.2, 0.0), **SOLID)
    b.body("arm", "nut", axis="x", at=(0.1, 0.0, 0.0), **SOLID)
    return b.mechanism()


def loop_joint() -> kl.Mechanism:
    """Whitworth's quick return: the pin of a crank in the slot of a rocker; one freedom."""
    b = Builder("outside_loop_joint")
    b.body("crank", axis="z", **SOLID)
    b.body("rocker", axis="z", at=(0.5, 0.0, 0.0), **SOLID)
    b.loop("slot", "rocker", "crank", PinInSlot(), at_successor=(0.2, 0.0, 0.0))
    return b.mechanism()


def loops() -> kl.Mechanism:
    """The tip of an arm on an inclined plane, and two wheels in balance."""
    b = Builder("outside_loops")
    b.body("shoulder", axis="z", **SOLID)
    b.body("upper", "shoulder", axis="y", at=(0.1, 0.0, 0.0), **SOLID)
    b.body("fore", "upper", axis="y", at=(0.5, 0.0, 0.0), **SOLID)
    b.body("left", axis="x", at=(0.0, 0.3, 0.0), **SOLID)
    b.body("right", axis="x", at=(0.0, -0.3, 0.0), **SOLID)
    normal = (0.36, 0.48, 0.8)
    b.loops.append(PointOnPlane("floor", WORLD, "fore", (0.3, 0.0, -0.2), normal, (0.4, 0.0, 0.0)))
    b.loops.append(Balance("scales", ("left_joint", "right_joint"), (1.0, 2.0), 0.3))
    return b.mechanism()


MECHANISMS = [tree_joint, loop_joint, loops]


@pytest.fixture(params=MECHANISMS, ids=lambda f: f.__name__)
def robot(request) -> kl.Robot:
    return kl.Robot(request.param())


def test_freedoms_are_counted_from_the_rows_that_the_kinds_write():
    assert [kl.Robot(f(), backend="numpy").nv for f in MECHANISMS] == [4, 1, 3]


def test_rows_are_the_derivatives_of_phi(robot):
    top, rng = robot.tree.top, np.random.default_rng(0)
    for _ in range(3):
        q, v = robot.random_state(rng)
        qd = robot.spanning_jacobian(q) @ v
        for loop in robot.mechanism.closures:
            rows = loop.rows(top, q, qd)
            for column, d in enumerate(rows.dofs):
                step = H * np.eye(top.n_spanning)[d]
                slope = sum(w / H * loop.rows(top, top.integrate(q, n * step)).phi for n, (w, _) in STENCIL.items())
                assert_agree(rows.K[:, column], slope, cond=1e3, what=loop.name, scale=1.0)
            h = H / max(1.0, float(np.max(np.abs(qd))))
            curve = sum(w * loop.rows(top, top.integrate(q, n * h * qd)).phi for n, (_, w) in STENCIL.items()) / h**2
            assert_agree(rows.k, -curve, cond=1e6, what=loop.name, scale=max(1.0, float(qd @ qd)))


def test_closed_loops_stand_as_their_kinds_say():
    robot = kl.Robot(loop_joint())
    for seed in range(4):
        q, _ = robot.random_state(seed)
        crank, rocker = world_poses(robot.tree.top, q)
        pin = rocker.inverse().then(Transform(np.eye(3), crank.p + crank.R @ [0.2, 0.0, 0.0])).p
        np.testing.assert_allclose(pin[1:], 0.0, atol=1e-12, err_msg="the pin is in the slot")
    robot = kl.Robot(loops())
    for seed in range(4):
        q, _ = robot.random_state(seed)
        fore = world_poses(robot.tree.top, q)[2]
        tip = fore.p + fore.R @ [0.4, 0.0, 0.0]
        assert abs(np.array([0.36, 0.48, 0.8]) @ (tip - [0.3, 0.0, -0.2])) < 1e-12, "the tip is on the plane"
        assert q[3] + 2.0 * q[4] == pytest.approx(0.3, abs=1e-12)


def test_dynamics_agree_with_the_oracle_compiled_and_not(robot):
    plain = kl.Robot(robot.mechanism, backend="numpy")
    for seed in range(3):
        q, v = robot.random_state(seed)
        tau = np.random.default_rng(seed).normal(size=robot.nv)
        expected = plain.forward_dynamics(q, v, tau, method="dense_kkt")
        assert_agree(plain.forward_dynamics(q, v, tau), expected, cond=1e4)
        assert_agree(robot.forward_dynamics(q, v, tau), expected, cond=1e4)
        assert_agree(robot.inverse_dynamics(q, v, expected), tau, cond=1e4, scale=1.0)


def test_reactions_know_the_wrenches_of_a_kind_between_bodies():
    robot = kl.Robot(loops(), backend="numpy")
    q, v = robot.random_state(1)
    found = robot.reactions(q, v, np.zeros(robot.nv))
    fore = world_poses(robot.tree.top, q)[2]
    force = fore.R @ found.loops["floor"][3:]
    np.testing.assert_allclose(np.cross(force, [0.36, 0.48, 0.8]), 0.0, atol=1e-9, err_msg="along the normal")
    moment = found.loops["floor"][:3] - np.cross([0.4, 0.0, 0.0], found.loops["floor"][3:])
    np.testing.assert_allclose(moment, 0.0, atol=1e-9, err_msg="through the tip")
    pull = found.transmissions["scales"]
    assert pull["right_joint"] == pytest.approx(2.0 * pull["left_joint"])


def test_a_simulation_keeps_outside_loops_closed():
    robot = kl.Robot(loop_joint())
    q, v = robot.random_state(0)
    run = kl.Simulator(robot, dt=1e-3).rollout(q, v, steps=200, record=("loop_error",), every=20)
    assert np.max(run.loop_error) < 1e-9


def test_what_is_asked_about_outside_kinds_has_an_answer():
    slot, (floor, scales) = loop_joint().loops[0], loops().loops
    assert (slot.kind, slot.between) == ("pininslot joint", "rocker - crank")
    assert (floor.kind, floor.between, scales.kind) == ("pointonplane", "world - fore", "balance")
    assert slot.row_units == (RowUnit.SHIFT, RowUnit.SHIFT, RowUnit.TURN, RowUnit.TURN)
    assert PinInSlot().slides() == [True, False] and PinInSlot().direction is None
    assert floor.touches("fore") and not floor.touches("upper") and not scales.touches("left")
    robot = kl.Robot(loops(), backend="numpy")
    assert [body for body, _ in floor.picture(robot.tree.top).points] == [WORLD, "fore"]
    assert scales.picture(robot.tree.top) == ((), (), ())


def test_a_joint_type_without_loop_rows_is_refused_by_name_in_a_loop_only():
    b = Builder("refused")
    b.body("nut", joint=Spiral(), **SOLID)
    refused = "loop 'thread' is closed by a joint of type 'spiral', which does not say its loop rows; use that type for"
    with pytest.raises(ModelError, match=refused):
        b.loop("thread", "nut", WORLD, Spiral())
    with pytest.raises(ModelError, match=r"'spiral' does not say its loop rows; define Spiral\.loop_rows"):
        Spiral().loop_rows(None)
    assert kl.Robot(b.mechanism(), backend="numpy").nv == 1


def test_a_loop_kind_that_does_not_say_its_rows_cannot_be_made():
    class Silent(Loop):
        def bodies(self, top):
            return [0]

    with pytest.raises(TypeError, match=r"Silent.*rows"):
        Silent("quiet")


def test_what_is_no_loop_or_coupling_is_refused_by_name():
    m = loop_joint()
    with pytest.raises(ModelError, match=r"of kind Body is not a loop; give one of the kinds of kinloop\.model\.loops"):
        replace(m, loops=(m.bodies[0],))
    with pytest.raises(ModelError, match=r"of kind LoopJoint is not a coupling"):
        replace(m, couplings=m.loops)


def test_a_kind_that_names_a_missing_body_is_refused():
    m = loops()
    with pytest.raises(ModelError, match="loop 'floor' refers to a missing body: no body named 'fare'; did you mean"):
        replace(m, loops=(PointOnPlane("floor", WORLD, "fare"),))
    with pytest.raises(ModelError, match="loop 'floor' joins body 'fore' to itself; give two different bodies"):
        replace(m, loops=(PointOnPlane("floor", "fore", "fore"),))


def test_a_kind_that_does_not_say_how_its_ends_move_is_refused_where_that_is_needed():
    places = {"fore": ("upper", Transform.identity()), WORLD: (WORLD, Transform.identity())}
    refused = r"'floor' is of the kind PointOnPlane, which does not say how .* define PointOnPlane\.reattached"
    with pytest.raises(ModelError, match=refused):
        remap_loop(loops().loops[0], places, Where("model.urdf", 1, "loop"))


@pytest.mark.parametrize("write", [dumps, urdf_plus])
@pytest.mark.parametrize(
    "make, culprit",
    [
        (tree_joint, "joint type PinInSlot is not one of revolute, prismatic"),
        (loop_joint, "joint type PinInSlot is not one of revolute, prismatic"),
        (loops, "loop 'floor' is a PointOnPlane, which"),
    ],
)
def test_files_refuse_outside_kinds_by_name(make, culprit, write):
    with pytest.raises(ModelError, match=culprit):
        write(make())


def steeper() -> kl.Mechanism:
    """The arm on a plane of another slope, by a kind of the same name and with the same numbers."""

    class Steeper(PointOnPlane):
        def write(self, writer):
            x, y, z = self.normal
            writer.along((x, y, 2.0 * z))

    Steeper.__name__ = "PointOnPlane"
    m = loops()
    floor = m.loops[0]
    return replace(m, loops=(Steeper(floor.name, *floor.ends, floor.plane, floor.normal, floor.point), *m.loops[1:]))


def test_kernels_of_outside_kinds_are_told_apart_by_what_they_compute():
    assert facts(loops()) == facts(steeper()), "names and numbers do not tell the two apart"
    for make in (loops, steeper):
        robot, plain = kl.Robot(make()), kl.Robot(make(), backend="numpy")
        q, _ = plain.random_state(0)
        assert_agree(robot.spanning_jacobian(q), plain.spanning_jacobian(q), cond=1e3)


def test_own_kinds_add_nothing_to_a_key_but_their_facts():
    four_bar = kl.robots.load("four_bar")
    assert own_functions(four_bar.tree.top) == []
    assert len(own_functions(kl.robots.load("tello").tree.top)) == 4
