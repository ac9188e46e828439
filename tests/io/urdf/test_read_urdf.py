"""URDF and its dialects, on small models written for the purpose."""

import warnings

import numpy as np
import pytest
from io_compare import same_dynamics
from io_samples import DRAKE, FOUR_BAR_LINKS, ISAAC, MIMIC, URDF_PLUS, bar, revolute, write
from numpy.testing import assert_allclose

from kinloop.clusters import close, grow, loop_errors, neutral
from kinloop.errors import ModelError
from kinloop.io import ModelFileError, ModelWarning, load
from kinloop.model import LinearCoupling, LoopJoint, PolynomialCoupling, Rod, Surface
from kinloop.model import joints as jt


def robot(*parts: str) -> str:
    return f"<robot name='r'>{''.join(parts)}</robot>"


def test_links_and_joints_are_taken_over_as_written(tmp_path):
    m = load(write(tmp_path, MIMIC))
    assert [b.name for b in m.bodies] == ["palm", "left", "right"]
    left, joint = m.bodies[1], m.joints[1]
    assert joint.name == "jl" and joint.parent == "palm" and joint.type == jt.Revolute((0.0, 0.0, 1.0))
    assert_allclose(joint.placement.p, [0, 0.1, 0])
    assert (joint.lower, joint.upper, joint.max_force, joint.max_velocity) == (-3, 3, 10, 5)
    assert (joint.damping, joint.friction) == (0.1, 0.01)
    assert left.mass == pytest.approx(1.1)


def test_links_behind_fixed_joints_are_lumped_and_keep_their_names_as_frames(tmp_path):
    path = write(tmp_path, MIMIC)
    lumped, kept = load(path), load(path, keep_fixed=True)
    frame = lumped.frames[0]
    assert (frame.name, frame.body) == ("tip", "left")
    assert_allclose(frame.placement.p, [0.5, 0, 0])
    assert [b.name for b in kept.bodies] == ["palm", "left", "right", "tip"]
    a, b = grow(lumped), grow(kept)
    assert same_dynamics(a, b, neutral(a), np.random.default_rng(0)) < 1e-13


def test_mimic_is_an_exact_coupling(tmp_path):
    m = load(write(tmp_path, MIMIC))
    (c,) = m.couplings
    assert isinstance(c, LinearCoupling) and (c.dependent, c.independent) == (("jr",), ("jl",))
    assert c.matrix.tolist() == [[-0.5]] and c.offset.tolist() == [0.02]
    tree = grow(m)
    assert tree.nv == 1
    q = close(tree, np.array([0.4, 0.0]))
    assert q[1] == pytest.approx(-0.5 * q[0] + 0.02, abs=1e-14)


def test_urdf_plus_loop_coupling_and_independent(tmp_path):
    m = load(write(tmp_path, URDF_PLUS))
    assert isinstance(m.loops[0], LoopJoint) and m.loops[0].type == jt.Revolute((0.0, 0.0, 1.0))
    assert m.couplings[0].dependent == ("r",) and m.couplings[0].matrix.tolist() == [[6.0]]
    assert m.independent == ("a",)
    tree = grow(m)
    assert tree.nv == 1 and max(loop_errors(tree, neutral(tree)).values()) < 1e-12


def test_coupling_sums_the_joints_on_both_paths(tmp_path):
    links = [bar(name) for name in ("base", "l1", "l2", "l3", "l4")]
    joints = [revolute("j1", "base", "l1"), revolute("j2", "l1", "l2"), revolute("j3", "base", "l3"),
              revolute("j4", "l3", "l4")]  # fmt: skip
    coupling = '<coupling name="c"><predecessor link="l2"/><successor link="l4"/><ratio value="3"/></coupling>'
    (c,) = load(write(tmp_path, robot(*links, *joints, coupling))).couplings
    # 3 (q1 + q2) = q3 + q4
    assert c.dependent == ("j4",) and dict(zip(c.independent, c.matrix[0], strict=True)) == {"j1": 3, "j2": 3, "j3": -1}


def test_clusters_are_those_of_the_reference(tmp_path):
    links = [bar(name) for name in ("base", "l1", "l2", "l3", "l4", "l5")]
    joints = [revolute("1", "base", "l1"), revolute("2", "base", "l2"), revolute("3", "l1", "l3"),
              revolute("4", "l3", "l4", "0.5 0 0"), revolute("5", "l1", "l5", "0.5 0.1 0")]  # fmt: skip
    loop = '<loop name="p" type="revolute"><predecessor link="l4"/><successor link="l5"/><axis xyz="0 0 1"/></loop>'
    loop = loop.replace('link="l5"/>', 'link="l5"><origin xyz="0.1 0 0"/></successor>').replace(
        'link="l4"/>', 'link="l4"><origin xyz="0.1 0 0"/></predecessor>'
    )
    coupling = '<coupling name="c"><predecessor link="l1"/><successor link="l2"/></coupling>'
    m = load(write(tmp_path, robot(*links, *joints, loop, coupling)))
    tree = grow(m)
    assert [{tree.top.bodies[i].name for i in c.bodies} for c in tree] == [{"base"}, {"l1", "l2"}, {"l3", "l4", "l5"}]


@pytest.mark.parametrize("text", [ISAAC, DRAKE], ids=["isaac", "drake"])
def test_other_dialects_close_the_same_four_bar(tmp_path, text):
    plus = URDF_PLUS.replace('type="revolute"><pred', 'type="spherical"><pred')
    a = grow(load(write(tmp_path, text)))
    (tmp_path / "b").mkdir()
    b = load(write(tmp_path / "b", robot(FOUR_BAR_LINKS, plus[plus.index("<loop") : plus.index("<coupling")])))
    assert same_dynamics(a, grow(b), neutral(a), np.random.default_rng(0)) < 1e-12


def test_rods_polynomials_and_general_couplings_have_words_of_our_own(tmp_path):
    more = """<loop name="rod" type="rod" length="1.5"><predecessor link="crank"/><successor link="rocker"/></loop>
    <coupling name="p"><dependent joint="b" coefficients="0 1 0.5"><term joint="a"/></dependent></coupling>
    <coupling name="l"><dependent joint="c" offset="0.1"><term joint="a" ratio="2"/><term joint="b" ratio="-1"/>
    </dependent></coupling>"""
    m = load(write(tmp_path, robot(FOUR_BAR_LINKS, more)))
    assert isinstance(m.loops[0], Rod) and m.loops[0].length == 1.5
    p, linear = m.couplings
    assert isinstance(p, PolynomialCoupling) and p.coefficients == (0.0, 1.0, 0.5)
    assert linear.matrix.tolist() == [[2.0, -1.0]] and linear.offset.tolist() == [0.1]


def test_floating_base_is_as_the_file_says_unless_told(tmp_path):
    path = write(tmp_path, MIMIC)
    assert isinstance(load(path).joints[0].type, jt.Fixed)
    assert isinstance(load(path, floating_base=True).joints[0].type, jt.Free)
    assert isinstance(load(path, floating_base=False).joints[0].type, jt.Fixed)


def test_a_root_named_world_is_the_world(tmp_path):
    fixed = '<joint name="f" type="fixed"><parent link="world"/><child link="base"/><origin xyz="0 0 1"/></joint>'
    floating = fixed.replace("fixed", "floating")
    tail = ['<link name="world"/>', bar("base"), bar("arm"), revolute("j", "base", "arm")]
    m = load(write(tmp_path, robot(*tail, fixed)))
    assert [b.name for b in m.bodies] == ["base", "arm"] and grow(m).nv == 1
    assert grow(load(write(tmp_path, robot(*tail, fixed)), floating_base=True)).nv == 7
    assert grow(load(write(tmp_path, robot(*tail, floating)))).nv == 7
    assert grow(load(write(tmp_path, robot(*tail, floating)), floating_base=False)).nv == 1


def test_shapes_are_kept_with_colours_and_paths(tmp_path):
    (tmp_path / "meshes").mkdir()
    (tmp_path / "meshes" / "a.stl").write_text("solid")
    shape = '<visual><geometry><mesh filename="{}" scale="2 2 2"/></geometry></visual>'
    files = ["meshes/a.stl", "package://meshes/a.stl", "package://other/a.stl", "file:///etc/passwd", "../x.stl"]
    path = write(tmp_path, robot('<link name="l">', *map(shape.format, files), bar("x").split(">", 1)[1]))
    geometry = load(path).bodies[0].geometry
    found = [g.path for g in geometry if g.kind == "mesh"]
    assert found[0] == found[1] == str((tmp_path / "meshes" / "a.stl").resolve()) and found[2:] == [None] * 3
    assert geometry[0].size == (2.0, 2.0, 2.0) and geometry[0].role == "visual"
    box = next(g for g in geometry if g.kind == "box")
    assert box.color == (1.0, 0.0, 0.0, 1.0) and box.size == (0.1, 0.02, 0.02)
    found = load(path, packages={"other": tmp_path / "meshes"}).bodies[0].geometry[2].path
    assert found == str((tmp_path / "meshes" / "a.stl").resolve())


def test_what_is_left_out_is_said_once_and_refused_when_strict(tmp_path):
    path = write(tmp_path, robot(bar("l"), "<strange/>", "<stranger/>"))
    with pytest.warns(ModelWarning, match=r"model.urdf:\d+: <strange>.*and 1 more") as seen:
        m = load(path)
    assert len(seen) == 1 and len(m.warnings) == 2
    with pytest.raises(ModelError, match="strict=True"):
        load(path, strict=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert load(write(tmp_path, MIMIC)).warnings == ()


def test_impossible_moments_are_refused_accepted_or_harmless(tmp_path):
    def arm(ixx, iyy, izz, axis="0 0 1"):
        inertia = f'<inertial><mass value="1"/><inertia ixx="{ixx}" iyy="{iyy}" izz="{izz}"/></inertial>'
        first = revolute("j0", "base", "mid", axis="1 0 0")
        return robot(
            bar("base"), bar("mid"), f'<link name="arm">{inertia}</link>', first, revolute("j", "mid", "arm", axis=axis)
        )

    grossly = write(tmp_path, arm(1, 1, 9))
    with pytest.raises(ModelError, match=r"body 'arm' has principal moments 1, 1, 9 .*accept_inertia=True"):
        load(grossly)
    assert load(grossly, accept_inertia=True).bodies[2].accept_inertia
    slightly = load(write(tmp_path, arm(1, 1, 2.2)))
    assert slightly.bodies[2].accept_inertia and "used as given" in slightly.warnings[0]
    planar = load(write(tmp_path, arm(0, 0, 9, axis="1 0 0")))
    assert "does not act" in planar.warnings[0]
    with pytest.raises(ModelError, match="negative principal moment"):
        load(write(tmp_path, arm(-1, 1, 1)), accept_inertia=True)


def test_a_gazebo_joint_is_not_closed_silently(tmp_path):
    gazebo = '<gazebo><joint name="g" type="revolute"><parent>a</parent><child>b</child></joint></gazebo>'
    with pytest.warns(ModelWarning, match="Gazebo only"):
        load(write(tmp_path, robot(bar("l"), gazebo)))


@pytest.mark.parametrize(
    "inside, beside, friction, condim",
    [
        ("<contact><lateral_friction value='0.8'/></contact>", "", (0.8, 0.0, 0.0), 3),
        ("<contact><rolling_friction value='0.1'/><spinning_friction value='0.2'/></contact>", "", (1.0, 0.2, 0.1), 6),
        ("<contact><stiffness value='3'/></contact>", "<gazebo reference='a'><mu1>0.3</mu1></gazebo>", (0.3, 0, 0), 3),
        ("", "<gazebo reference='a'><mu1 value='0.4'/></gazebo>", (0.4, 0.0, 0.0), 3),
        ("", "<gazebo reference='a'><mu1>1e15</mu1></gazebo>", (1e6, 0.0, 0.0), 3),
        ("", "", None, None),
    ],
)
def test_friction_of_links_is_kept(tmp_path, inside, beside, friction, condim):
    ball = "<geometry><sphere radius='1'/></geometry>"
    link = f"<link name='a'><collision>{ball}</collision><visual>{ball}</visual>{inside}</link>"
    visual, collision = load(write(tmp_path, robot(link, beside))).bodies[0].geometry
    assert visual.surface is None
    assert collision.surface == (None if friction is None else Surface(friction, condim))


def test_friction_of_drake_comes_first_and_is_checked(tmp_path):
    mu = "<drake:proximity_properties><drake:mu_static value='0.9'/></drake:proximity_properties>"
    link = f"<link name='a'><collision>{mu}<geometry><sphere radius='1'/></geometry></collision></link>"
    text = robot(link, "<gazebo reference='a'><mu1>0.3</mu1></gazebo>").replace("<robot", "<robot xmlns:drake='x'", 1)
    assert load(write(tmp_path, text)).bodies[0].geometry[0].surface.friction[0] == 0.9
    with pytest.raises(ModelFileError, match="friction of a surface"):
        load(write(tmp_path, text.replace("0.9", "-0.9")))
    with pytest.raises(ModelFileError, match="friction 'x' is not a finite number"):
        load(write(tmp_path, text.replace(mu, "").replace("0.3", "x")))


def test_xacro_is_told_what_to_run(tmp_path):
    text = robot("<link name='a'/><xacro:macro name='leg'/>").replace("<robot", "<robot xmlns:xacro='x'", 1)
    for name, made in (("arm.urdf.xacro", "arm.urdf"), ("arm.xacro", "arm.urdf"), ("arm.urdf", "made_arm.urdf")):
        with pytest.raises(ModelFileError, match=f"<xacro:macro .*run `xacro {name} > {made}`"):
            load(write(tmp_path, text, name))
    assert load(write(tmp_path, text.replace("<xacro:macro name='leg'/>", bar("b") + revolute("j", "a", "b")))).bodies


def _drake(kind: str, inside: str = "", tag: str = "drake:joint") -> str:
    links = "".join(
        f"<link name='{n}'><inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1'/></inertial></link>"
        for n in "ab"
    )
    ends = "<parent link='a'/><child link='b'/><origin xyz='0 0 1' rpy='0 0 0.3'/>"
    return robot(links, f"<{tag} name='j' type='{kind}'>{ends}{inside}</{tag}>").replace(
        "<robot", "<robot xmlns:drake='http://drake.mit.edu'"
    )


@pytest.mark.parametrize(
    ("kind", "inside", "expected"),
    [
        ("ball", "<dynamics damping='0.2'/>", jt.Spherical()),
        ("planar", "<axis xyz='0 0 1'/><dynamics damping='0.2 0.2 0.2'/>", jt.Planar((0.0, 0.0, 1.0))),
        ("universal", "<dynamics damping='0.2'/>", jt.Universal((1.0, 0.0, 0.0), (0.0, 1.0, 0.0))),
        (
            "screw",
            "<axis xyz='0 2 0'/><drake:screw_thread_pitch value='0.04'/><dynamics damping='0.2'/>",
            jt.Helical((0.0, 1.0, 0.0), 0.04 / (2 * np.pi)),
        ),
    ],
)
def test_joints_of_drake(tmp_path, kind, inside, expected):
    m = load(write(tmp_path, _drake(kind, inside)))
    joint = m.joints[-1]
    assert joint.type == expected and joint.damping == 0.2
    assert_allclose(joint.placement.p, [0, 0, 1])


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (_drake("curvilinear"), "has the type 'curvilinear'; it must be one of ball, planar, screw, universal"),
        (_drake("revolute"), "has the type 'revolute'; it must be one of ball, planar, screw, universal"),
        (_drake("screw", "<axis xyz='0 0 1'/>"), "drake:screw_thread_pitch"),
        (_drake("screw", tag="joint"), "has the type 'screw'; it must be one of revolute"),
    ],
)
def test_joints_that_drake_has_not_are_refused(tmp_path, text, reason):
    with pytest.raises(ModelFileError, match=reason):
        load(write(tmp_path, text))


def test_what_joints_of_drake_have_no_place_for_is_listed(tmp_path):
    with pytest.warns(ModelWarning, match="has dampings that differ, which are one number per joint here"):
        m = load(write(tmp_path, _drake("planar", "<axis xyz='0 0 1'/><dynamics damping='1 2 3'/>")))
    assert m.joints[-1].damping == 0.0
    with pytest.warns(ModelWarning, match="is no axis of Drake's universal joints, which turn about x, then y"):
        load(write(tmp_path, _drake("universal", "<axis xyz='0 0 1'/>")))
