"""The front door: shapes, batches, backends, errors, configurations, reactions, derivatives."""

import pickle

import numpy as np
import pytest
from helpers import assert_agree, relative

import kinloop as kl
from kinloop.algorithms.quantities import QUANTITIES
from kinloop.clusters import conditioning
from kinloop.errors import LoopNotClosed, MethodError, NonFiniteInput, ShapeError, UnknownName


@pytest.fixture(scope="module")
def leg() -> kl.Robot:
    return kl.robots.load("mit_humanoid_leg")


@pytest.fixture(scope="module")
def linkage() -> kl.Robot:
    return kl.robots.load("planar_leg_linkage")


def inputs(robot: kl.Robot, seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    q, v = robot.random_state(rng)
    return {"q": q, "v": v, "a": rng.normal(size=robot.nv), "tau": rng.normal(size=robot.nv), "f": rng.normal(size=6)}


def condition(robot: kl.Robot, q: np.ndarray) -> float:
    numpy = kl.Robot(robot.mechanism, backend="numpy")
    return float(np.linalg.cond(numpy.mass_matrix(q))) * conditioning(robot.tree, q)


def independent_bodies(robot: kl.Robot) -> tuple[str, ...]:
    carried = zip(robot.body_names, robot.joint_names, strict=True)
    return tuple(body for body, joint in carried if joint in robot.independent_names)


def listed(result) -> tuple:
    return result if isinstance(result, tuple) else (result,)


CROSSED = (1.88, 2.48, 0.64, 1.38)
"""Near a configuration of the leg whose links cross: while they are parallel G is constant, its bias but rounding."""


@pytest.mark.parametrize("name", ["planar_leg_linkage", "mit_humanoid_leg", "rssr"])
def test_kernels_equal_the_numpy_path_for_every_quantity_and_method(name):
    robot = kl.robots.load(name)
    plain = kl.Robot(robot.mechanism, backend="numpy")
    x = inputs(robot)
    if name == "planar_leg_linkage":
        x["q"] = robot.close(CROSSED)
    frames = (robot.body_names[-1], robot.body_names[0])
    cond = condition(robot, x["q"])
    free = {quantity: entry for quantity, entry in QUANTITIES.items() if not entry.constraints}
    for quantity, entry in free.items():  # constrained motion: tests/algorithms/constrained/test_robots.py
        for method in entry.methods:
            given = tuple(x[k] for k in entry.inputs)
            chosen = frames[: {"": 0, "one": 1, "many": 2}[entry.frames]]
            if method in ("approximate_efpa", "unconstrained_efpa"):
                chosen = independent_bodies(robot)[:2]
            ours = robot.compute(quantity, *given, method=method, frames=chosen)
            theirs = plain.compute(quantity, *given, method=method, frames=chosen)
            for a, b in zip(listed(ours), listed(theirs), strict=True):
                assert_agree(a, b, cond, f"{name} {quantity} {method}", scale=1e-12)


def test_reactions_have_the_axes_of_a_batch(leg):
    rng = np.random.default_rng(3)
    states = [leg.random_state(rng) for _ in range(6)]
    Q, V, tau = np.array([s[0] for s in states]), np.array([s[1] for s in states]), rng.normal(size=leg.nv)
    push = rng.normal(size=(len(leg.body_names), 6))
    batch = leg.reactions(Q.reshape(2, 3, -1), V.reshape(2, 3, -1), tau, push)
    for k, (q, v) in enumerate(states):
        one, at = leg.reactions(q, v, tau, push), divmod(k, 3)
        assert list(one.joints) == leg.joint_names and set(one.loops) | set(one.transmissions) == set(leg.loop_names)
        for found, wrenches in ((one.joints, batch.joints), (one.loops, batch.loops)):
            assert all(np.array_equal(wrenches[name][at], f) and f.shape == (6,) for name, f in found.items())
        for name, forces in one.transmissions.items():
            assert all(np.array_equal(batch.transmissions[name][x][at], f) for x, f in forces.items())


def test_reactions_unpack_and_pickle_as_what_they_are_by_name(leg):
    q, v = leg.random_state(0)
    found = leg.reactions(q, v, v)
    joints, loops, transmissions = found
    again = pickle.loads(pickle.dumps(found))
    assert joints is found.joints and list(again.joints) == leg.joint_names
    assert all(np.array_equal(again.joints[name], f) for name, f in joints.items())
    assert list(again.loops) == list(loops) and list(again.transmissions) == list(transmissions)


def test_batches_equal_single_states_bit_for_bit(leg):
    rng = np.random.default_rng(1)
    states = [leg.random_state(rng) for _ in range(7)]
    Q, V = np.array([s[0] for s in states]), np.array([s[1] for s in states])
    tau = rng.normal(size=leg.nv)
    batch = leg.forward_dynamics(Q, V, tau)
    assert batch.shape == (7, leg.nv)
    for q, v, a in zip(Q, V, batch, strict=True):
        assert np.array_equal(leg.forward_dynamics(q, v, tau), a)
    assert leg.mass_matrix(Q.reshape(7, 1, -1)).shape == (7, 1, leg.nv, leg.nv)


def test_external_forces_are_per_body_wrenches(leg):
    x = inputs(leg)
    f_ext = np.random.default_rng(3).normal(size=(len(leg.body_names), 6))
    a = leg.forward_dynamics(x["q"], x["v"], x["tau"], f_ext)
    assert_agree(a, leg.forward_dynamics(x["q"], x["v"], x["tau"], f_ext, method="dense_kkt"), condition(leg, x["q"]))
    assert_agree(leg.inverse_dynamics(x["q"], x["v"], a, f_ext), x["tau"], condition(leg, x["q"]))


def test_wrong_shapes_are_refused_with_what_was_expected_and_received(leg):
    x = inputs(leg)
    with pytest.raises(ShapeError, match=r"v must have shape \(5,\).*received \(4,\)"):
        leg.forward_dynamics(x["q"], x["v"][:4], x["tau"])
    with pytest.raises(ShapeError, match="real numbers"):
        leg.mass_matrix("upright")
    with pytest.raises(ShapeError, match=r"f_ext must have shape \(..., 10, 6\)"):
        leg.forward_dynamics(x["q"], x["v"], x["tau"], np.zeros(6))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_numbers_that_are_not_finite_are_refused_by_name_and_place(leg, bad):
    x = inputs(leg)
    x["tau"][2] = bad
    with pytest.raises(NonFiniteInput, match=r"tau is .* at index 2"):
        leg.forward_dynamics(x["q"], x["v"], x["tau"])


def test_unknown_names_list_near_ones(leg):
    with pytest.raises(UnknownName, match="knee_link"):
        leg.frame_pose(leg.neutral(), "knee_lnik")
    with pytest.raises(MethodError, match="cluster_aba"):
        leg.forward_dynamics(leg.neutral(), np.zeros(5), np.zeros(5), method="caba")
    with pytest.raises(UnknownName, match="forward_dynamics"):
        leg.compile("forward_dynamic")
    with pytest.raises(MethodError, match="'kernel', 'numpy'"):
        kl.Robot(leg.mechanism, backend="cuda")


def test_integrate_stays_closed_and_difference_inverts_it(linkage):
    q, _ = linkage.random_state(4)
    step = np.array([0.1, -0.05])
    q1 = linkage.integrate(q, step)
    assert np.max(linkage.loop_error(q1)) < 1e-14
    assert np.allclose(linkage.difference(q, q1), step, atol=1e-14)


def test_close_finds_the_nearest_closed_configuration_or_names_the_loop(linkage):
    q, _ = linkage.random_state(4)
    closed = linkage.close(q + 1e-3)
    assert np.max(linkage.loop_error(closed)) < 1e-12
    assert np.max(np.abs(closed - q)) < 1e-2
    with pytest.raises(LoopNotClosed, match=r"is open by .*robot.close"):
        linkage.check_closed(q + np.array([0, 0.1, 0, 0]))


def test_a_kernel_pickles_as_its_recipe(leg):
    kernel = leg.compile("forward_dynamics")
    x = inputs(leg)
    data = pickle.dumps(kernel)
    again = pickle.loads(data)
    assert np.array_equal(again(x["q"], x["v"], x["tau"]), kernel(x["q"], x["v"], x["tau"]))
    assert len(data) < 40_000


PARAMETERS = ["knee_link.mass", "knee_link.com", "ankle_rotor.inertia", "hip_rz.ratio", "knee_link_joint.position",
              "knee_link_joint.rpy", "knee_link_joint.armature"]  # fmt: skip


@pytest.mark.parametrize("parameter", PARAMETERS)
def test_an_open_parameter_is_an_input_and_its_own_value_changes_nothing(leg, parameter):
    from kinloop.model.parameters import parameter_value

    x = inputs(leg)
    if parameter.endswith("ratio"):
        parameter = next(c.name for c in leg.mechanism.couplings) + ".ratio"
    kernel = leg.compile("forward_dynamics", parameters=[parameter])
    value = parameter_value(leg.tree.top, parameter)
    expected = leg.forward_dynamics(x["q"], x["v"], x["tau"])
    assert relative(kernel(x["q"], x["v"], x["tau"], value), expected) < 1e-11
    values = np.array([value, value * 1.1 + 0.01])
    both = kernel(x["q"], x["v"], x["tau"], values)
    assert both.shape == (2, leg.nv)
    assert np.max(np.abs(both[1] - both[0])) > 1e-8


@pytest.mark.parametrize("backend", ["kernel", "numpy"])
@pytest.mark.parametrize("name", ["planar_leg_linkage", "mit_humanoid_leg", "slider_crank", "rocker"])
def test_derivatives_agree_with_finite_differences_along_closed_motions(name, backend):
    robot = kl.Robot(kl.robots.mechanism(name), backend)
    q, v = robot.random_state(5)
    tau = np.random.default_rng(5).normal(size=robot.nv)
    dq, dv, du = robot.forward_dynamics_derivatives(q, v, tau)
    h = 1e-5
    for k, e in enumerate(np.eye(robot.nv) * h):
        forward, back = robot.integrate(q, e), robot.integrate(q, -e)
        slope = (robot.forward_dynamics(forward, v, tau) - robot.forward_dynamics(back, v, tau)) / (2 * h)
        assert relative(dq[:, k], slope, scale=np.max(np.abs(dq))) < 1e-6
        slope = (robot.forward_dynamics(q, v + e, tau) - robot.forward_dynamics(q, v - e, tau)) / (2 * h)
        assert relative(dv[:, k], slope, scale=np.max(np.abs(dv))) < 1e-6
    assert_agree(du @ robot.mass_matrix(q), np.eye(robot.nv), condition(robot, q))


def test_other_independent_coordinates_describe_the_same_motion(linkage):
    q, v = linkage.random_state(6)
    other = linkage.with_independent(["shank_support_joint", "thigh_joint"])
    qd = linkage.spanning_velocity(q, v)
    v2 = qd[other.tree.independent_dofs]
    assert_agree(other.spanning_velocity(q, v2), qd, conditioning(other.tree, q))
    tau = np.zeros(2)
    qdd = linkage.spanning_jacobian(q) @ linkage.forward_dynamics(q, v, tau) + linkage.spanning_bias(q, v)
    qdd2 = other.spanning_jacobian(q) @ other.forward_dynamics(q, v2, tau) + other.spanning_bias(q, v2)
    assert_agree(qdd2, qdd, condition(linkage, q))


def massless_tip(**figures) -> kl.Builder:
    b = kl.Builder("massless")
    b.body("link", mass=1.0, com=(0.1, 0, 0), inertia=(0.1, 0.1, 0.1))
    b.body("tip", "link", at=(0.2, 0, 0), axis="y", **figures)
    return b


def test_a_massless_body_is_legal_where_something_it_carries_has_inertia():
    b = massless_tip()
    b.body("hand", "tip", mass=0.5, inertia=(0.01, 0.01, 0.01), at=(0.1, 0, 0), axis="z")
    robot = b.build()
    q, v = robot.random_state(0)
    a = robot.forward_dynamics(q, v, np.ones(3))
    assert_agree(a, robot.forward_dynamics(q, v, np.ones(3), method="dense_kkt"), condition(robot, q))
    assert massless_tip(armature=0.1).build().nv == 2


def test_a_coordinate_that_moves_no_inertia_is_refused_by_name():
    with pytest.raises(kl.ModelError, match=r"'tip_joint' moves no inertia: body 'tip'.*armature"):
        massless_tip().build()


@pytest.mark.parametrize("axis", [(0.0, 0.0, 1.0), (1.0, 2.0, 3.0)])
@pytest.mark.parametrize("rod", [False, True])
def test_a_point_mass_or_a_thin_rod_on_its_own_axis_is_refused_by_name(axis, rod):
    u = np.array(axis) / np.linalg.norm(axis)
    across = 0.1 * (np.eye(3) - np.outer(u, u)) if rod else np.zeros((3, 3))
    b = kl.Builder("spinner")
    b.body("arm", mass=1.0, com=(0.3, 0, 0), inertia=(0.1, 0.1, 0.1), axis="y")
    b.body("pin", "arm", mass=2.0, com=0.7 * u, inertia=across, axis=u, at=(0.5, 0, 0))
    with pytest.raises(kl.ModelError, match=r"'pin_joint' moves no inertia: body 'pin'.*on the joint's own axis"):
        b.build(backend="numpy")
    b = kl.Builder("pendulum")
    b.body("bob", mass=2.0, com=np.cross(u, (0.3, 0.1, -0.2)), axis=u)
    assert b.build(backend="numpy").nv == 1


@pytest.mark.parametrize("backend", ["kernel", "numpy"])
def test_numbers_too_large_to_mean_anything_are_refused_by_name(backend):
    robot = kl.Robot(kl.robots.mechanism("double_pendulum"), backend=backend)
    q, v = robot.random_state(0)
    with pytest.raises(NonFiniteInput, match=r"q is 1e\+300 at index 0; give finite numbers up to 1e\+12"):
        robot.forward_dynamics(np.full(robot.nq, 1e300), v, v)
    with pytest.raises(NonFiniteInput, match=r"q is -1e\+20 at index 0"):
        robot.close(np.full(robot.nq, -1e20))
    with pytest.raises(NonFiniteInput, match=r"v is 1e\+200 at index 0; give finite numbers up to 1e\+100"):
        robot.forward_dynamics(q, np.full(robot.nv, 1e200), v)


def test_joints_are_found_in_q_and_v_by_name(linkage):
    q, v = linkage.random_state(1)
    for joint in linkage.joint_names:
        assert linkage.mechanism.joints[linkage.joint_names.index(joint)].type.nq == len(q[linkage.q_index(joint)])
    qd = linkage.spanning_velocity(q, v)
    assert np.array_equal(linkage.independent(qd), v)
    assert np.array_equal(linkage.independent(np.stack([qd, 2 * qd])), np.stack([v, 2 * v]))
    for k, name in enumerate(linkage.independent_names):
        assert linkage.v_index(name) == slice(k, k + 1)
    dependent = next(n for n in linkage.joint_names if n not in linkage.independent_names)
    with pytest.raises(UnknownName, match=f"joint '{dependent}' is not in v: .*with_independent"):
        linkage.v_index(dependent)
    for index in (linkage.q_index, linkage.v_index):
        with pytest.raises(UnknownName, match=dependent):
            index(dependent[:-1])
    with pytest.raises(ShapeError, match="qd must have shape"):
        linkage.independent(v)


def test_joints_of_several_freedoms_are_slices():
    robot = kl.Robot(kl.robots.mechanism("mini_cheetah"), backend="numpy")
    base = robot.joint_names[0]
    assert (robot.q_index(base), robot.v_index(base)) == (slice(0, 7), slice(0, 6))
    assert robot.v_index(f"{base}[3]") == slice(3, 4)


def test_frames_answer_in_axes_of_choice(leg):
    x, foot = inputs(leg), leg.frame_names[-1]
    q, v = x["q"], x["v"]
    R = np.kron(np.eye(2), leg.frame_pose(q, foot)[:3, :3])
    J = leg.frame_jacobian(q, foot, axes="world")
    assert_agree(J, R @ leg.frame_jacobian(q, foot))
    assert_agree(leg.frame_velocity(q, v, foot, axes="world"), J @ v)
    assert_agree(leg.compute("frame_jacobian", q, frames=[foot], axes="world"), J)
    assert_agree(leg.compile("frame_jacobian", frames=[foot], axes="world")(q), J)
    assert leg.frame_jacobian(np.stack([q, q]), foot, axes="world").shape == (2, *J.shape)
    with pytest.raises(MethodError, match="'body', 'world'"):
        leg.frame_jacobian(q, foot, axes="local")
    with pytest.raises(MethodError, match="'body', 'world'"):
        leg.frame_jacobian(q, foot, axes=["world"])
    with pytest.raises(MethodError, match="mass_matrix is not given in axes"):
        leg.compute("mass_matrix", q, axes="world")
