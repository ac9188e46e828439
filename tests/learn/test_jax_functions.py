"""kinloop.jax: values, derivatives and batches are the robot's own."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import kinloop as kl
from kinloop.algorithms.quantities import QUANTITIES
from kinloop.errors import MethodError, ShapeError, UnknownName
from tests.helpers import relative
from tests.learn.floating_linkage import floating_linkage

jax = pytest.importorskip("jax")
jnp = jax.numpy
kj = pytest.importorskip("kinloop.jax")


@pytest.fixture(scope="module", autouse=True)
def in_double_precision():
    with jax.enable_x64(True):
        yield


@pytest.fixture(scope="module")
def robot():
    """A free base with a quaternion, and loops."""
    return floating_linkage()


@pytest.fixture(scope="module")
def fd(robot):
    return kj.function(robot, "forward_dynamics")


@pytest.fixture(scope="module")
def rows(robot):
    q, v = robot.random_state(3, size=6)
    return q, v, np.random.default_rng(4).normal(size=v.shape)


def slope(f, h=1e-3):
    """df/ds at 0, by differences of order 6."""
    return (45.0 * (f(h) - f(-h)) - 9.0 * (f(2 * h) - f(-2 * h)) + (f(3 * h) - f(-3 * h))) / (60.0 * h)


def test_values_are_the_robots_own(robot, fd, rows):
    one = [x[0] for x in rows]
    assert np.array_equal(fd(*one), robot.forward_dynamics(*one))
    assert np.array_equal(fd(*rows), robot.forward_dynamics(*rows))
    assert np.array_equal(jax.vmap(fd)(*rows), robot.forward_dynamics(*rows))


def test_leading_axes_broadcast_and_vmaps_nest(robot, fd, rows):
    q, v, tau = rows
    expected = robot.forward_dynamics(q[:, None], v, tau[0])
    assert np.array_equal(fd(q[:, None], v, tau[0]), expected)
    inner = jax.vmap(fd, in_axes=(None, 0, None))
    assert np.array_equal(jax.vmap(inner, in_axes=(0, None, None))(q, v, tau[0]), expected)
    assert np.array_equal(jax.vmap(inner, in_axes=(0, None, None), out_axes=1)(q, v, tau[0]), expected.swapaxes(0, 1))
    assert fd(q[:0], v[:0], tau[:0]).shape == (0, robot.nv)


def test_gradients_are_those_of_the_derivatives(robot, fd, rows):
    q, v, tau = (x[0] for x in rows)
    weights = np.random.default_rng(5).normal(size=robot.nv)
    gradient = jax.grad(lambda *x: fd(*x) @ weights, argnums=(0, 1, 2))
    bar_q, bar_v, bar_tau = gradient(q, v, tau)
    _, *expected = robot.compile("forward_dynamics", derivative="vjp")(q, v, tau, weights)
    assert relative(bar_v, expected[1]) < 1e-13 and relative(bar_tau, expected[2]) < 1e-13
    motions = np.array([slope(lambda s, e=e: robot.integrate(q, s * e)) for e in np.eye(robot.nv)])
    assert relative(motions @ bar_q, expected[0]) < 1e-10
    many = jax.vmap(jax.grad(lambda *x: fd(*x) @ weights, argnums=(0, 1, 2)))(*rows)
    assert all(relative(a[0], b) < 1e-13 for a, b in zip(many, (bar_q, bar_v, bar_tau)))


def test_forward_and_reverse_jacobians_agree(robot, fd, rows):
    q, v, tau = (x[1] for x in rows)
    D = robot.forward_dynamics_derivatives(q, v, tau)
    for k in (1, 2):
        assert relative(jax.jacfwd(fd, k)(q, v, tau), D[k]) < 1e-12
        assert relative(jax.jacrev(fd, k)(q, v, tau), D[k]) < 1e-12
    assert relative(jax.jacfwd(fd)(q, v, tau), jax.jacrev(fd)(q, v, tau)) < 1e-12


def test_gradients_off_the_closed_motions_vanish(robot, fd, rows):
    q, v, tau = (x[0] for x in rows)
    bar_q = jax.grad(lambda q: fd(q, v, tau).sum())(q)
    quaternion = robot.q_index(robot.joint_names[0])
    unit = np.zeros(robot.nq)
    unit[quaternion.start + 3 : quaternion.stop] = q[quaternion.start + 3 : quaternion.stop]
    assert abs(bar_q @ unit) < 1e-12 * np.linalg.norm(bar_q)


def test_hessians_are_those_of_second_derivatives(robot, fd, rows):
    q, v, tau = (x[0] for x in rows)
    weights = np.random.default_rng(6).normal(size=robot.nv)
    H = jax.hessian(lambda v: fd(q, v, tau) @ weights)(v)
    second = robot.forward_dynamics_second_derivatives(q, v, tau).vv
    assert relative(H, np.einsum("i,ijk->jk", weights, second)) < 1e-11


def test_jvp_of_jvp_is_refused_with_the_way_that_works(fd, rows):
    q, v, tau = (x[0] for x in rows)
    first = lambda v: jax.jvp(lambda v: fd(q, v, tau), (v,), (v,))[1]  # noqa: E731
    with pytest.raises(NotImplementedError, match="forward over reverse only"):
        jax.jvp(first, (v,), (v,))


def test_gradients_through_steps_in_a_scan_are_exact(robot, fd, rows):
    q, v, _ = (x[0] for x in rows)
    integrate, dt = kj.function(robot, "integrate"), 0.01

    def cost(q, v, taus):
        def step(state, tau):
            q, v = state
            v = v + dt * fd(q, v, tau)
            q = integrate(q, v, dt)
            return (q, v), jnp.sum(q**2) + 0.01 * jnp.sum(v**2)

        return jax.lax.scan(step, (q, v), taus)[1].sum()

    rng = np.random.default_rng(7)
    taus, dtaus = rng.normal(size=(2, 5, robot.nv))
    dy, dv = 0.1 * rng.normal(size=(2, robot.nv))
    compiled = jax.jit(cost)
    measured = slope(lambda s: float(compiled(robot.integrate(q, dy, s), v + s * dv, taus + s * dtaus)))
    dq = slope(lambda s: robot.integrate(q, dy, s))
    bar_q, bar_v, bar_taus = jax.jit(jax.grad(cost, argnums=(0, 1, 2)))(q, v, taus)
    found = bar_q @ dq + bar_v @ dv + np.sum(bar_taus * dtaus)
    assert abs(found - measured) < 1e-10 * abs(measured)
    assert abs(jax.jvp(cost, (q, v, taus), (dq, dv, dtaus))[1] - found) < 1e-11 * abs(found)


def test_difference_inverts_integrate_with_its_derivatives(robot, rows):
    q, v, _ = (x[0] for x in rows)
    integrate, difference = kj.function(robot, "integrate"), kj.function(robot, "difference")
    assert relative(difference(q, integrate(q, 0.1 * v, 1.0)), 0.1 * v) < 1e-12
    J = jax.jacrev(lambda v: difference(q, integrate(q, v, 0.1)))(v)
    assert relative(J, 0.1 * np.eye(robot.nv)) < 1e-11
    bar_q, bar_dt = jax.grad(lambda q, dt: integrate(q, v, dt) @ q, argnums=(0, 1))(q, 0.1)
    assert abs(bar_dt - slope(lambda s: robot.integrate(q, v, 0.1 + s) @ q)) < 1e-9 * abs(bar_dt)
    assert bar_q.shape == (robot.nq,)


def test_single_precision_is_right_to_its_last_digits(robot, fd, rows):
    single = [np.asarray(x, dtype=np.float32) for x in rows]
    found = fd(*single)
    assert found.dtype == jnp.float32
    assert relative(found, robot.compile("forward_dynamics")(*(x.astype(float) for x in single))) < 1e-7
    gradient = jax.grad(lambda v: fd(single[0], v, single[2]).sum())(single[1])
    assert gradient.dtype == jnp.float32
    exact = jax.grad(lambda v: fd(rows[0], v, rows[2]).sum())(rows[1])
    assert relative(gradient, exact) < 1e-4


def test_rows_that_mean_nothing_are_nan_and_others_are_not(robot, fd, rows):
    q, v, tau = (x.copy() for x in rows)
    q[1, 8] += 0.3  # opens a loop
    v[2, 0] = np.nan
    q[4, 3:7] *= 1.1  # no unit quaternion
    found = np.asarray(fd(q, v, tau))
    assert np.isnan(found[[1, 2, 4]]).all()
    assert np.array_equal(found[[0, 3, 5]], robot.forward_dynamics(*(x[[0, 3, 5]] for x in rows)))
    assert np.isnan(jax.grad(lambda v: fd(q, v, tau)[1].sum())(v)[1]).all()


def test_a_call_back_into_python_gives_the_same(robot, rows, monkeypatch):
    import kinloop.learn.jax_primitives as primitives

    monkeypatch.setattr(primitives, "usable", lambda: False)
    fd = kj.function(robot, "forward_dynamics")
    broken = rows[0].copy()
    broken[2, 8] += 0.3
    found = np.asarray(fd(broken, *rows[1:]))
    assert np.isnan(found[2]).all() and np.array_equal(found[:2], robot.forward_dynamics(*(x[:2] for x in rows)))
    weights = np.ones(robot.nv)
    bar_v = jax.grad(lambda v: (fd(rows[0], v, rows[2]) @ weights).sum())(rows[1])
    _, _, expected, _ = robot.compile("forward_dynamics", derivative="vjp")(*rows, weights)
    assert relative(bar_v, expected) < 1e-13


def test_large_batches_are_shared_by_threads_and_exact(robot, fd):
    q, v = robot.random_state(0, size=6000)
    tau = np.random.default_rng(1).normal(size=v.shape)
    expected = robot.forward_dynamics(q, v, tau)

    def call(_):
        with jax.enable_x64(True):  # every thread has its own
            return np.asarray(fd(q, v, tau))

    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(call, range(12)))
    assert all(np.array_equal(x, expected) for x in found)
    q[5000, 8] += 0.3
    bad = np.isnan(np.asarray(fd(*(np.asarray(x, dtype=np.float32) for x in (q, v, tau))))).all(axis=1)
    assert np.flatnonzero(bad).tolist() == [5000]


def test_a_robot_without_kernels_gives_the_same(rows):
    robot = floating_linkage("numpy")
    q, v, tau = (x[0] for x in rows)
    fd, integrate = kj.function(robot, "forward_dynamics"), kj.function(robot, "integrate")
    assert relative(fd(q, v, tau), robot.forward_dynamics(q, v, tau)) < 1e-12
    along = np.random.default_rng(2).normal(size=robot.nv)
    _, moved = jax.jvp(lambda v: integrate(q, v, 0.1), (v,), (along,))
    assert relative(moved, slope(lambda s: robot.integrate(q, v + s * along, 0.1))) < 1e-9


def test_frames_wrenches_and_constraints_are_options(robot, rows):
    q, v, tau = (x[0] for x in rows)
    frame = robot.body_names[-1]
    pose = kj.function(robot, "frame_pose", frames=[frame])
    assert np.array_equal(pose(q), robot.frame_pose(q, frame)) and pose(rows[0]).shape == (6, 4, 4)
    wrenches = np.random.default_rng(1).normal(size=(len(robot.body_names), 6))
    pushed = kj.function(robot, "forward_dynamics", f_ext=True)
    assert relative(pushed(q, v, tau, wrenches), robot.forward_dynamics(q, v, tau, wrenches)) < 1e-14
    bar = jax.grad(lambda f: pushed(q, v, tau, f).sum())(wrenches)
    assert bar.shape == wrenches.shape and np.isfinite(bar).all()
    held = kj.function(robot, "constrained_dynamics", constraints=[kl.Point(frame)])
    for found, expected in zip(held(q, v, tau), robot.constrained_dynamics(q, v, tau, [kl.Point(frame)]), strict=True):
        assert relative(found, expected) < 1e-9


def test_conflicting_constraints_are_nan(robot, rows):
    frame, other = robot.body_names[-1], [kl.Point(robot.body_names[-1], acceleration=np.array([1.0, 0.0, 0.0]))]
    held = kj.function(robot, "constrained_dynamics", constraints=[kl.Point(frame), *other])
    a, multipliers = held(*(x[0] for x in rows))
    assert np.isnan(a).all() and np.isnan(multipliers).all()


def test_mistakes_are_named(robot, fd, rows):
    q, v, tau = (x[0] for x in rows)
    with pytest.raises(MethodError, match="forward_dynamics takes q, v, tau; received 2 arrays"):
        fd(q, v)
    with pytest.raises(ShapeError, match=rf"v must have shape \(\.\.\., {robot.nv}\), received"):
        fd(q, q, tau)
    with pytest.raises(ShapeError, match="must be real numbers, received complex128"):
        fd(q, v * 1j, tau)
    with pytest.raises(UnknownName, match="forward_dynamics"):
        kj.function(robot, "forward_dynamic")
    with pytest.raises(MethodError, match="works on numbers only"):
        kj.function(robot, "forward_dynamics", method="dense_kkt")
    with pytest.raises(MethodError, match="integrate takes no method"):
        kj.function(robot, "integrate", f_ext=True)


def quantities():
    return [name for name, entry in QUANTITIES.items() if not entry.constraints]


@pytest.mark.slow
@pytest.mark.parametrize("quantity", quantities())
def test_every_quantity_has_values_and_gradients(quantity):
    linkage = kl.robots.load("six_bar")
    entry = QUANTITIES[quantity]
    frames = [linkage.body_names[-1]] if entry.frames else []
    f = kj.function(linkage, quantity, frames=frames)
    rng = np.random.default_rng(8)
    q, _ = linkage.random_state(rng)
    sizes = {"v": linkage.nv, "tau": linkage.nv, "a": linkage.nv, "f": 6}
    given = [q, *(rng.normal(size=sizes[name]) for name in entry.inputs[1:])]
    expected = linkage.compute(quantity, *given, frames=frames)
    flat = lambda y: np.concatenate([np.ravel(x) for x in (y if isinstance(y, tuple) else (y,))])  # noqa: E731
    assert relative(flat(f(*given)), flat(expected)) < 1e-13

    def total(*x):
        y = f(*x)
        return sum(jnp.sum(jnp.sin(z)) for z in (y if isinstance(y, tuple) else (y,)))

    along = [rng.normal(size=n) for n in (linkage.nv, *(len(x) for x in given[1:]))]
    moved = lambda s: [linkage.integrate(q, along[0], s), *(x + s * d for x, d in zip(given[1:], along[1:]))]  # noqa: E731
    directions = [slope(lambda s: moved(s)[0]), *along[1:]]
    gradient = jax.grad(total, argnums=tuple(range(len(given))))(*given)
    found = sum(a @ b for a, b in zip(gradient, directions, strict=True))
    measured = slope(lambda s: float(total(*moved(s))), 1e-3)
    scale = sum(np.linalg.norm(a) * np.linalg.norm(b) for a, b in zip(gradient, directions, strict=True))
    assert abs(found - measured) < 1e-7 * scale + 1e-10 * (1.0 + abs(float(total(*given))))
