"""Steps and rollouts of simulators under JAX and PyTorch: the simulator's own, with its own derivatives."""

import numpy as np
import pytest

import kinloop as kl
from kinloop.errors import MethodError, ShapeError
from kinloop.learn.simulated import Simulated, rollout_function, step_function
from kinloop.learn.step_kernels import StepKernels
from tests.helpers import relative
from tests.learn.floating_linkage import floating_linkage


@pytest.fixture(scope="module")
def sim():
    """A free base and a loop in flight."""
    return kl.Simulator(floating_linkage(), dt=2e-3)


@pytest.fixture(scope="module")
def start(sim):
    q, v = sim.robot.random_state(3, size=3)
    return q, v, np.random.default_rng(4).normal(size=(3, 5, sim.nu))


def moved(sim, start, s, along):
    q, v, u = start
    return sim.robot.integrate(q, along[0], s), v + s * along[1], u + s * along[2]


def slope(f, h=1e-3):
    return (45.0 * (f(h) - f(-h)) - 9.0 * (f(2 * h) - f(-2 * h)) + (f(3 * h) - f(-3 * h))) / (60.0 * h)


def rows(function, *given):
    found = function.evaluate.kernel(*(x.reshape(len(x), -1) for x in given))
    return [x.reshape(len(x), *shape) for x, shape in zip(found, function.outputs.values(), strict=True)]


def test_a_step_is_that_of_the_simulator(sim, start):
    q, v, u = start
    after = sim.step(sim.state(q, v), u[:, 0])
    q1, v1 = rows(step_function(sim), q, v, u[:, 0])
    assert relative(q1, after.q) < 1e-14 and relative(v1, sim.velocities(after)) < 1e-13


def test_a_rollout_goes_through_the_states_of_its_gradient(sim, start):
    q, v, u = start
    expected = sim.rollout_gradient(lambda q, v, u, t: u @ u, q, v, u)
    found = rows(rollout_function(sim, 5), q, v, u)
    assert np.array_equal(found[0], expected.q[:, 1:]) and np.array_equal(found[1], expected.v[:, 1:])


@pytest.mark.parametrize("kind", ["step", "rollout"])
def test_derivatives_are_exact_and_transposes_of_each_other(sim, start, kind):
    q, v, u = start
    given = (q, v, u[:, 0] if kind == "step" else u)
    f = step_function(sim) if kind == "step" else rollout_function(sim, 5)
    rng = np.random.default_rng(5)
    along = [0.3 * rng.normal(size=v.shape), rng.normal(size=v.shape), rng.normal(size=given[2].shape)]
    measured = [slope(lambda s, k=k: rows(f, *moved(sim, given, s, along))[k]) for k in (0, 1)]
    dq = slope(lambda s: sim.robot.integrate(q, along[0], s))
    flat = [x.reshape(3, -1) for x in given]
    directions = [dq, along[1], along[2].reshape(3, -1)]
    pushed = f.push.kernel(*flat, *directions)
    for found, expected in zip(pushed, measured, strict=True):
        assert relative(found, expected.reshape(3, -1)) < 1e-9
    weights = [rng.normal(size=x.shape) for x in pushed]
    pulled = f.pull.kernel(*flat, *weights)
    forward, back = (
        sum(np.sum(a * b) for a, b in zip(x, y, strict=True)) for x, y in ((pushed, weights), (pulled, directions))
    )
    assert abs(forward - back) < 1e-12 * abs(forward)


def test_rows_that_mean_nothing_are_nan_and_others_are_not(sim, start):
    q, v, u = (np.concatenate([x, x]) for x in (start[0], start[1], start[2][:, 0]))
    q[1, 8] += 0.3
    v[2, 0] = np.inf
    f = step_function(sim)
    gradients = f.pull.kernel(q, v, u, np.ones_like(q), np.ones_like(v))
    assert all(np.isnan(x[1:3]).all() and np.isfinite(x[[0, 3, 4, 5]]).all() for x in gradients)


def test_slopes_of_a_step_are_one_kernel_which_is_what_linearize_says(sim, start):
    """The same numbers as by A and B; where no recursion serves there is no such kernel, and the same way of asking."""
    q, v, u = start[0], start[1], start[2][:, 0]
    f, rng = step_function(sim), np.random.default_rng(7)
    along = [rng.normal(size=x.shape) for x in (q, v, u)]
    pushed = np.concatenate(f.push.kernel(q, v, u, *along), axis=1)
    assert f.jacobian is not None and StepKernels(sim).has_slopes
    J = np.asarray(f.jacobian.kernel(q, v, u))
    assert relative(np.einsum("bij,bj->bi", J, np.concatenate(along, axis=1)), pushed) < 1e-14
    simulated = Simulated(sim)
    simulated.kernels = StepKernels(kl.Simulator(sim.robot, dt=sim.dt, integrator="rk4"))
    assert not simulated.kernels.has_slopes, "no recursion is for rk4"
    assert relative(simulated._jacobian(q, v, u), J) < 1e-12


def test_a_row_that_cannot_take_its_step_whole_has_no_slopes(sim, start):
    q, v, u = start[0], start[1].copy(), start[2][:, 0]
    v[1] *= 1e5
    f = step_function(sim)
    for kernel in (f.evaluate.kernel, f.jacobian.kernel):
        found = kernel(q, v, u)
        for x in found if isinstance(found, tuple) else (found,):
            assert np.isnan(x[1]).all() and np.isfinite(x[[0, 2]]).all()


def test_kept_kernels_of_steps_are_made_anew_when_their_source_changes(sim, monkeypatch):
    asked = {}
    monkeypatch.setattr(sim.robot.kernels, "make", lambda name, *_, sources=(), **__: asked.update({name: sources}))
    kernels = StepKernels(sim)
    kernels.evaluate(), kernels.jacobian()
    assert asked == dict.fromkeys(("array_step", "array_step_jacobian"), ("sim", "learn"))


def test_simulators_that_have_no_such_map_are_refused(sim):
    with pytest.raises(MethodError, match="adaptive integrator has no single step"):
        step_function(kl.Simulator(sim.robot, dt=1e-3, integrator="adaptive"))


def test_jax_takes_steps_and_rollouts(sim, start):
    jax = pytest.importorskip("jax")
    kj = pytest.importorskip("kinloop.jax")
    with jax.enable_x64(True):
        step, rollout = kj.step(sim), kj.rollout(sim)
        q, v, u = start
        ends = rollout(q, v, u)
        (last, _), _ = jax.lax.scan(lambda state, u: (step(*state, u), None), (q, v), u.swapaxes(0, 1))
        assert relative(last, ends[0][:, -1]) < 1e-13
        cost = lambda q, v, u: (rollout(q, v, u)[0] ** 2).sum()  # noqa: E731
        scanned = lambda q, v, u: (  # noqa: E731
            jax.lax.scan(lambda s, u: (step(*s, u), step(*s, u)[0]), (q, v), u.swapaxes(0, 1))[1] ** 2
        ).sum()
        by_rollout = jax.jit(jax.grad(cost, argnums=(0, 1, 2)))(q, v, u)
        by_steps = jax.grad(scanned, argnums=(0, 1, 2))(q, v, u)
        assert all(relative(a, b) < 1e-11 for a, b in zip(by_rollout, by_steps, strict=True))
        many = jax.vmap(jax.grad(cost, argnums=2))(q, v, u)
        assert relative(many, by_rollout[2]) < 1e-11
        with pytest.raises(ShapeError, match=r"controls must have shape \(\.\.\., T, 10\), received \(10,\)"):
            rollout(q[0], v[0], u[0, 0])
        text = jax.jit(jax.grad(cost, argnums=(0, 1, 2))).lower(q, v, u).as_text()
        assert "kinloop_" in text and "callback" not in text, "no Python in gradients of rollouts"
        assert rollout(q[0], v, u[0])[1].shape == (3, 5, sim.robot.nv), "leading axes broadcast"


def test_torch_takes_steps_and_rollouts(sim, start):
    torch = pytest.importorskip("torch")
    kt = pytest.importorskip("kinloop.torch")
    step, rollout = kt.step(sim), kt.rollout(sim)
    q, v, u = given = [torch.tensor(x, requires_grad=True) for x in start]
    (rollout(q, v, u)[0] ** 2).sum().backward()
    by_rollout = [x.grad for x in given]
    q, v, u = given = [torch.tensor(x, requires_grad=True) for x in start]
    state, total = (q, v), 0.0
    for k in range(u.shape[1]):
        state = step(*state, u[:, k])
        total = total + (state[0] ** 2).sum()
    total.backward()
    assert all(relative(a, b.grad) < 1e-11 for a, b in zip(by_rollout, given, strict=True))
    with pytest.raises(ShapeError, match="controls must have shape"):
        rollout(q, v, u[0, 0])


@pytest.mark.slow
def test_contact_with_the_ground_counts(sim):
    robot = sim.robot
    standing = kl.Simulator(robot, dt=2e-3, ground=kl.sim.Plane(), contacts=["foot"])
    f = step_function(standing)
    q, v, u = robot.neutral()[None], np.zeros((1, robot.nv)), np.zeros((1, standing.nu))
    q[0, 2], v[0, 3:6] = 0.3, (0.4, 0.0, -0.5)
    after = standing.step(standing.state(q, v), u)
    q1, v1 = f.evaluate.kernel(q, v, u)
    assert relative(q1, after.q) < 1e-13 and relative(v1, standing.velocities(after)) < 1e-12
    assert abs(v1[0, 5]) < 0.1  # it stopped falling
    along = np.random.default_rng(6).normal(size=robot.nv)
    ends = [f.evaluate.kernel(q, v + s * along, u)[1] for s in (1e-5, -1e-5)]
    found = f.push.kernel(q, v, u, np.zeros_like(q), along[None], np.zeros_like(u))[1]
    assert relative(found, (ends[0] - ends[1]) / 2e-5) < 1e-6
