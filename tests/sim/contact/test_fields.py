"""Bodies on height fields of the world and on grounds that functions describe; scenes beside MuJoCo's."""

from __future__ import annotations

import numpy as np
import pytest

import kinloop as kl
from kinloop import scalar as sc
from kinloop.io.convert import from_mujoco
from kinloop.model import Geometry
from kinloop.sim import Collisions, HeightField, Status
from kinloop.spatial import Transform, axis_rotation
from tests.sim.contact.test_searched_pairs import SIDE, G, hull, placed, scene

SHAPES = [hull(), Geometry("box", (SIDE,) * 3), Geometry("sphere", (0.04,)), Geometry("sphere", (0.2,)),
          Geometry("capsule", (0.05, 0.2)), Geometry("cylinder", (0.05, 0.1))]  # fmt: skip
HEIGHTS = [0.05, 0.05, 0.04, 0.2, 0.15, 0.05]


def resting(sim, slope=0.0, lift=0.0, turn=(1.0, 0.0, 0.0, 0.0)):
    """All shapes side by side on ground that rises along x by `slope`, from `lift` on, and where they are later."""
    R = axis_rotation((0.0, 1.0, 0.0), -np.arctan(slope))
    q = placed(sim.robot, [R @ [0.0, 0.5 * k - 1.25, z] + [0, 0, lift] for k, z in enumerate(HEIGHTS)], turn)
    run = sim.rollout(q, None, steps=60, record=["q", "contact_force"])
    assert run.status == [Status.RUNNING], run.reasons
    return q.reshape(-1, 7), run


def test_bodies_stand_on_a_level_field_of_the_world():
    field = Geometry("heightfield", (4, 4, 0.1), Transform(np.eye(3), np.array([0.0, 0.0, -0.2])), name="field",
                     heights=np.full((21, 25), 0.1))  # fmt: skip
    sim = kl.Simulator(scene(SHAPES, [field]), 2e-3, collisions=Collisions(0.8, contacts=24))
    ways = [c.kinds for c in sim.contact.scene.classes]
    assert ("sphere", "heightfield") in ways and ("capsule", "heightfield") not in ways, "long ones are searched for"
    q, run = resting(sim, lift=-0.1)
    np.testing.assert_allclose(run.q[-1].reshape(-1, 7), q, atol=2e-5)
    np.testing.assert_allclose(np.abs(run.contact_force[-1][:, 2]).sum(), len(SHAPES) * G, rtol=1e-3)


def test_bodies_stick_to_a_ground_that_a_function_describes():
    sim = kl.Simulator(scene(SHAPES[:3]), 2e-3, HeightField(lambda x, y: 0.2 * x, 0.9), collisions=Collisions(0.9))
    angle = -0.5 * np.arctan(0.2)
    q = placed(sim.robot, [axis_rotation((0, 1, 0), 2 * angle) @ [0, 0.3 * k, z] for k, z in enumerate(HEIGHTS[:3])],
               (np.cos(angle), 0, np.sin(angle), 0))  # fmt: skip
    run = sim.rollout(q, None, steps=50, record=["q", "v"])
    assert run.status == [Status.RUNNING]
    moved = (run.q[-1] - q).reshape(-1, 7)[:2, :3]
    np.testing.assert_allclose(moved, 0.0, atol=1e-4)
    assert abs(run.v[-1].reshape(-1, 6)[2, 4]) < 1e-6 and np.linalg.norm(run.v[-1].reshape(-1, 6)[2]) > 0.3, "rolls"


def test_a_box_settles_on_waves():
    def waves(x, y):
        return 0.02 * sc.cos(12.0 * x) * sc.cos(9.0 * y)

    robot = scene([Geometry("box", (0.3, 0.3, 0.1))])
    sim = kl.Simulator(robot, 2e-3, HeightField(waves, 0.8), collisions=Collisions(0.8))
    run = sim.rollout(placed(sim.robot, [(0.03, 0.02, 0.12)]), None, steps=400, record=["q", "v", "contact_force"])
    assert run.status == [Status.RUNNING] and run.peaks["penetration"][0] < 2e-3
    assert np.linalg.norm(run.v[-1]) < 0.02 and 0.06 < run.q[-1, 2] < 0.0701
    np.testing.assert_allclose(np.abs(run.contact_force[-100:]).sum(axis=1)[:, 2].mean(), G, rtol=0.02)


SCENE = """<mujoco><option timestep="0.0005" cone="elliptic"/>
<default><geom solref="0.004 1" friction="0.8"/></default>
<asset><mesh name="wedge"
  vertex="-0.1 -0.08 -0.05 0.1 -0.08 -0.05 -0.1 0.08 -0.05 0.1 0.08 -0.05 -0.1 0 0.05 0.1 0 0.05"/>
<hfield name="hills" nrow="4" ncol="4" size="1 1 0.1 0.1" elevation="0 0 0 0  0 0 0 0  0 0 0 0  0 1 0 0"/></asset>
<worldbody>
<geom type="hfield" hfield="hills"/>
<geom type="box" size="0.4 0.4 0.1" pos="3 0 0.1" euler="0 4 0"/>
<body pos="0.3 0.5 0.09"><freejoint/><geom type="mesh" mesh="wedge" mass="1"/></body>
<body pos="2.8 0 0.28"><freejoint/><geom type="mesh" mesh="wedge" mass="1"/></body>
<body pos="3.2 0 0.26" euler="0 0 20"><freejoint/><geom type="cylinder" size="0.06 0.04" mass="0.5"/></body>
<body pos="0.5 -0.1 0.06"><freejoint/><geom type="ellipsoid" size="0.1 0.08 0.05" mass="1"/></body>
</worldbody></mujoco>"""


def test_bodies_come_to_rest_where_mujoco_says(tmp_path):
    mujoco = pytest.importorskip("mujoco")
    file = tmp_path / "scene.xml"
    file.write_text(SCENE)
    model = mujoco.MjModel.from_xml_path(str(file))
    data = mujoco.MjData(model)
    robot = kl.load(file)
    sim = kl.Simulator(robot, 2e-3, collisions=Collisions(contacts=24))
    run = sim.rollout(from_mujoco(robot, model, data.qpos), None, steps=250)
    mujoco.mj_step(model, data, 1000)
    assert run.status == [Status.RUNNING], run.reasons
    theirs = from_mujoco(robot, model, data.qpos)
    apart = np.abs(run.q[-1] - theirs).reshape(-1, 7)
    assert apart[:, 2].max() < 1e-3 and apart[1:, :2].max() < 1e-3
    assert apart[0, :2].max() < 6e-3  # it falls straight down: in MuJoCo walls between the cells push it aside
