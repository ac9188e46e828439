"""MJCF written from mechanisms: MuJoCo compiles it to the same inertia, motion and passive forces."""

from dataclasses import replace

import numpy as np
import pytest
from io_compare import relative
from io_samples import MJCF, write

from kinloop import Builder, Robot, robots
from kinloop.algorithms.trees.cluster_aba import cluster_aba
from kinloop.algorithms.trees.cluster_crba import cluster_crba
from kinloop.clusters import close, grow, loop_errors, neutral, random_closed
from kinloop.errors import ModelError
from kinloop.io import MjcfOptions, convert, load, mjcf_text, to_mjcf
from kinloop.model import Body, Frame, Joint, LinearCoupling, Mechanism, PolynomialCoupling
from kinloop.model import joints as jt

mujoco = pytest.importorskip("mujoco")
STIFF = MjcfOptions(1e-6, (2e-6, 1.0), (0.9999, 0.9999, 1e-3, 0.5, 2.0))
ROBOTS = [
    "mit_humanoid", "teleop_arm", "four_bar", "six_bar", "slider_crank", "bennett", "bricard", "wishbone", "skid_rover",
    "ladder", "belt_chain",
]  # fmt: skip


def compiled(robot, options=STIFF):
    return mujoco.MjModel.from_xml_string(mjcf_text(robot, options))


def mujoco_inertia(tree, model, q):
    """MuJoCo's mass matrix on the independent velocities, and how far its equalities are from closed."""
    data = mujoco.MjData(model)
    data.qpos[:] = convert.to_mujoco(tree, model, q)
    mujoco.mj_forward(model, data)
    M = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, M)
    G = np.stack([convert.to_mujoco(tree, model, q, e)[1] for e in np.eye(tree.nv)], axis=1)
    return G.T @ M @ G, float(np.max(np.abs(data.efc_pos[: data.ne]), initial=0.0))


@pytest.mark.parametrize("name", ROBOTS)
def test_mujoco_compiles_the_same_inertia_with_loops_closed(name):
    tree = grow(robots.mechanism(name))
    model, rng = compiled(tree), np.random.default_rng(0)
    for q in (neutral(tree), random_closed(tree, rng)):
        M, gap = mujoco_inertia(tree, model, q)
        assert relative(M, cluster_crba(tree, q)) < 1e-13 and gap < 1e-9
    assert not tree.top.mechanism.closures or model.neq


# MuJoCo's equalities stay soft by 1 - 0.9999; two points of a hinge have a row too many, which softens it further
@pytest.mark.parametrize(
    "name, soft", [("four_bar", 2e-3), ("bricard", 1e-2), ("skid_rover", 2e-3), ("belt_chain", 2e-3)]
)
def test_mujoco_finds_the_same_motion(name, soft):
    tree = grow(robots.mechanism(name))
    model, rng = compiled(tree), np.random.default_rng(1)
    model.opt.iterations, model.opt.tolerance = 500, 0.0
    q, (v, tau) = random_closed(tree, rng), rng.normal(size=(2, tree.nv))
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:], data.qfrc_applied[:] = convert.to_mujoco(tree, model, q, v, tau)
    mujoco.mj_forward(model, data)
    a = convert.acceleration_from_mujoco(tree, model, q, v, data.qacc)
    assert relative(a, cluster_aba(tree, q, v, tau)) < soft


def arm(home=(0.4, -0.2, 0.3)):
    """Three joints drawn away from zero, with all passive parameters, and a frame."""
    b = Builder("arm", gravity=(0.1, 0.2, -9.0))
    passive = {"damping": 0.1, "friction": 0.2, "stiffness": 3.0, "rest": 0.5, "armature": 0.01}
    more = {"lower": -1.0, "upper": 2.0, "max_force": 7.0}
    b.body("one", mass=1, com=(0.1, 0, 0), inertia=(0.1, 0.2, 0.25), axis="y", rpy=(0.1, 0.2, 0.3), **passive, **more)
    b.body("two", "one", mass=2, com=(0, 0.1, 0), inertia=(0.3, 0.2, 0.25), axis=(1, 1, 0), at=(0.4, 0, 0), lower=-0.5)
    b.body(
        "three", "two", mass=1, inertia=(0.1, 0.1, 0.1), joint="prismatic", axis="x", at=(0.1, 0, 0.2), rpy=(1, 0, 0)
    )
    b.frame("tip", "three", at=(0.1, 0.2, 0.3), rpy=(0.3, 0, 0))
    m = b.mechanism()
    return replace(m, joints=[replace(j, home=(x,)) for j, x in zip(m.joints, home, strict=True)])


def test_parameters_of_joints_and_frames_read_back(tmp_path):
    m = arm()
    to_mjcf(m, tmp_path / "arm.xml")
    again = load(tmp_path / "arm.xml")
    assert [b.name for b in again.bodies] == ["one", "two", "three"] and again.name == "arm"
    np.testing.assert_allclose(again.gravity, m.gravity)
    for a, b in zip(m.joints, again.joints, strict=True):
        keys = ("armature", "damping", "friction", "stiffness", "rest", "max_force", "home")
        assert [getattr(a, k) for k in keys] == [getattr(b, k) for k in keys] and type(a.type) is type(b.type)
        np.testing.assert_allclose(a.placement.R, b.placement.R, atol=1e-14)
    assert (again.joints[0].lower, again.joints[0].upper) == (-1.0, 2.0)
    assert again.joints[1].lower == -0.5 and again.joints[1].upper == 1e10 and again.joints[2].upper == np.inf
    x, y = (Robot(r, "numpy") for r in (m, again))
    q = np.array([0.3, 0.5, -0.4])
    np.testing.assert_allclose(x.frame_pose(q, "tip"), y.frame_pose(q, "tip"), atol=1e-14)


def test_bare_leaves_out_what_forward_dynamics_does_not_know():
    model = compiled(arm(), MjcfOptions(bare=True))
    assert not any(np.any(x) for x in (model.dof_damping, model.dof_frictionloss, model.jnt_stiffness))
    assert model.nsite == 0 and not np.any(model.jnt_limited) and not np.any(model.jnt_actfrclimited)
    assert model.dof_armature[0] == 0.01
    full = compiled(arm(), MjcfOptions())
    assert full.nsite == 1 and full.dof_damping[0] == 0.1 and full.jnt_limited[:2].all()


def test_couplings_hold_where_the_mechanism_says_whatever_the_reference(tmp_path):
    rows = [
        LinearCoupling("gear", ("two_joint",), ("one_joint",), [[3.0]], [0.1]),
        LinearCoupling("locked", ("two_joint",), (), np.zeros((1, 0)), [0.7]),
        LinearCoupling("belt", ("three_joint",), ("one_joint", "two_joint"), [[0.5, -2.0]], [0.2]),
        PolynomialCoupling("cam", ("three_joint",), ("one_joint",), (0.1, 0.5, -0.2, 0.3)),
    ]
    for c in rows:
        tree = grow(replace(arm(), couplings=(c,)))
        q = close(tree, np.array([0.35, 0.2, -0.1]))
        M, gap = mujoco_inertia(tree, compiled(tree), q)
        assert gap < 1e-12 and relative(M, cluster_crba(tree, q)) < 1e-12, c.name
        _, gap = mujoco_inertia(tree, compiled(tree), q + [0.0, 0.01, 0.02])
        assert gap > 1e-3, c.name
        if c.name != "belt":
            to_mjcf(tree, tmp_path / "m.xml")
            (read,) = load(tmp_path / "m.xml").couplings
            assert max(loop_errors(grow(replace(arm(), couplings=(read,))), q).values()) < 1e-12


def test_a_file_of_mujoco_comes_back_as_it_went(tmp_path):
    single = MJCF.replace('<joint name="c2" type="slide" axis="1 0 0"/>', "")  # no massless body between two joints
    m = load(write(tmp_path, single.replace('joint1="c2"', 'joint1="c1"')))
    to_mjcf(m, tmp_path / "again.xml", MjcfOptions())
    again = load(tmp_path / "again.xml")
    a, b = grow(m), grow(again)
    assert [j.name for j in m.joints] == [j.name for j in again.joints] and a.nv == b.nv
    assert [j.home for j in m.joints] == [j.home for j in again.joints]
    q = close(a, neutral(a))
    assert max(loop_errors(b, q).values()) < 1e-10
    assert relative(cluster_crba(a, q), cluster_crba(b, q)) < 1e-12


def test_hinges_in_space_are_two_points_and_planar_ones_one():
    assert compiled(robots.mechanism("four_bar")).neq == 1
    bricard = compiled(robots.mechanism("bricard"))
    assert bricard.neq == 2 and bricard.eq("hinge").id != bricard.eq("hinge_").id


def test_impossible_inertias_are_refused_by_mujoco_unless_balanced():
    m = replace(arm(), bodies=[replace(b, inertia=(1, 1, 9), accept_inertia=True) for b in arm().bodies])
    with pytest.raises(ValueError, match="inertia"):
        compiled(m, MjcfOptions())
    assert compiled(m, MjcfOptions(balance_inertia=True)).nbody == 4


def body_on(kind, **more):
    body = Body("b", 1.0, inertia=(1, 1, 1))
    return Mechanism("m", [body], [Joint("j", "world", "b", kind, **more)], frames=[Frame("f", "b")])


def test_what_mjcf_has_no_word_for_is_refused():
    with pytest.raises(ModelError, match=r"joint 'j' is helical, which MJCF has no word for; it has revolute, "):
        mjcf_text(body_on(jt.Helical((0.0, 0.0, 1.0), 0.1)))
    with pytest.raises(ModelError, match=r"joint 'j' is free and does not start at the world's origin"):
        mjcf_text(body_on(jt.Free(), placement=arm().joints[1].placement))
    with pytest.raises(ModelError, match="loop 'coupler' is a Rod, which points and welds cannot say"):
        mjcf_text(robots.mechanism("rssr"))
    long = PolynomialCoupling("cam", ("three_joint",), ("one_joint",), (0.0, 1.0, 0.0, 0.0, 0.0, 0.1))
    with pytest.raises(ModelError, match="coupling 'cam' is a PolynomialCoupling, which MJCF cannot hold"):
        mjcf_text(replace(arm(), couplings=(long,)))
    function = Builder("f")
    function.body("a", mass=1, inertia=(1, 1, 1), axis="x")
    function.body("b", mass=1, inertia=(1, 1, 1), axis="x")
    function.coupling(["b_joint"], ["a_joint"], lambda x: 2 * x, name="twice")
    with pytest.raises(ModelError, match="coupling 'twice' is a Python function, which MJCF cannot hold"):
        mjcf_text(function.mechanism())


def test_names_that_xml_must_escape_survive(tmp_path):
    m = body_on(jt.Revolute())
    odd = replace(m, joints=[replace(m.joints[0], name='<j & "k">')])
    to_mjcf(odd, tmp_path / "m.xml")
    assert load(tmp_path / "m.xml").joints[0].name == '<j & "k">'
