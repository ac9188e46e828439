"""Rows of a contact of any two bodies, beside the dense oracle: J M^-1 J^T of the same two points."""

from __future__ import annotations

import numpy as np
import pytest

import kinloop.scalar as sc
from kinloop.algorithms.trees.articulated import articulate
from kinloop.algorithms.trees.kinematics import motion
from kinloop.model import Builder, Geometry, Surface
from kinloop.sim.contact.contact_frame import ContactMotion, Tables, measured
from kinloop.sim.contact.moving_columns import Columns
from kinloop.sim.contact.scene import Collisions, make_scene
from kinloop.sim.smooth_motion import accelerate

BALL = (Geometry("sphere", (0.05,)),)
ROLLING = (Geometry("sphere", (0.05,), surface=Surface(condim=6)),)


def tree(ball=BALL):
    """Two branches on a free base, and another free body."""
    b = Builder("branches")
    b.body("base", mass=3.0, inertia=(0.1, 0.2, 0.3), joint="free", geometry=ball)
    for side in "lr":
        b.body(f"{side}1", "base", mass=1.0, com=(0, 0.1, 0), inertia=(0.02,) * 3, axis="x", at=(0.1, 0, 0.1))
        b.body(f"{side}2", f"{side}1", mass=0.5, com=(0, 0, 0.1), inertia=(0.01,) * 3, axis=(0, 1, 1), at=(0, 0.2, 0),
               geometry=ball)  # fmt: skip
    b.body("other", mass=2.0, inertia=(0.1,) * 3, joint="free", geometry=ball)
    return b.build()


def with_loop(ball=BALL):
    """A four-bar whose coupler touches a slider on the world."""
    b = Builder("four_bar")
    b.body("crank", mass=1, com=(0.2, 0, 0), inertia=(0.01,) * 3, axis="y", geometry=ball)
    b.body("coupler", "crank", mass=1, com=(0.5, 0, 0), inertia=(0.02,) * 3, axis="y", at=(0.4, 0, 0), geometry=ball)
    b.body("rocker", mass=1, com=(0.4, 0, 0), inertia=(0.02,) * 3, axis="y", at=(1.2, 0, 0), geometry=ball)
    b.loop("pin", "coupler", "rocker", "revolute", axis="y", at=(1, 0, 0), at_successor=(0.8, 0, 0))
    b.body("slider", mass=2, inertia=(0.1,) * 3, joint="prismatic", axis="x", geometry=ball)
    return b.build()


@pytest.mark.parametrize(("ball", "count"), [(BALL, 3), (ROLLING, 6)])
@pytest.mark.parametrize("make", [tree, with_loop])
def test_rows_are_those_of_the_dense_delassus_matrix(make, ball, count):
    robot, rng = make(ball), np.random.default_rng(0)
    q, v = robot.random_state(rng)
    scene = make_scene(robot, Collisions(), None)
    bodies = tuple(sorted({s.body for s in scene.shapes}))
    t, h = robot.tree, 1e-3
    kin = motion(t, q, v, bodies)
    s = accelerate(t, kin, articulate(t, kin), q, np.zeros(robot.n_spanning))
    poses = {}
    for i in range(len(t.top)):
        poses[i] = kin.T[i] if t.top.parent[i] < 0 else poses[t.top.parent[i]].then(kin.T[i])
    x, normal = poses[bodies[1]].p + 0.1 * rng.normal(size=3), rng.normal(size=3)
    normal /= np.linalg.norm(normal)
    pairs = len(scene.pairs)
    points = np.array([[-1.0, 0.01, *x, *normal, float(k)] for k in range(pairs)])
    given = ContactMotion(v, v + h * s.a, np.zeros(robot.nv), h)
    tables = Tables(t, s, scene, bodies, Columns(t, bodies), poses, given, points, np.zeros((2, 4 + count)))
    _, rows = sc.scan(tables.contact, [False, 1.0, False], np.arange(pairs, dtype=float)[:, None], tables.groups)
    inverse = np.linalg.inv(robot.mass_matrix(q))
    for k, pair in enumerate(scene.pairs):
        m = measured(np.asarray(rows[k], dtype=float), robot.nv, count)
        J = np.zeros((6, robot.nv))
        for sign, shape in ((1.0, scene.shapes[pair.a]), (-1.0, scene.shapes[pair.b])):
            pose = poses[shape.body]
            at = pose.R.T @ (x - pose.p)
            for part, each in enumerate(_point_jacobian(robot, q, shape.body, at)):
                J[3 * part : 3 * part + 3] += sign * m.axes.T @ pose.R @ each
        J = J[:count]
        np.testing.assert_allclose(m.axes.T @ m.axes, np.eye(3), atol=1e-14)
        np.testing.assert_allclose(m.z @ m.z.T, J @ inverse @ J.T, rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(0.5 * (m.before + m.after), J @ (v + 0.5 * h * s.a), atol=1e-12)


def _point_jacobian(robot, q, body, at):
    """Velocity and turning of a point fixed to a body, in the body's axes, per unit of v, (3, nv) each."""
    J = robot.frame_jacobian(q, robot.body_names[body])
    return J[3:] - np.cross(at, J[:3], axisb=0).T, J[:3]


def test_what_moves_both_bodies_cancels_exactly():
    robot = tree()
    columns = Columns(robot.tree, tuple(range(len(robot.body_names))))
    left, right = (robot.body_names.index(name) for name in ("l2", "r2"))
    moved = columns.mask[left] - columns.mask[right]
    base = [k for k, c in enumerate(columns.columns) if c.body == 0]
    assert len(base) == 6 and not moved[base].any() and np.sum(np.abs(moved)) == 4
