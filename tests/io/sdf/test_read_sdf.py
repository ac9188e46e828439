# ruff: noqa: E501  (model text)
"""SDF: links by their poses, loops where links have several parents."""

import numpy as np
import pytest
from io_compare import relative
from io_samples import SDF, wheel, write
from numpy.testing import assert_allclose
from sdf_specification import robot as specified_robot

from kinloop.algorithms.trees.cluster_aba import cluster_aba
from kinloop.algorithms.witnesses.dense_kkt import dense_kkt
from kinloop.clusters import close, grow, loop_errors, neutral
from kinloop.errors import ModelError
from kinloop.io import ModelWarning, load
from kinloop.model import Surface
from kinloop.model import joints as jt

CASSIES = {p.stem: p for p in wheel(".sdf")}


def cassie(name):
    if name not in CASSIES:
        pytest.skip("example-robot-data is not installed")
    return load(CASSIES[name])


def test_a_second_parent_closes_a_loop(tmp_path):
    m = load(write(tmp_path, SDF))
    assert [j.name for j in m.joints] == ["root_joint", "a", "b", "c"] and [p.name for p in m.loops] == ["pin"]
    tree = grow(m)
    assert tree.nv == 7 and max(loop_errors(tree, tree.top.neutral()).values()) < 1e-12
    assert m.joints[0].home == (0, 0, 1, 1, 0, 0, 0)


def test_links_are_where_their_poses_say(tmp_path):
    from kinloop import Robot

    text = SDF.replace("<child>coupler</child>", "<child>coupler</child><pose>0.1 0.2 0.3 0.4 0 0</pose>")
    robot = Robot(load(write(tmp_path, text)), backend="numpy")
    q = robot.tree.top.neutral()
    for name, at in {"base": (0, 0, 1), "coupler": (0.5, 0, 1), "rocker": (1.5, 0, 0.5)}.items():
        assert_allclose(robot.frame_pose(q, name)[:3, 3], at, atol=1e-12)
    assert "coupler@b" in robot.body_names


def test_the_base_is_free_unless_static_fixed_or_tied_to_the_world(tmp_path):
    assert grow(load(write(tmp_path, SDF))).nv == 7
    assert grow(load(write(tmp_path, SDF), floating_base=False)).nv == 1
    assert (
        grow(load(write(tmp_path, SDF.replace('<model name="four_bar">', '<model name="m"><static>1</static>')))).nv
        == 1
    )
    tied = '<joint name="w" type="fixed"><parent>world</parent><child>base</child></joint></model>'
    assert grow(load(write(tmp_path, SDF.replace("</model>", tied)))).nv == 1


def test_a_joint_whose_parent_hangs_on_its_child_is_turned_round(tmp_path):
    forward = grow(load(write(tmp_path, SDF)))
    text = SDF.replace("<parent>crank</parent><child>coupler</child>", "<parent>coupler</parent><child>crank</child>")
    text = text.replace(
        '<joint name="b" type="revolute">', '<joint name="b" type="revolute"><pose>0.5 0 0 0 0 0</pose>'
    )
    backward = grow(load(write(tmp_path, text)))
    axes = [next(j for j in t.top.joints if j.name == "b").type.axis for t in (forward, backward)]
    assert_allclose(axes[0], -np.array(axes[1]))


def test_gearboxes_are_couplings(tmp_path):
    gear = """<link name="rotor"><pose>0 0 1 0 0 0</pose><inertial><mass>0.1</mass>
    <inertia><ixx>0.001</ixx><iyy>0.001</iyy><izz>0.001</izz></inertia></inertial></link>
    <joint name="r" type="revolute"><parent>base</parent><child>rotor</child><axis><xyz>0 1 0</xyz></axis></joint>
    <joint name="g" type="gearbox"><parent>rotor</parent><child>crank</child>
    <gearbox_reference_body>base</gearbox_reference_body>
    <gearbox_ratio>0.04</gearbox_ratio><axis><xyz>0 1 0</xyz></axis><axis2><xyz>0 1 0</xyz></axis2></joint></model>"""
    (c,) = load(write(tmp_path, SDF.replace("</model>", gear))).couplings
    # theta_crank = -0.04 theta_rotor
    assert (c.dependent, c.independent) == (("a",), ("r",)) and c.matrix[0, 0] == pytest.approx(-0.04)


@pytest.mark.parametrize("name, nv", [("cassie_v2", 18), ("cassie_wo_gearbox_spring", 13), ("cassie", 18)])
def test_cassie_of_the_wheel_assembles_and_moves(name, nv):
    tree = grow(cassie(name))
    assert tree.nv == nv
    q = close(tree, neutral(tree))
    assert max(loop_errors(tree, q).values()) <= 1e-10
    v, tau = np.random.default_rng(0).normal(size=(2, nv))
    if (
        name == "cassie"
    ):  # its left knee is out of line by 8e-4 rad, its right one by 1e-6: no oracle has one rank for both
        assert np.all(np.isfinite(cluster_aba(tree, q, v, tau)))
        return
    assert relative(cluster_aba(tree, q, v, tau), dense_kkt(tree, q, v, tau)) < 1e-8


@pytest.mark.parametrize(
    "old, new, match",
    [
        ("<child>crank</child>", "<child>nothing</child>", "'nothing', which is no link, joint or frame"),
        ('type="revolute"', 'type="magic"', "type 'magic'"),
        ("<mass>2</mass>", "<mass>-2</mass>", "must not be negative"),
        ("<pose>0 0 1 0 0 0</pose>", "<pose>0 0 1</pose>", "holds 3 numbers; give 6"),
        ('<link name="crank"><pose>', '<link name="crank"><pose relative_to="crank">', "relative to itself"),
        ("</model>", "</model><model name='four_bar'/>", "a second model is named"),
    ],
)
def test_mistakes_are_named(tmp_path, old, new, match):
    with pytest.raises(ModelError, match=match):
        load(write(tmp_path, SDF.replace(old, new, 1)))


def test_screws_and_balls_are_joints(tmp_path):
    text = SDF.replace('name="c" type="revolute"', 'name="c" type="ball"').replace(
        'name="b" type="revolute"', 'name="b" type="screw"'
    )
    m = load(write(tmp_path, text))
    assert isinstance(m.joints[2].type, jt.Helical) and isinstance(m.joints[3].type, jt.Spherical)


def joint_named(m, name):
    return next(j for j in m.joints if j.name == name)


def changed(tmp_path, *pairs):
    text = SDF
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new, 1)
    return load(write(tmp_path, text))


@pytest.mark.parametrize(
    "words, pitch",
    [
        ("<screw_thread_pitch>0.01</screw_thread_pitch>", 0.01 / (2 * np.pi)),
        ("<thread_pitch>-3141.6</thread_pitch>", 1 / 3141.6),  # PR2's torso, right-handed
        ("<thread_pitch>5</thread_pitch><screw_thread_pitch>0.01</screw_thread_pitch>", 0.01 / (2 * np.pi)),
        ("", 1 / (2 * np.pi)),
    ],
)
def test_screws_advance_as_the_specification_says(tmp_path, words, pitch):
    m = changed(tmp_path, ('name="b" type="revolute">', f'name="b" type="screw">{words}'))
    assert joint_named(m, "b").type.pitch == pytest.approx(pitch, rel=1e-15)


def test_poses_are_read_in_degrees_and_as_quaternions(tmp_path):
    radians = load(write(tmp_path, SDF))
    for new in (
        '<pose degrees="true">1.5 0 0.5 0 -90 0</pose>',
        f'<pose rotation_format="quat_xyzw">1.5 0 0.5 0 {-(0.5**0.5)!r} 0 {0.5**0.5!r}</pose>',
    ):
        m = changed(tmp_path, ("<pose>1.5 0 0.5 0 -1.5707963267948966 0</pose>", new))
        for a, b in zip(radians.joints, m.joints, strict=True):
            assert_allclose(a.placement.R, b.placement.R, atol=1e-15)


def test_the_pose_of_the_model_places_it_in_the_world(tmp_path):
    pose = "<pose>1 2 3 0 0 1.5707963267948966</pose>"
    m = changed(tmp_path, ('<model name="four_bar">', f'<model name="four_bar">{pose}'))
    half = 0.5**0.5
    assert_allclose(m.joints[0].home, (1, 2, 4, half, 0, 0, half), atol=1e-12)
    tied = '<joint name="w" type="fixed"><parent>world</parent><child>base</child></joint></model>'
    m = changed(tmp_path, ('<model name="four_bar">', f'<model name="four_bar">{pose}'), ("</model>", tied))
    assert_allclose(joint_named(m, "w").placement.p, (1, 2, 4), atol=1e-12)
    named = f'<model name="four_bar" placement_frame="base">{pose}'
    m = changed(tmp_path, ('<model name="four_bar">', named))
    assert_allclose(m.joints[0].home[:3], (1, 2, 3), atol=1e-12)


def test_gravity_of_the_world_is_the_robots(tmp_path):
    text = SDF.replace("<model", "<world name='moon'><gravity>0 0 -1.62</gravity><model").replace(
        "</model>", "</model></world>"
    )
    assert_allclose(load(write(tmp_path, text)).gravity, (0, 0, -1.62))
    assert_allclose(load(write(tmp_path, text.replace("<gravity>0 0 -1.62</gravity>", ""))).gravity, (0, 0, -9.8))


def test_mimics_are_couplings_with_their_reference(tmp_path):
    mimic = '<mimic joint="a"><multiplier>3</multiplier><offset>0.1</offset><reference>0.2</reference></mimic>'
    plain, follows = "<xyz>0 1 0</xyz></axis></joint>", f"<xyz>0 1 0</xyz>{mimic}</axis></joint>"
    (c,) = changed(tmp_path, (plain, follows)).couplings
    assert (c.dependent, c.independent) == (("b",), ("a",))
    assert c.matrix[0, 0] == 3 and c.offset[0] == pytest.approx(0.1 - 3 * 0.2)
    drake = 'name="b" type="revolute"><drake:mimic joint="a" multiplier="2"/>'
    (c,) = changed(tmp_path, ('name="b" type="revolute">', drake)).couplings
    assert c.matrix[0, 0] == 2
    with pytest.raises(ModelError, match="second axis"):
        changed(tmp_path, (plain, follows.replace("<mimic", "<mimic axis='axis2'")))


def test_rotors_of_drake_are_armature(tmp_path):
    rotor = "<drake:rotor_inertia>0.01</drake:rotor_inertia><drake:gear_ratio>10</drake:gear_ratio>"
    m = changed(tmp_path, ('name="b" type="revolute">', f'name="b" type="revolute">{rotor}'))
    assert joint_named(m, "b").armature == pytest.approx(1.0)


@pytest.mark.parametrize(
    "old, new, match",
    [
        ("<inertial><mass>2", '<inertial auto="true"><mass>2', "made from collision shapes"),
        ('<model name="four_bar">', '<model name="m"><pose relative_to="x">0 0 0 0 0 0</pose>', "give it in the world"),
        ("<pose>0 0 1 0 0 0</pose>", '<pose degrees="yes">0 0 1 0 0 0</pose>', "neither true nor false"),
        ("<pose>0 0 1 0 0 0</pose>", '<pose rotation_format="x">0 0 1 0 0 0</pose>', "euler_rpy or quat_xyzw"),
        ('name="b" type="revolute">', 'name="b" type="screw"><thread_pitch>0</thread_pitch>', "prismatic"),
        (
            '<model name="four_bar">',
            '<model name="m"><drake:joint name="x" type="ball"/>',
            "joints of Drake are planar",
        ),
    ],
)
def test_what_would_be_read_wrongly_is_refused_by_name(tmp_path, old, new, match):
    with pytest.raises(ModelError, match=match):
        load(write(tmp_path, SDF.replace(old, new, 1)))


@pytest.mark.parametrize(
    "pairs, said",
    [
        ((("<child>rocker</child><axis>", "<child>rocker</child><axis><limit><lower>-1</lower></limit>"),
          ('name="c" type="revolute"', 'name="c" type="ball"')), "is a ball, so that kinloop has no place for its lower"),
        ((("<parent>coupler</parent><child>rocker</child><axis>",
           "<parent>coupler</parent><child>rocker</child><axis><dynamics><damping>1</damping></dynamics>"),),
         "closes a loop, so that kinloop has no place for its damping"),
        ((('name="b" type="revolute">', 'name="b" type="universal"><axis2><dynamics><damping>1</damping></dynamics></axis2>'),),
         "its axes differ in damping"),
    ],
)  # fmt: skip
def test_what_a_joint_has_no_place_for_is_listed(tmp_path, pairs, said):
    with pytest.warns(ModelWarning, match=said):
        changed(tmp_path, *pairs)


def test_shapes_are_placed_relative_to_the_frame_they_name(tmp_path):
    plain = changed(tmp_path, ('<visual name="v">', '<visual name="v"><pose>0.2 0 0 0 0 0</pose>'))
    named = changed(
        tmp_path, ('<visual name="v">', '<visual name="v"><pose relative_to="coupler">-0.3 0 0 0 0 0</pose>')
    )
    for m in (plain, named):
        (shape,) = next(b for b in m.bodies if b.name == "crank").geometry
        assert_allclose(shape.placement.p, (0.2, 0, 0), atol=1e-12)


def test_friction_of_collisions_is_kept(tmp_path):
    text = specified_robot().replace("<torsional>", "<torsional><use_patch_radius>true</use_patch_radius>")
    (shape,) = [g for b in load(write(tmp_path, text)).bodies for g in b.geometry if g.role == "collision"]
    turning = 3 * np.pi / 16 * 0.5 * 0.02  # a patch with the pressure of a sphere
    assert shape.surface.friction == pytest.approx((0.7, turning, 0.0))
    assert (shape.surface.condim, shape.surface.contype, shape.surface.conaffinity) == (4, 3, 3)
    drake = "<drake:proximity_properties><drake:mu_static>0.2</drake:mu_static></drake:proximity_properties>"
    text = text.replace("<sdf", "<sdf xmlns:drake='x'").replace("<surface>", f"{drake}<surface>")
    (shape,) = [g for b in load(write(tmp_path, text)).bodies for g in b.geometry if g.role == "collision"]
    assert shape.surface == Surface((0.2, 0.0, 0.0))
    (shape,) = [
        g
        for b in load(write(tmp_path, text.replace(drake, "").replace("0.7", "inf"))).bodies
        for g in b.geometry
        if g.role == "collision"
    ]
    assert shape.surface.friction[0] == 1e6, "friction that nothing overcomes"
    for old, new, reason in (
        ("<collide_bitmask>3", "<collide_bitmask>-3", "from 0 to 65535"),
        ("0.7", "-0.7", "must not be negative"),
        ("<mu>", "<mu>x", "is not a finite number"),
    ):
        with pytest.raises(ModelError, match=reason):
            load(write(tmp_path, text.replace(drake, "").replace(old, new)))
