"""MJCF: what MuJoCo compiles, kinloop takes over, and both compute the same motion."""

import numpy as np
import pytest
from io_compare import dynamics, relative
from io_samples import MJCF, shared, write
from numpy.testing import assert_allclose

from kinloop.algorithms.trees.cluster_aba import cluster_aba
from kinloop.algorithms.trees.cluster_crba import cluster_crba
from kinloop.algorithms.witnesses.dense_kkt import dense_kkt
from kinloop.clusters import close, grow, loop_errors, neutral
from kinloop.errors import ModelError
from kinloop.io import ModelWarning, convert, load
from kinloop.model import LinearCoupling, PolynomialCoupling
from kinloop.model import joints as jt

mujoco = pytest.importorskip("mujoco")
PASSIVE = ["CONTACT", "SPRING", "DAMPER", "LIMIT", "FRICTIONLOSS", "ACTUATION"]


def quiet(model):
    """The model with nothing but rigid bodies, gravity and equalities, these as hard as MuJoCo allows."""
    for what in PASSIVE:
        model.opt.disableflags |= int(getattr(mujoco.mjtDisableBit, f"mjDSBL_{what}"))
    model.eq_solimp[:] = [0.9999, 0.9999, 1e-3, 0.5, 2.0]
    model.opt.iterations, model.opt.tolerance, model.opt.timestep = 500, 0.0, 1e-6
    return model


def against_mujoco(tree, model, q, rng) -> tuple[float, float]:
    """Relative differences of the reduced mass matrix and of forward dynamics from MuJoCo's."""
    v, tau = rng.normal(size=(2, tree.nv))
    qpos, qvel, force = convert.to_mujoco(tree, model, q, v, tau)
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:], data.qfrc_applied[:] = qpos, qvel, force
    mujoco.mj_forward(model, data)
    M = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, M)
    G = np.stack([convert.to_mujoco(tree, model, q, e)[1] for e in np.eye(tree.nv)], axis=1)
    _, qd, _ = tree.spanning_motion(q, v)
    spanning = np.zeros(tree.top.n_spanning)
    spanning[tree.independent_dofs] = tau
    mine, _ = dynamics(tree, q, qd, spanning)
    theirs = convert.mujoco_map(tree, model).spanning_acceleration(q, qd, data.qacc)
    return relative(G.T @ M @ G, cluster_crba(tree, q)), relative(mine, theirs)


def test_every_kind_of_joint_and_body_is_taken_over(tmp_path):
    m = load(write(tmp_path, MJCF))
    names = {j.name: j for j in m.joints}
    assert list(names) == ["a", "b", "c1", "c2", "s", "loose_joint"]
    assert isinstance(names["s"].type, jt.Spherical) and isinstance(names["loose_joint"].type, jt.Free)
    assert names["a"].armature == 0.01 and names["a"].damping == 0.1 and (names["a"].lower, names["a"].upper) == (-1, 1)
    assert names["a"].home == (0.2,) and names["b"].stiffness == 2 and names["b"].rest == 0.1
    assert names["s"].friction == 0.01
    assert_allclose(m.gravity, [0, 0, -9.8])
    assert [b.name for b in m.bodies] == ["crank", "coupler@b", "rocker@c1", "rocker", "ball", "loose"]
    assert {f.name for f in m.frames} >= {"coupler", "tip", "pad"}
    assert m.inactive == ("equality1",) and len(m.world_geometry) == 1


def test_trees_and_loops_have_mujocos_dynamics(tmp_path):
    path = write(tmp_path, MJCF)
    tree, model = grow(load(path)), quiet(mujoco.MjModel.from_xml_path(str(path)))
    rng = np.random.default_rng(0)
    q = close(tree, tree.top.integrate(neutral(tree), 0.2 * rng.normal(size=tree.top.n_spanning)))
    inertia, motion = against_mujoco(tree, model, q, rng)
    assert inertia < 1e-12 and motion < 2e-3


def test_frames_of_bodies_and_sites_are_where_mujoco_has_them(tmp_path):
    from kinloop import Robot

    path = write(tmp_path, MJCF)
    robot = Robot(load(path), backend="numpy")
    model = mujoco.MjModel.from_xml_path(str(path))
    q = robot.neutral()
    data = mujoco.MjData(model)
    data.qpos[:] = convert.to_mujoco(robot, model, q)
    mujoco.mj_kinematics(model, data)
    for name in ("crank", "coupler", "rocker", "pad", "ball", "loose"):
        T = robot.frame_pose(q, name)
        assert_allclose(T[:3, 3], data.body(name).xpos, atol=1e-12)
        assert_allclose(T[:3, :3].ravel(), data.body(name).xmat, atol=1e-12)
    assert_allclose(robot.frame_pose(q, "tip")[:3, 3], data.site("tip").xpos, atol=1e-12)


def test_joint_equalities_are_polynomials_of_positions(tmp_path):
    text = MJCF.replace('polycoef="0 0.1 0.2 0 0" active="false"', 'polycoef="0.3 0.1 0.2 0 0"')
    (c,) = load(write(tmp_path, text)).couplings
    assert isinstance(c, PolynomialCoupling) and (c.dependent, c.independent) == (("c2",), ("a",))
    x = 0.7  # about the reference position 0.2 of joint a
    value = sum(k * x**n for n, k in enumerate(c.coefficients))
    assert value == pytest.approx(0.3 + 0.1 * (x - 0.2) + 0.2 * (x - 0.2) ** 2, abs=1e-14)
    text = MJCF.replace('joint2="a" polycoef="0 0.1 0.2 0 0" active="false"', 'polycoef="0.3 0 0 0 0"')
    (c,) = load(write(tmp_path, text)).couplings
    assert isinstance(c, LinearCoupling) and c.independent == () and c.offset.tolist() == [0.3]


def test_welds_close_with_all_six_rows(tmp_path):
    text = MJCF.replace("<connect body1", "<weld body1").replace('anchor="1 0 0"/>', 'anchor="0.1 0 0"/>', 1)
    text = text.replace('body2="rocker"', 'body2="loose"')
    path = write(tmp_path, text)
    tree, model = grow(load(path)), quiet(mujoco.MjModel.from_xml_path(str(path)))
    assert isinstance(tree.top.mechanism.loops[0].type, jt.Fixed)
    q = neutral(tree)
    assert max(loop_errors(tree, tree.top.neutral()).values()) < 1e-12
    inertia, motion = against_mujoco(tree, model, q, np.random.default_rng(0))
    assert inertia < 1e-12 and motion < 2e-3


def test_what_is_not_modelled_is_listed_and_refused_when_strict(tmp_path):
    tendon = '<tendon><spatial armature="1"><site site="tip"/><site site="tip2"/></spatial></tendon></mujoco>'
    text = MJCF.replace("</mujoco>", tendon).replace("<site", '<site name="tip2" pos="0.1 0 0"/><site', 1)
    path = write(tmp_path, text)
    with pytest.warns(ModelWarning, match="tendon"):
        m = load(path)
    assert any("tendon" in w for w in m.warnings)
    with pytest.raises(ModelError, match="tendon"):
        load(path, strict=True)


def test_velocities_of_keyframes_are_announced(tmp_path):
    body = "<worldbody><body><joint name='j'/><geom size='1'/></body></worldbody>"
    keys = "<keyframe><key name='at_rest' qpos='1'/><key name='moving' qpos='1' qvel='2'/></keyframe>"
    with pytest.warns(ModelWarning, match="key 'moving': has velocities") as said:
        load(write(tmp_path, f"<mujoco>{body}{keys}</mujoco>"))
    assert len(said) == 1


def test_floating_base_can_be_fixed_and_freed(tmp_path):
    fixed = grow(load(write(tmp_path, MJCF), floating_base=False))
    assert not any(isinstance(t, jt.Free) for t in fixed.top.types)
    text = "<mujoco><worldbody><body name='b' pos='0 0 2'><geom size='1'/></body></worldbody></mujoco>"
    free = load(write(tmp_path, text), floating_base=True)
    assert isinstance(free.joints[0].type, jt.Free) and free.joints[0].home == (0, 0, 2, 1, 0, 0, 0)


@pytest.mark.parametrize("file, nv, rows", [("agility_cassie/cassie", 22, 12), ("robotiq_2f85/2f85", 3, 7)])
def test_real_robots_with_loops_assemble_and_move_as_in_mujoco(file, nv, rows):
    path = shared(f"menagerie/{file}.xml")
    tree, model = grow(load(path)), quiet(mujoco.MjModel.from_xml_path(str(path)))
    assert tree.nv == nv and sum(len(tree.rows(c, neutral(tree)).phi) for c in tree) == rows
    rng = np.random.default_rng(0)
    for scale in (0.0, 0.1):
        q = close(tree, tree.top.integrate(neutral(tree), scale * rng.normal(size=tree.top.n_spanning)))
        assert max(loop_errors(tree, q).values()) <= 1e-10
        v, tau = rng.normal(size=(2, nv))
        assert relative(cluster_aba(tree, q, v, tau), dense_kkt(tree, q, v, tau)) < 1e-9
        inertia, motion = against_mujoco(tree, model, q, rng)
        # MuJoCo's equalities stay soft by 1 - 0.9999
        assert inertia < 1e-12 and motion < 1e-3


def test_go1_has_mujocos_dynamics():
    path = shared("menagerie/unitree_go1/go1.xml")
    tree, model = grow(load(path)), quiet(mujoco.MjModel.from_xml_path(str(path)))
    rng = np.random.default_rng(0)
    inertia, motion = against_mujoco(tree, model, tree.top.random(rng), rng)
    assert inertia < 1e-13 and motion < 1e-12


def test_without_mujoco_the_error_names_the_extra(tmp_path, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(ModelError, match=r"kinloop\[mjcf\]"):
        load(write(tmp_path, MJCF))
