# ruff: noqa: E501  (model text)
"""Tendons of MJCF: springs and limits, what is said of others."""

import pytest
from io_samples import write

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


def test_friction_and_inertia_of_tendons_are_announced(tmp_path):
    with pytest.warns(ModelWarning, match=r"tendon 'one': is a tendon with dry friction or inertia"):
        load(write(tmp_path, MODEL.replace('name="one"', 'name="one" frictionloss="1"')))
