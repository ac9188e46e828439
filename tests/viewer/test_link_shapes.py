"""Bodies without geometry look like what they are: trunks, rotors, feet, links between the points that hold them."""

import numpy as np
import pytest

import kinloop as kl
from kinloop.viewer.body_shapes import half_extent
from kinloop.viewer.link_shapes import SOLE, THICK, THIN, Links
from kinloop.viewer.robot_look import look, robot_size


def links(robot):
    size = robot_size(robot, [])
    return Links(robot, size), size


def names(robot, body):
    made, _ = links(robot)
    return [s.name for s in made.shapes(robot.body_names.index(body))]


@pytest.fixture(scope="module")
def tello():
    return kl.robots.load("tello")


def test_parts_of_tello_are_recognised(tello):
    assert names(tello, "torso") == ["trunk"]
    assert names(tello, "left-thigh") == ["link0"], "rotors that it carries are no ends of it"
    assert names(tello, "left-foot")[-1] == "sole"
    made, _ = links(tello)
    assert {tello.body_names[i] for i in made.rotors} == {name for name in tello.body_names if "rotor" in name}


def test_a_link_reaches_from_its_joint_to_the_next(tello):
    made, size = links(tello)
    i = tello.body_names.index("left-thigh")
    (link,) = made.shapes(i)
    knee = tello.tree.top.placement[tello.body_names.index("left-shin")].p
    vertices = link.placement.p + link.mesh[0] @ link.placement.R.T
    along = vertices @ (knee / np.linalg.norm(knee))
    assert -THICK * size <= along.min() < 0 < np.linalg.norm(knee) < along.max() <= np.linalg.norm(knee) + THICK * size


def test_links_are_as_thick_as_their_mass_between_limits():
    def thickness(mass):
        b = kl.Builder("arm")
        b.body("arm", mass=mass, inertia=(1e-3, 1e-3, 1e-3), axis="y")
        b.body("hand", "arm", at=(0, 0, 1.0), mass=0.1, com=(0, 0, 0.2), inertia=(1e-3, 1e-3, 1e-3), axis="y")
        made, size = links(b.build())
        return half_extent(made.shapes(0)[0])[1][0] / size

    assert thickness(1e-6) == pytest.approx(THIN) and thickness(1e6) == pytest.approx(THICK)
    assert THIN < thickness(2.0) < thickness(4.0) < THICK


def test_a_leg_ends_in_a_ball_at_its_contact_point():
    robot = kl.robots.load("mini_cheetah")
    made, _ = links(robot)
    link, foot = made.shapes(robot.body_names.index("HR_knee_link"))
    (contact,) = (f.placement.p for f in robot.mechanism.frames if f.body == "HR_knee_link")
    np.testing.assert_allclose(foot.placement.p, contact)
    assert foot.kind == "sphere" and foot.color == SOLE and link.name == "link0"


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", kl.robots.names())
def test_every_robot_of_the_zoo_is_drawn_with_finite_solids(name):
    robot = kl.robots.load(name)
    picture = look(robot)
    for body, own in zip(robot.mechanism.bodies, picture.shapes, strict=True):
        assert own or body.mass == 0
        for s in own:
            values = np.ravel(s.mesh[0]) if s.mesh is not None else np.array(s.size)
            assert np.all(np.isfinite(values)) and np.max(np.abs(values)) < 3 * picture.size


def test_bodies_without_mass_or_extent_draw_nothing():
    b = kl.Builder("cross")
    b.body("first", axis="x")
    b.body("second", "first", mass=1.0, com=(0, 0, 0.5), inertia=(0.1, 0.1, 0.1), axis="y")
    assert links(b.build())[0].shapes(0) == []
