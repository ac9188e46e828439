"""Lengths and moment arms: MuJoCo's, the gradient of the length, and what they do in motion."""

from __future__ import annotations

import numpy as np
import pytest

from kinloop import scalar as sc
from kinloop.clusters import grow
from kinloop.io import load
from kinloop.sim.actuators import joint_forces, make_drive, motor_forces
from kinloop.sim.transmissions import Setting, actuator_line, along_tendon
from tests.sim.file_models import TENDONS, as_mujoco, random_state, spanning_state

mujoco = pytest.importorskip("mujoco")


@pytest.fixture(scope="module")
def robot(tmp_path_factory):
    path = tmp_path_factory.mktemp("tendons") / "tendons.xml"
    path.write_text(TENDONS)
    tree = grow(load(path))
    return make_drive(tree, "model"), mujoco.MjModel.from_xml_path(str(path))


def test_lengths_arms_and_forces_are_mujocos(robot):
    drive, model = robot
    data, rng, top = mujoco.MjData(model), np.random.default_rng(0), drive.top
    touching = 0
    for _ in range(60):
        random_state(mujoco, model, data, rng)
        q, qd = spanning_state(top, model, data)
        at = Setting(top, q)
        lengths = [along_tendon(t, at).length for t in top.mechanism.tendons]
        assert lengths == pytest.approx(data.ten_length.tolist(), abs=1e-7)
        touching += int(np.sum(data.ten_wrapnum))
        for k, a in enumerate(top.mechanism.actuators):
            line = actuator_line(a, drive.named_tendons, at)
            if a.name not in ("bp", "bv"):  # MuJoCo gives balls a length
                assert line.length == pytest.approx(data.actuator_length[k], abs=1e-7), a.name
            assert line.rate(qd) == pytest.approx(data.actuator_velocity[k], abs=1e-6), a.name
        u = data.ctrl.copy()
        u[-3:] = data.act
        own = np.zeros(top.n_spanning)
        for d, x in motor_forces(drive, q, qd, u):
            own[d] += x
        assert as_mujoco(top, model, q, own) == pytest.approx(data.qfrc_actuator, abs=1e-6)
        passive = joint_forces(drive, q, qd, u) - own
        assert as_mujoco(top, model, q, passive) == pytest.approx(data.qfrc_passive, abs=1e-10)
    assert touching > 60 * 21, "paths lay on shapes"


def test_arms_are_the_gradient_of_the_length(robot):
    """Finite differences along every coordinate; at shapes too, where MuJoCo's own tolerance hides errors."""
    drive, model = robot
    data, rng, top, h = mujoco.MjData(model), np.random.default_rng(1), drive.top, 1e-6
    for _ in range(8):
        random_state(mujoco, model, data, rng, 0.3)
        q, _ = spanning_state(top, model, data)
        for t in top.mechanism.tendons:
            line = along_tendon(t, Setting(top, q))
            for d in range(top.n_spanning):
                step = h * np.eye(top.n_spanning)[d]
                ends = [along_tendon(t, Setting(top, top.integrate(q, x))).length for x in (step, -step)]
                assert line.arms.get(d, 0.0) == pytest.approx((ends[0] - ends[1]) / (2 * h), abs=1e-7), (t.name, d)


def test_symbols_give_what_numbers_give(robot):
    drive, model = robot
    data, rng, top = mujoco.MjData(model), np.random.default_rng(2), drive.top

    def forces(q, qd, u):
        return {"f": joint_forces(drive, q, qd, u)}

    traced = sc.trace(forces, {"q": top.nq, "qd": top.n_spanning, "u": model.nu})
    for _ in range(5):
        random_state(mujoco, model, data, rng)
        q, qd = spanning_state(top, model, data)
        found = traced(q, qd, data.ctrl)
        assert found == pytest.approx(joint_forces(drive, q, qd, data.ctrl), rel=1e-12, abs=1e-12)
