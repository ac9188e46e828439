# ruff: noqa: E501  (model text)
"""Springs, dampers and limits of files act, are listed, or are refused by name."""

import json

import numpy as np
import pytest
from io_samples import FOUR_BAR_LINKS, bar, write

from kinloop.clusters import grow
from kinloop.io import ModelFileError, ModelWarning, load
from kinloop.io.own.write_own import dumps
from kinloop.sim.actuators import joint_forces, make_drive


def two(kind: str, parts: str) -> str:
    joint = f'<joint name="j" type="{kind}"><parent link="a"/><child link="b"/>{parts}</joint>'
    return f"<robot name='r'>{bar('a')}{bar('b')}{joint}</robot>"


@pytest.mark.parametrize("kind", ["spherical", "floating"])
def test_springs_on_joints_without_angles_are_refused_by_name(tmp_path, kind):
    path = write(tmp_path, two(kind, '<dynamics stiffness="3"/>'))
    with pytest.raises(ModelFileError, match=r"joint 'j' of type .* has stiffness 3"):
        load(path)
    content = json.loads(dumps(load(write(tmp_path, two(kind, "")))))
    content["joints"][-1]["stiffness"] = 3.0
    with pytest.raises(ModelFileError, match=r"joint 'j' of type .* has stiffness 3"):
        load(write(tmp_path, json.dumps(content), "model.json"))


@pytest.mark.parametrize("kind, nv", [("spherical", 3), ("floating", 6), ("planar", 3), ("revolute", 1)])
def test_damping_acts_on_every_coordinate_of_a_joint(tmp_path, kind, nv):
    tree = grow(load(write(tmp_path, two(kind, '<dynamics damping="0.5"/>'))))
    drive = make_drive(tree, [])
    rate = np.arange(1.0, nv + 1)
    assert np.array_equal(joint_forces(drive, tree.top.neutral(), rate, np.zeros(0)), -0.5 * rate)


@pytest.mark.parametrize(
    "loop",
    [
        '<loop name="pin" type="revolute"><predecessor link="coupler"/><successor link="rocker"/><axis xyz="0 0 1"/>{}</loop>',
        '<loop_joint name="pin" type="spherical"><link1 link="coupler"/><link2 link="rocker"/>{}</loop_joint>',
        '<coupling name="pin"><predecessor link="crank"/><successor link="rocker"/>{}</coupling>',
    ],
)
@pytest.mark.parametrize(
    "part, why",
    [('<dynamics damping="1"/>', "no such force"), ("<limit/>", "no such force"), ("<odd/>", "is no part of")],
)
def test_what_a_loop_cannot_have_is_listed(tmp_path, loop, part, why):
    with pytest.warns(ModelWarning, match=why):
        m = load(write(tmp_path, f"<robot name='r'>{FOUR_BAR_LINKS}{loop.format(part)}</robot>"))
    assert any(part.split()[0].strip("</>") in line for line in m.warnings)


def test_what_a_joint_cannot_have_is_listed(tmp_path):
    with pytest.warns(ModelWarning, match="<magic>: is no part of"):
        load(write(tmp_path, two("revolute", "<magic/>")))
    with pytest.warns(ModelWarning, match="bounds the position of joint 'j' of type planar"):
        load(write(tmp_path, two("planar", '<limit lower="-1" upper="1"/>')))


def test_rotors_of_transmissions_are_armature(tmp_path):
    turned = two("revolute", '<dynamics armature="0.5"/>')
    rotor = '<transmission><joint name="{}"/><actuator name="m"><drake:rotor_inertia value="0.01"/><drake:gear_ratio value="10"/></actuator></transmission></robot>'
    m = load(write(tmp_path, turned.replace("</robot>", rotor.format("j"))))
    assert m.joints[-1].armature == pytest.approx(1.5)
    with pytest.raises(ModelFileError, match="missing joint: no joint named 'k'"):
        load(write(tmp_path, turned.replace("</robot>", rotor.format("k"))))
    with pytest.raises(ModelFileError, match="turns joint 'j' of type spherical"):
        load(write(tmp_path, two("spherical", "").replace("</robot>", rotor.format("j"))))
