# ruff: noqa: E501  (model text)
"""Files that MJCF documents bring in: included ones with their own directories."""

import mujoco
import numpy as np
import pytest

from kinloop.io import ModelFileError, load

CUBE = "\n".join(
    [f"v {x} {y} {z}" for x in (0, 1) for y in (0, 1) for z in (0, 1)]
    + ["f 1 2 4 3", "f 5 7 8 6", "f 1 5 6 2", "f 3 4 8 7", "f 1 3 7 5", "f 2 6 8 4"]
)


def files(folder, **texts):
    for name, text in texts.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.with_suffix(".obj" if text == CUBE or text.startswith("v ") else ".xml").write_text(text)
    return folder / "main.xml"


PART = "<mujoco><asset><mesh name='m' file='m.obj'/></asset><worldbody><body name='b'><freejoint/><geom type='mesh' mesh='m'/></body></worldbody></mujoco>"


@pytest.mark.parametrize("place", ["m", "sub__m", "ms__m"])
@pytest.mark.parametrize("compiler", ["", "<compiler meshdir='ms'/>"])
def test_meshes_of_included_files_are_found_where_mujoco_finds_them(tmp_path, place, compiler):
    path = files(
        tmp_path, main=f"<mujoco>{compiler}<include file='sub/part.xml'/></mujoco>", sub__part=PART, **{place: CUBE}
    )
    try:
        theirs = mujoco.MjModel.from_xml_path(str(path))
    except ValueError:
        with pytest.raises(ModelFileError, match=r"mesh '(ms/)?m\.obj' is not in the model's directory"):
            load(path)
        return
    assert load(path).bodies[0].mass == theirs.body_mass[1]


def test_of_two_meshes_the_one_beside_the_main_file_counts(tmp_path):
    large = CUBE.replace("1", "2", 4)
    path = files(tmp_path, main="<mujoco><include file='sub/part.xml'/></mujoco>", sub__part=PART, m=CUBE, sub__m=large)
    theirs = mujoco.MjModel.from_xml_path(str(path))
    assert load(path).bodies[0].mass == theirs.body_mass[1] and np.isclose(theirs.body_mass[1], 1000.0)


HAND = """<mujoco model="hand"><compiler meshdir="ms" angle="radian"/><asset><mesh name="m" file="m.obj"/></asset>
<worldbody><body name="palm" pos="0 0 0.1"><joint name="turn" range="-1 1"/><geom type="mesh" mesh="m"/>
<body name="tip" pos="1 0 0"><joint name="bend" axis="1 0 0"/><geom name="pad" size="0.1"/></body></body></worldbody>
<contact><exclude body1="palm" body2="tip"/></contact><equality><joint joint1="turn" joint2="bend"/></equality>
<actuator><motor name="drive" joint="turn"/></actuator></mujoco>"""
ARM = """<mujoco><asset><model name="hand" file="hand/hand.xml"/></asset><worldbody>
<body name="arm"><joint name="arm"/><geom size="0.1"/><frame pos="0 0 1" euler="90 0 0"><attach model="hand" body="palm" prefix="left_"/></frame></body>
<frame pos="0 5 0"><attach model="hand" body="palm" prefix="right_"/></frame></worldbody></mujoco>"""


def test_attached_models_are_those_that_mujoco_attaches(tmp_path):
    path = files(tmp_path, main=ARM, hand__hand=HAND, hand__ms__m=CUBE)
    m, theirs = load(path), mujoco.MjModel.from_xml_path(str(path))
    assert [b.name for b in m.bodies] == [theirs.body(k).name for k in range(1, theirs.nbody)]
    assert [j.name for j in m.joints] == ["arm", "left_turn", "left_bend", "right_turn", "right_bend"]
    assert [b.mass for b in m.bodies] == pytest.approx(theirs.body_mass[1:], abs=0) and len(m.couplings) == 2
    assert [a.name for a in m.actuators] == ["left_drive", "right_drive"] and m.joints[1].upper == 1.0
    assert m.contact_rules.exclude[0] == ("left_palm", "left_tip")
    meshes = [g for b in m.bodies for g in b.geometry if g.kind == "mesh"]
    assert [g.path for g in meshes] == [str((tmp_path / "hand/ms/m.obj").resolve())] * 2
    assert np.allclose(m.joints[1].placement.R, [[1, 0, 0], [0, 0, -1], [0, 1, 0]])


def test_models_attached_to_attached_models(tmp_path):
    body = ARM.replace("arm", "wrist").replace('file="hand/hand.xml"', 'file="../hand/hand.xml"')
    main = '<mujoco><asset><model name="x" file="arm/arm.xml"/></asset><worldbody><replicate count="2" offset="0 0 1"><attach model="x" body="wrist" prefix="a_"/></replicate></worldbody></mujoco>'
    path = files(tmp_path, main=main, arm__arm=body, hand__hand=HAND, hand__ms__m=CUBE)
    m, theirs = load(path), mujoco.MjModel.from_xml_path(str(path))
    assert [b.name for b in m.bodies] == [theirs.body(k).name for k in range(1, theirs.nbody)]
    assert len(m.bodies) == 6 and all(g.path for b in m.bodies for g in b.geometry if g.kind == "mesh")


@pytest.mark.parametrize(
    "hand, main, reason",
    [
        (HAND.replace("radian", "magic"), ARM, r"hand.xml:1: <compiler>: MuJoCo refuses it"),
        (HAND.replace('<geom name="pad" size="0.1"/>', ""), ARM, "MuJoCo refuses it: .*left_tip"),
        (HAND.replace("m.obj", "../../../m.obj"), ARM, r"hand.xml:1: <mesh name='m'>: .* lies outside"),
        (HAND, ARM.replace('body="palm"', 'body="x"'), r"main.xml:2: <attach>: MuJoCo refuses it"),
        (HAND, ARM.replace('prefix="right_"', 'prefix="left_"'), "MuJoCo refuses it: .*already exists with prefix"),
        (HAND.replace('model="hand"><', '><asset><model name="a" file="../main.xml"/></asset><'), ARM, "inside itself"),
        ("<robot/>", ARM, "whose root is <robot>; it must be <mujoco>"),
        ("<mujoco", ARM, r"hand.xml:1: .*not well-formed"),
        (
            HAND,
            ARM.replace('<frame pos="0 5 0">', "<replicate count='600'>").replace(
                "</frame></worldbody>", "</replicate></worldbody>"
            ),
            "elements <body>; limits allow 1000",
        ),
    ],
)
def test_mistakes_in_attached_models_are_refused_at_their_place(tmp_path, hand, main, reason):
    path = files(tmp_path, main=main, hand__hand=hand, hand__ms__m=CUBE)
    with pytest.raises(ModelFileError, match=reason):
        load(path)


def test_models_that_multiply_are_refused_before_they_do(tmp_path):
    """Each model attaches the next one ten times: 10^9 bodies of a dozen short files."""
    texts = {}
    for k in range(9):
        attached = "".join(f"<attach model='x' body='b' prefix='{n}'/>" for n in range(10))
        texts[f"m{k}"] = (
            f"<mujoco><asset><model name='x' file='m{k + 1}.xml'/></asset><worldbody><body name='b'>{attached}</body></worldbody></mujoco>"
        )
    path = files(tmp_path, **texts, m9="<mujoco><worldbody><body name='b'><geom size='1'/></body></worldbody></mujoco>")
    with pytest.raises(ModelFileError, match="elements <body>; limits allow 1000"):
        load(path.with_name("m0.xml"))
