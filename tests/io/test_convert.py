"""States carried to and from MuJoCo and Pinocchio come back, and mean the same motion there."""

import numpy as np
import pytest
from io_samples import MIMIC, MJCF, write
from numpy.testing import assert_allclose

from kinloop.algorithms.trees.cluster_rnea import cluster_rnea
from kinloop.algorithms.trees.energy import kinetic_energy
from kinloop.clusters import close, grow, neutral
from kinloop.errors import ModelError, ShapeError
from kinloop.io import convert, load

JOINTS = """<robot name="r">{links}
<joint name="free" type="floating"><parent link="world"/><child link="l0"/></joint>
<joint name="turn" type="continuous"><parent link="l0"/><child link="l1"/><axis xyz="0 1 0"/></joint>
<joint name="slide" type="prismatic"><parent link="l1"/><child link="l2"/><axis xyz="1 1 0"/>
<limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
<joint name="plane" type="planar"><parent link="l2"/><child link="l3"/><axis xyz="0 0 1"/></joint>
</robot>"""
LINK = '<link name="l{}"><inertial><mass value="1"/><inertia ixx="0.1" iyy="0.2" izz="0.25" {}/></inertial></link>'


@pytest.fixture
def mujoco_pair(tmp_path):
    mujoco = pytest.importorskip("mujoco")
    path = write(tmp_path, MJCF)
    return grow(load(path)), mujoco.MjModel.from_xml_path(str(path)), mujoco


def closed(tree, rng):
    return close(tree, tree.top.integrate(neutral(tree), 0.2 * rng.normal(size=tree.top.n_spanning)))


def test_mujoco_states_come_back(mujoco_pair):
    tree, model, _ = mujoco_pair
    rng = np.random.default_rng(0)
    q = np.stack([closed(tree, rng) for _ in range(3)])
    v, tau = rng.normal(size=(2, 3, tree.nv))
    theirs = convert.to_mujoco(tree, model, q, v, tau)
    assert [x.shape for x in theirs] == [(3, model.nq), (3, model.nv), (3, model.nv)]
    for mine, back in zip((q, v, tau), convert.from_mujoco(tree, model, *theirs), strict=True):
        assert_allclose(back, mine, atol=1e-12)
    assert convert.to_mujoco(tree, model, q[0]).shape == (model.nq,)


def test_mujoco_sees_the_same_energy_and_power(mujoco_pair):
    tree, model, mujoco = mujoco_pair
    rng = np.random.default_rng(1)
    q = closed(tree, rng)
    v, tau = rng.normal(size=(2, tree.nv))
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:], force = convert.to_mujoco(tree, model, q, v, tau)
    mujoco.mj_forward(model, data)
    M = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, M)
    assert kinetic_energy(tree, q, v) == pytest.approx(0.5 * data.qvel @ M @ data.qvel, rel=1e-12)
    assert force @ data.qvel == pytest.approx(tau @ v, rel=1e-12)


def test_pinocchio_states_come_back_and_mean_the_same(tmp_path):
    pin = pytest.importorskip("pinocchio")
    links = '<link name="world"/>' + "".join(LINK.format(k, 'ixy="0" ixz="0.01" iyz="0"') for k in range(4))
    path = write(tmp_path, JOINTS.format(links=links))
    tree, model = grow(load(path)), pin.buildModelFromUrdf(str(path))
    rng = np.random.default_rng(0)
    q = tree.top.random(rng)
    v, tau = rng.normal(size=(2, tree.nv))
    theirs = convert.to_pinocchio(tree, model, q, v, tau)
    for mine, back in zip((q, v, tau), convert.from_pinocchio(tree, model, *theirs), strict=True):
        assert_allclose(back, mine, atol=1e-12)
    data = model.createData()
    assert kinetic_energy(tree, q, v) == pytest.approx(pin.computeKineticEnergy(model, data, *theirs[:2]), rel=1e-12)
    assert theirs[1] @ theirs[2] == pytest.approx(tau @ v, rel=1e-12)
    gravity = pin.computeGeneralizedGravity(model, data, theirs[0])
    _, _, mine = convert.from_pinocchio(tree, model, theirs[0], 0 * theirs[1], gravity)
    assert_allclose(cluster_rnea(tree, q, 0 * v, 0 * v), mine, atol=1e-12)


def test_couplings_carry_independent_velocities_to_all_joints(tmp_path):
    pin = pytest.importorskip("pinocchio")
    path = write(tmp_path, MIMIC)
    m = load(path)
    tree, model = grow(m), pin.buildModelFromUrdf(str(path))
    q = close(tree, np.array([0.3, 0.0]))
    _, pv, ptau = convert.to_pinocchio(m, model, q, np.array([1.0]), np.array([2.0]))
    slide = model.joints[model.getJointId("jr")].idx_v
    assert pv[slide] == -0.5 and ptau[slide] == 0.0
    assert_allclose(
        convert.from_pinocchio(m, model, convert.to_pinocchio(m, model, q), pv, np.array([1.0, 1.0]))[2], [0.5]
    )


def test_models_that_do_not_match_are_refused(mujoco_pair, tmp_path):
    _, model, _ = mujoco_pair
    other = grow(load(write(tmp_path, MIMIC)))
    with pytest.raises(ModelError, match="lacks a joint: no joint named 'jl'"):
        convert.to_mujoco(other, model, np.zeros(2))
    tree, *_ = mujoco_pair
    with pytest.raises(ShapeError):
        convert.to_mujoco(tree, model, np.zeros(3))
