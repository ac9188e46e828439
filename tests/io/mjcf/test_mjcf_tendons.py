# ruff: noqa: E501  (model text)
"""Tendons of MJCF: springs and limits, what is said of others."""

import numpy as np
import pytest
from io_samples import write

import kinloop as kl
from kinloop.io import ModelWarning, load

mujoco = pytest.importorskip("mujoco")

MODEL = """<mujoco><compiler angle="radian"/><worldbody><site name="w" pos="0.5 0 0"/>
<body name="a"><joint name="a" axis="0 1 0" ref="0.2"/><geom size="0.1" pos="0.1 0 0"/><body name="b"><joint name="b" axis="0 1 0"/><geom size="0.1" pos="0.1 0 0"/>
<body name="c"><joint name="c" axis="1 0 0" ref="-0.1"/><geom size="0.1" pos="0.1 0 0"/><site name="s" pos="0.1 0 0.1"/></body></body></body></worldbody>
<tendon><fixed name="one"><joint joint="a" coef="0.5"/><joint joint="b" coef="-2"/></fixed><fixed name="two"><joint joint="c" coef="3"/><joint joint="b" coef="1"/></fixed>
<spatial name="path" limited="true" range="0 1" stiffness="5" springlength="0.1 0.2" damping="2"><site site="w"/><site site="s"/></spatial></tendon>
<equality><tendon name="both" tendon1="one" tendon2="two" polycoef="0.1 0.7"/></equality></mujoco>"""


def test_springs_and_limits_are_those_of_the_file(tmp_path):
    path = write(tmp_path, MODEL)
    t, model = load(path).tendons[2], mujoco.MjModel.from_xml_path(str(path))
    assert (t.stiffness, t.damping, t.rest, t.length_range) == (5.0, 2.0, (0.1, 0.2), (0.0, 1.0))
    inertia = 0.95 / 0.05 / model.tendon_invweight0[2]
    assert t.limit_stiffness == pytest.approx(inertia / 0.95 / 0.02**2) and t.limit_damping == pytest.approx(
        inertia * 2 / (0.95 * 0.02)
    )
    off = load(
        write(
            tmp_path,
            MODEL.replace(
                "<worldbody>", '<option><flag limit="disable" spring="disable" damper="disable"/></option><worldbody>'
            ),
        )
    ).tendons[2]
    assert not off.acts


def test_friction_of_tendons_is_kept(tmp_path):
    one = load(write(tmp_path, MODEL.replace('name="one"', 'name="one" frictionloss="1"'))).tendons
    assert [t.friction for t in one if t.name == "one"] == [1.0]


def test_inertia_of_tendons_along_one_joint_is_its_armature_and_other_is_announced(tmp_path):
    """The mass matrix is MuJoCo's where two tendons have one joint each, on a joint with an armature of its own."""
    own = '<tendon><fixed name="x" armature="0.3"><joint joint="b" coef="-2"/></fixed><fixed name="y" armature="0.1"><joint joint="b" coef="3"/></fixed>'
    text = MODEL.replace("<tendon>", own).replace('name="b" axis', 'name="b" armature="0.02" axis')
    path = write(tmp_path, text[: text.index("<equality>")] + "</mujoco>")
    robot, model = kl.load(path), mujoco.MjModel.from_xml_path(str(path))
    data, M = mujoco.MjData(model), np.zeros((3, 3))
    data.qpos[:] = 0.3, -0.7, 1.1
    mujoco.mj_forward(model, data)
    mujoco.mj_fullM(model, data, M)
    assert robot.mechanism.joints[1].armature == pytest.approx(0.02 + 0.3 * 4 + 0.1 * 9)
    np.testing.assert_allclose(robot.mass_matrix(data.qpos), M, rtol=1e-12, atol=1e-14)
    for name in ("one", "path"):
        with pytest.warns(
            ModelWarning, match=f"tendon '{name}': has the inertia 1.5, which kinloop models only along a"
        ):
            load(write(tmp_path, MODEL.replace(f'name="{name}"', f'name="{name}" armature="1.5"')))


def test_flags_switch_off_what_acts_at_joints(tmp_path):
    """Springs, dampers, dry friction and limits of joints, each by its own flag."""
    text = """<mujoco><option>{0}</option><worldbody><body><joint name="j" axis="0 1 0" stiffness="2" damping="3"
    frictionloss="4" range="-1 1" limited="true"/><geom size="0.1" mass="1"/></body></worldbody></mujoco>"""
    numbers = {"spring": "stiffness", "damper": "damping", "frictionloss": "friction", "limit": "upper"}
    plain = load(write(tmp_path, text.format(""))).joints[0]
    for flag, number in numbers.items():
        off = load(write(tmp_path, text.format(f'<flag {flag}="disable"/>'))).joints[0]
        for key in numbers.values():
            expected = {"upper": np.inf}.get(key, 0.0) if key == number else getattr(plain, key)
            assert getattr(off, key) == expected, (flag, key)
