# ruff: noqa: E501  (model text)
"""Worlds of several models, nested and included ones: the robot of the same links written in one model."""

import numpy as np
import pytest
from io_compare import relative
from io_samples import write

from kinloop.algorithms.trees.cluster_aba import cluster_aba
from kinloop.clusters import grow, neutral
from kinloop.io import ModelFileError, load
from kinloop.model import joints as jt
from kinloop.spatial import apply_pose

INERTIAL = "<inertial><pose>0.1 0 0 0 0 0</pose><mass>{}</mass><inertia><ixx>0.1</ixx><iyy>0.2</iyy><izz>0.2</izz></inertia></inertial>"
ARM = f"""<model name="arm" {{}}><link name="base"><pose>0 0 0.5 0 0 0</pose>{INERTIAL.format(2)}</link>
<link name="tip"><pose relative_to="base">0.3 0 0 0 0 0.4</pose>{INERTIAL.format(1)}<collision name="c"><geometry><sphere><radius>0.1</radius></sphere></geometry></collision></link>
<frame name="mount" attached_to="base"><pose>0 0.2 0 0.3 0 0</pose></frame>
<joint name="j" type="revolute"><parent>base</parent><child>tip</child><axis><xyz>0 1 0</xyz></axis></joint>{{}}</model>"""
GROUND = """<model name="ground"><static>true</static><pose>0 0 -1 0 0 0</pose><link name="l"><collision name="c"><geometry><plane><size>5 5</size></plane></geometry></collision></link></model>"""


def arm(attributes="", more=""):
    return ARM.format(attributes, more)


def sdf(*parts):
    return f"<sdf version='1.11'>{''.join(parts)}</sdf>"


def world(*parts):
    return sdf("<world name='w'>", *parts, "</world>")


def motion(m):
    """Accelerations at a state, by the names of joints."""
    tree = grow(m)
    rng = np.random.default_rng(0)
    q = tree.top.integrate(neutral(tree), 0.1 * rng.normal(size=tree.top.n_spanning))
    return cluster_aba(tree, q, *rng.normal(size=(2, tree.nv)))


def test_models_of_a_world_stand_where_it_puts_them_and_move_by_themselves(tmp_path):
    other = arm().replace('name="arm"', 'name="b"').replace("<link", "<pose>0 3 0 0 0 1</pose><link", 1)
    m = load(write(tmp_path, world("<gravity>0 0 -3</gravity>", GROUND, arm(), other)))
    assert [b.name for b in m.bodies] == ["arm::base", "b::base", "arm::tip", "b::tip"] and m.name == "w"
    assert [j.name for j in m.joints if j.type.nv == 1] == ["arm::j", "b::j"] and m.gravity[2] == -3
    (plane,) = m.world_geometry
    assert plane.kind == "plane" and np.allclose(plane.placement.p, [0, 0, -1])
    home = next(j.home for j in m.joints if j.child == "b::base")
    assert np.allclose(home[:3], [0, 3, 0.5])
    alone = load(write(tmp_path, world("<gravity>0 0 -3</gravity>", arm())))
    assert [b.name for b in alone.bodies] == ["base", "tip"], "one model has plain names"
    both = grow(m)
    q, v = neutral(both), np.zeros(both.nv)
    single = grow(alone)
    mine, theirs = cluster_aba(both, q, v, v), cluster_aba(single, neutral(single), np.zeros(7), np.zeros(7))
    assert np.allclose(np.sort(np.abs(mine)), np.sort(np.abs(np.tile(theirs, 2))), atol=1e-12)


def test_a_nested_model_is_its_links_written_out(tmp_path):
    hand = (
        arm()
        .replace('name="arm"', 'name="hand"')
        .replace("<link", "<pose relative_to='mount'>0.1 0 0 0 0.2 0</pose><link", 1)
    )
    joint = "<joint name='wrist' type='revolute'><parent>tip</parent><child>hand::base</child><axis><xyz>1 0 0</xyz></axis></joint>"
    nested = load(write(tmp_path, sdf(arm("", hand + joint))))
    flat = arm("", joint.replace("hand::base", "hand_base")
        + "<frame name='hand'><pose relative_to='mount'>0.1 0 0 0 0.2 0</pose></frame>"
        + f"<link name='hand_base'><pose relative_to='hand'>0 0 0.5 0 0 0</pose>{INERTIAL.format(2)}</link>"
        + f"<link name='hand_tip'><pose relative_to='hand_base'>0.3 0 0 0 0 0.4</pose>{INERTIAL.format(1)}</link>"
        + "<joint name='hj' type='revolute'><parent>hand_base</parent><child>hand_tip</child><axis><xyz>0 1 0</xyz></axis></joint>")  # fmt: skip
    written = load(write(tmp_path, sdf(flat)))
    assert [b.name for b in nested.bodies] == ["base", "tip", "hand::base", "hand::tip"]
    assert relative(np.sort(motion(nested)), np.sort(motion(written))) < 1e-12


def test_included_files_are_found_named_and_placed(tmp_path):
    folder = tmp_path / "models" / "my_arm"
    folder.mkdir(parents=True)
    (folder / "model.config").write_text(
        "<model><sdf version='1.9'>old.sdf</sdf><sdf version='1.11'>arm.sdf</sdf></model>"
    )
    (folder / "part.stl").write_text("solid")
    mesh = arm().replace("<sphere><radius>0.1</radius></sphere>", "<mesh><uri>part.stl</uri></mesh>")
    (folder / "arm.sdf").write_text(sdf(mesh))
    include = "<include><uri>model://my_arm</uri><name>left</name><pose>1 0 0 0 0 0</pose></include>"
    again = "<include><uri>models/my_arm</uri><pose>2 0 0 0 0 0</pose><static>true</static></include>"
    m = load(write(tmp_path, world(include, again)), packages=[tmp_path / "models"])
    assert [b.name for b in m.bodies] == ["left::base", "arm::base", "left::tip", "arm::tip"]
    assert m.bodies[2].geometry[0].path == str((folder / "part.stl").resolve())
    assert m.joints[0].home[0] == 1.0
    placed = include.replace("</pose>", "</pose><placement_frame>mount</placement_frame>")
    m = load(write(tmp_path, world(placed, GROUND)), packages=[tmp_path / "models"])
    turned = m.joints[0].type.pose(np.array(m.joints[0].home))
    assert np.allclose(apply_pose(turned, (0, 0.2, 0)), [1, 0, 0]), "the frame that is placed lies at the pose"


def test_frames_and_joints_are_ends_of_joints(tmp_path):
    extra = f"<link name='tool'><pose relative_to='mount'>0 0 0 0 0 0</pose>{INERTIAL.format(1)}</link><frame name='grip' attached_to='tool'><pose>0 0 0.1 0 0 0</pose></frame>"
    ends = (
        "<joint name='k' type='revolute'><parent>mount</parent><child>grip</child><axis><xyz>0 0 1</xyz></axis></joint>"
    )
    by_frames = load(write(tmp_path, sdf(arm("", extra + ends))))
    by_links = load(
        write(
            tmp_path,
            sdf(
                arm(
                    "",
                    extra
                    + ends.replace("mount", "base").replace(
                        "<child>grip</child>", "<child>tool</child><pose relative_to='grip'/>"
                    ),
                )
            ),
        )
    )
    assert relative(motion(by_frames), motion(by_links)) == 0.0
    fixed = "<joint name='k' type='fixed'><parent>world</parent><child>__model__</child></joint>"
    m = load(write(tmp_path, sdf(arm("", fixed))))
    assert next(j for j in m.joints if j.name == "k").child == "base@k", (
        "the frame of a model is fixed to its first link"
    )
    m = load(
        write(
            tmp_path,
            world(
                arm(),
                GROUND,
                "<frame name='f'><pose>0 0 0.5 0 0 0</pose></frame><joint name='w' type='fixed'><parent>ground::l</parent><child>arm::base</child></joint>",
            ),
        )
    )
    assert next(j for j in m.joints if j.name == "w").parent == "world"


def test_planar_joints_of_drake(tmp_path):
    joint = "<drake:joint name='p' type='planar'><drake:parent>world</drake:parent><drake:child>__model__</drake:child><drake:damping>2 2 2</drake:damping></drake:joint>"
    text = sdf(arm("", joint)).replace("<sdf", "<sdf xmlns:drake='x'", 1)
    m = load(write(tmp_path, text))
    planar = next(j for j in m.joints if j.name == "p")
    assert isinstance(planar.type, jt.Planar) and planar.type.axis == (0, 0, 1) and planar.damping == 2
    assert grow(m).nv == 4
    assert any("dampings that differ" in w for w in load(write(tmp_path, text.replace("2 2 2", "1 2 2"))).warnings)
    for old, new, reason in (
        ("planar", "magic", "are planar"),
        ("drake:joint", "joint", "has no|are planar"),
        ("__model__", "mount", "lie apart at rest"),
        ("2 2 2", "x", "drake:damping"),
        ("<drake:child>__model__</drake:child>", "", "no <drake:child>"),
    ):
        with pytest.raises(ModelFileError, match=reason):
            load(write(tmp_path, text.replace(old, new)))


INCLUDE = "<include><uri>{}</uri></include>"


@pytest.mark.parametrize(
    "text, reason",
    [
        (world(arm(), arm()), "a second model is named 'arm'"),
        (world(), "holds 1 worlds and 0 models"),
        (world(arm()) .replace("</world>", "</world><world name='x'/>"), "holds 2 worlds"),
        (world(arm(), INCLUDE.format("model://nowhere")), "is not in the model's directory"),
        (world(arm(), INCLUDE.format("/etc/passwd")), "is not in the model's directory"),
        (world(arm(), INCLUDE.format("https://x/y")), "is not in the model's directory"),
        (world(arm(), INCLUDE.format("model.sdf")), "inside itself"),
        (world(arm(), "<include/>"), "has no <uri>"),
        (world(arm(), "<include merge='true'><uri>a</uri></include>"), "merges a model"),
        (world(arm(), INCLUDE.format("two.sdf")), "holds 2 models; it must be an <sdf> of one"),
        (sdf(arm("", "<joint name='k' type='fixed'><parent>base</parent><child>nothing</child></joint>")), "'nothing', which is no link, joint or frame"),
        (sdf(arm("", "<frame name='a' attached_to='b'/><frame name='b' attached_to='a'/><joint name='k' type='fixed'><parent>base</parent><child>a</child></joint>")), "relative to itself|attached to itself"),
        (sdf(arm("", "<model name='x' placement_frame='y'><link name='l'/></model>")), "placement frame 'x::y'"),
        (sdf(arm("", "<model><link name='l'/></model>")), "no attribute 'name'"),
        (sdf(arm("", "<model name='x'><loop/></model>")), "write it in the outermost one"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(tmp_path, text, reason):
    (tmp_path / "two.sdf").write_text(sdf("<model name='a'/><model name='b'/>"))
    with pytest.raises(ModelFileError, match=reason):
        load(write(tmp_path, text))


def test_includes_that_multiply_are_refused(tmp_path):
    for k in range(9):
        many = "".join(f"<include><uri>m{k + 1}.sdf</uri><name>n{n}</name></include>" for n in range(10))
        (tmp_path / f"m{k}.sdf").write_text(sdf(f"<model name='a'><link name='l'/>{many}</model>"))
    (tmp_path / "m9.sdf").write_text(sdf("<model name='a'><link name='l'/></model>"))
    with pytest.raises(ModelFileError, match="a world may have 2000"):
        load(tmp_path / "m0.sdf")


def test_a_model_stands_in_a_frame_of_the_world(tmp_path):
    frames = "<frame name='f'><pose relative_to='g'>1 0 0 0 0 0</pose></frame><frame name='g'><pose>0 2 0 0 0 0</pose></frame>"
    text = world(frames, arm().replace("<link", "<pose relative_to='f'>0 0 3 0 0 0</pose><link", 1))
    assert np.allclose(load(write(tmp_path, text)).joints[0].home[:3], [1, 2, 3.5])
    for other in (GROUND, arm().replace('"arm"', '"b"')):
        m = load(write(tmp_path, text.replace("</world>", f"{other}</world>")))
        assert np.allclose(next(j.home for j in m.joints if j.child == "arm::base")[:3], [1, 2, 3.5])
    with pytest.raises(ModelFileError, match="relative to 'f'; give it in the world"):
        load(write(tmp_path, text.replace("<frame name='g'>", "<frame name='g' attached_to='arm::tip'>")))
