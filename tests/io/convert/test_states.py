"""States carried to and from MuJoCo and Pinocchio come back, and mean the same motion there."""

import numpy as np
import pytest
from io_samples import MIMIC, MJCF, write
from numpy.testing import assert_allclose

from kinloop import Builder
from kinloop.algorithms.trees.cluster_aba import cluster_aba
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


def joints_of_every_kind(tmp_path):
    pin = pytest.importorskip("pinocchio")
    links = '<link name="world"/>' + "".join(LINK.format(k, 'ixy="0" ixz="0.01" iyz="0"') for k in range(4))
    path = write(tmp_path, JOINTS.format(links=links))
    return pin, grow(load(path)), pin.buildModelFromUrdf(str(path))


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
    pin, tree, model = joints_of_every_kind(tmp_path)
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


def test_mujoco_accelerations_come_back(mujoco_pair):
    """Along a motion of constant acceleration, the rate of MuJoCo's velocity is MuJoCo's acceleration."""
    tree, model, _ = mujoco_pair
    rng, h = np.random.default_rng(3), 1e-6
    free = next(i for i, j in enumerate(tree.top.joints) if j.type.nq == 7)
    dofs = [k for k, d in enumerate(tree.independent_dofs) if tree.top.body_of[d] == free]
    q, v, a = closed(tree, rng), np.zeros(tree.nv), np.zeros(tree.nv)
    v[dofs], a[dofs] = rng.normal(size=(2, 6))
    qd = tree.spanning_jacobian(q) @ v
    before, after = (
        convert.to_mujoco(tree, model, tree.top.integrate(q, s * h * qd), v + s * h * a)[1] for s in (-1.0, 1.0)
    )
    qacc = (after - before) / (2 * h)
    assert_allclose(convert.acceleration_from_mujoco(tree, model, q, v, qacc), a, atol=1e-8)
    batch = convert.acceleration_from_mujoco(tree, model, np.stack([q, q]), np.stack([v, v]), np.stack([qacc, qacc]))
    assert batch.shape == (2, tree.nv)


def test_pinocchio_accelerations_come_back(tmp_path):
    pin, tree, model = joints_of_every_kind(tmp_path)
    rng = np.random.default_rng(2)
    q = tree.top.random(rng)
    v, tau = rng.normal(size=(2, tree.nv))
    theirs = pin.aba(model, model.createData(), *convert.to_pinocchio(tree, model, q, v, tau))
    mine = convert.acceleration_from_pinocchio(tree, model, q, v, theirs)
    assert_allclose(mine, cluster_aba(tree, q, v, tau), rtol=1e-9, atol=1e-9)


def test_models_that_differ_in_order_only_have_an_order(tmp_path):
    pin, tree, model = joints_of_every_kind(tmp_path)
    with pytest.raises(ModelError, match=r"joint 'turn' is revolute here and \w+ in Pinocchio, which is more than"):
        convert.pinocchio_order(tree, model)
    b = Builder("arm")
    b.body("base", mass=1, inertia=(1, 1, 1), joint="free")
    b.body("ball", "base", mass=1, inertia=(1, 1, 1), joint="spherical", at=(1, 0, 0))
    b.body("slide", "ball", mass=1, inertia=(1, 1, 1), joint="prismatic", axis="x")
    tree, model = grow(b.mechanism()), pin.Model()
    kinds = [pin.JointModelFreeFlyer(), pin.JointModelSpherical(), pin.JointModelPX()]
    for kind, joint in zip(kinds, tree.top.joints, strict=True):
        model.addJoint(model.njoints - 1, kind, pin.SE3(joint.placement.R, joint.placement.p), joint.name)
    q = tree.top.random(np.random.default_rng(0))
    v = np.random.default_rng(1).normal(size=tree.nv)
    i, j = convert.pinocchio_order(tree, model)
    for mine, theirs in zip((q[i], v[j]), convert.to_pinocchio(tree, model, q, v), strict=True):
        assert_allclose(mine, theirs, atol=1e-15)


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


def test_a_free_base_in_another_frame_is_refused(tmp_path):
    """Pinocchio frees the link named world, we what hangs on it: poses of the base would not mean the same."""
    pin = pytest.importorskip("pinocchio")
    text = f"""<robot name="r"><link name="world"/>{LINK.format(0, 'ixy="0" ixz="0.01" iyz="0"')}
<joint name="stand" type="fixed"><origin xyz="0 0 0.1" rpy="0 0 {{}}"/><parent link="world"/><child link="l0"/></joint>
</robot>"""
    for turn in ("0", "-1.57"):
        path = write(tmp_path, text.format(turn))
        model = pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer())
        tree = grow(load(path, floating_base=True))
        with pytest.raises(ModelError, match="'stand' begins in another frame than Pinocchio's 'root_joint'"):
            convert.to_pinocchio(tree, model, neutral(tree), np.zeros(tree.nv))
