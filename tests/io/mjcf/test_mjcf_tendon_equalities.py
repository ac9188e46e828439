# ruff: noqa: E501  (model text)
"""Equalities of tendons, against the violations that MuJoCo itself computes."""

import mujoco
import numpy as np
import pytest
from io_samples import write

from kinloop.clusters import grow, loop_errors, random_closed
from kinloop.io import ModelFileError, load
from kinloop.model import LinearCoupling, PolynomialCoupling, Rod

MODEL = """<mujoco><compiler angle="radian"/><worldbody>
<body name="a"><joint name="a" axis="0 1 0" ref="0.2"/><geom fromto="0 0 0 0.5 0 0" size="0.02" type="capsule"/><site name="s" pos="0.5 0 0"/>
<body name="b" pos="0.5 0 0"><joint name="b" axis="0 1 0"/><geom fromto="0 0 0 0.5 0 0" size="0.02" type="capsule"/></body></body>
<body name="c" pos="1 0 0.3"><joint name="c" axis="0 1 0" ref="-0.1"/><joint name="d" type="slide" axis="1 0 0"/><geom fromto="0 0 0 0 0 0.5" size="0.02" type="capsule"/><site name="t" pos="0 0 0.5"/></body>
</worldbody>
<tendon><fixed name="one"><joint joint="a" coef="2"/><joint joint="b" coef="-3"/></fixed><fixed name="two"><joint joint="c" coef="1.5"/><joint joint="a" coef="0.5"/></fixed>
<fixed name="just_c"><joint joint="c" coef="-2"/></fixed><fixed name="just_b"><joint joint="b" coef="4"/></fixed><spatial name="line"><site site="s"/><site site="t"/></spatial></tendon>
<equality>EQUALITY</equality></mujoco>"""


def violation(path, m, q):
    """MuJoCo's own violation of the equalities at a position of ours."""
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    data.qpos[:] = q
    mujoco.mj_forward(model, data)
    return np.max(np.abs(data.efc_pos[data.efc_type == mujoco.mjtConstraint.mjCNSTR_EQUALITY])), int(data.ne)


@pytest.mark.parametrize(
    "equality, kind",
    [
        ("<tendon tendon1='one' polycoef='0.3 0 0 0 0'/>", LinearCoupling),
        ("<tendon tendon1='one' tendon2='two' polycoef='0.1 0.7 0 0 0'/>", LinearCoupling),
        ("<tendon tendon1='just_c' tendon2='just_b' polycoef='0.1 0.3 0.2 -0.1 0.05'/>", PolynomialCoupling),
        ("<tendon tendon1='line' polycoef='0.02 0 0 0 0'/>", Rod),
    ],
)
def test_a_closed_position_is_one_where_mujoco_sees_no_violation(tmp_path, equality, kind):
    path = write(tmp_path, MODEL.replace("EQUALITY", equality))
    m = load(path)
    (closure,) = m.closures
    assert type(closure) is kind
    tree = grow(m)
    for k in range(3):
        q = random_closed(tree, np.random.default_rng(k))
        assert max(loop_errors(tree, q).values()) < 1e-9
        found, rows = violation(path, m, q)
        assert rows == 1 and found < 1e-9


def test_joints_that_follow_already_lead_the_next_tendon(tmp_path):
    both = "<tendon tendon1='one'/><tendon tendon1='one' tendon2='two' polycoef='0 0.5 0 0 0'/>"
    m = load(write(tmp_path, MODEL.replace("EQUALITY", both)))
    assert [c.dependent for c in m.couplings] == [("b",), ("a",)]


@pytest.mark.parametrize(
    "equality, reason",
    [
        ("<tendon tendon1='one' tendon2='two' polycoef='0 1 1 0 0'/>", "polynomial of a tendon over the joints a, b"),
        ("<tendon tendon1='line' tendon2='one'/>", "tendon 'line', which runs through points"),
        ("<tendon tendon1='one' tendon2='line'/>", "tendon 'line', which runs through points"),
        ("<tendon tendon1='line' polycoef='-9 0 0 0 0'/>", "length"),
        ("<tendon tendon1='x'/>", "MuJoCo refuses it"),
    ],
)
def test_equalities_that_cannot_be_closed_are_named(tmp_path, equality, reason):
    with pytest.raises(ModelFileError, match=reason):
        load(write(tmp_path, MODEL.replace("EQUALITY", equality)))


def test_what_tendons_name_is_not_counted_as_parts(tmp_path):
    many = "<spatial>" + "<site site='s'/><site site='t'/>" * 2_100 + "</spatial></tendon>"
    assert load(write(tmp_path, MODEL.replace("EQUALITY", "").replace("</tendon>", many))).bodies
