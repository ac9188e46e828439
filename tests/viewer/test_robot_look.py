"""All there is to draw of a robot: colours of clusters, marks of loops, bars that keep their length."""

import kinloop as kl
from kinloop.model import Geometry
from kinloop.viewer.robot_look import LOOP, PALETTE, PLAIN, look


def test_clusters_with_loops_have_colours_and_loop_joints_are_marked():
    robot = kl.robots.load("tello")
    picture = look(robot)
    tied = [color for c, color in zip(robot.tree, picture.colors, strict=True) if c.parts]
    assert len(set(tied)) == len(tied) == 6
    assert picture.colors[robot.tree.cluster_of[0]] == PLAIN
    marked = look(kl.robots.load("four_bar"))
    assert [s.name for own in marked.shapes for s in own if s.color == LOOP] == ["loop_pin"]


def test_tied_bodies_take_the_colour_of_their_cluster_and_single_ones_keep_their_own():
    red = (Geometry("sphere", (0.1,), color=(1, 0, 0, 1)),)
    b = kl.Builder("pair")
    ball = {"mass": 1.0, "inertia": (1, 1, 1), "geometry": red}
    b.body("base", joint="free", **ball)
    b.gear(b.body("rotor", "base", axis="z", **ball), b.body("link", "base", axis="z", **ball), 6.0)
    picture = look(b.build())
    assert [own[0].color for own in picture.shapes] == [(255, 0, 0), PALETTE[0], PALETTE[0]]
