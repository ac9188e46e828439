"""Arrays of other libraries go wherever NumPy arrays go, or are refused with what to do."""

import numpy as np
import pytest

import kinloop as kl
from kinloop.errors import ShapeError
from kinloop.foreign_arrays import read_array, shared_array


@pytest.fixture(scope="module")
def robot():
    return kl.robots.load("four_bar")


@pytest.fixture(scope="module")
def state(robot):
    q, v = robot.random_state(0, size=3)
    return q, v, np.ones_like(v)


class OnlyDlpack:
    """An array that says nothing but how to be taken over."""

    def __init__(self, x):
        self._x = x

    def __dlpack__(self, **options):
        return self._x.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._x.__dlpack_device__()


def test_arrays_that_know_dlpack_only_are_read_where_they_are(robot, state):
    q = OnlyDlpack(state[0])
    assert np.shares_memory(read_array("q", q), state[0])
    assert np.array_equal(robot.forward_dynamics(q, *state[1:]), robot.forward_dynamics(*state))


def test_what_is_no_array_shares_nothing():
    assert shared_array("a", [1.0, 2.0]) is None


class TestTorch:
    torch = None

    @pytest.fixture(autouse=True)
    def library(self):
        self.torch = pytest.importorskip("torch")

    def tensors(self, arrays):
        return [self.torch.tensor(x) for x in arrays]

    def test_tensors_are_read_where_they_are(self, state):
        q = self.torch.tensor(state[0])
        found = read_array("q", q)
        found[0, 0] = 7.0
        assert q[0, 0] == 7.0

    def test_the_front_door_takes_tensors(self, robot, state):
        q, v, tau = self.tensors(state)
        expected = robot.forward_dynamics(*state)
        assert np.array_equal(robot.forward_dynamics(q, v, tau), expected)
        assert np.array_equal(
            robot.forward_dynamics(q[0], v[0], tau[0]), robot.forward_dynamics(*(x[0] for x in state))
        )
        assert np.array_equal(robot.integrate(q, v, 0.1), robot.integrate(*state[:2], 0.1))
        assert np.array_equal(
            robot.frame_pose(q, robot.body_names[-1]), robot.frame_pose(state[0], robot.body_names[-1])
        )

    def test_kernels_take_tensors_and_write_into_them(self, robot, state):
        kernel, out = robot.compile("forward_dynamics"), self.torch.zeros(3, robot.nv, dtype=self.torch.float64)
        kernel(*self.tensors(state), out=out)
        assert np.array_equal(out, kernel(*state))

    def test_the_simulator_takes_tensors(self, robot, state):
        sim = kl.Simulator(robot, dt=1e-3)
        q, v, u = self.tensors(state)
        expected = sim.rollout(*state[:2], np.ones((4, sim.nu)))
        found = sim.rollout(q, v, self.torch.ones(4, sim.nu, dtype=self.torch.float64))
        assert np.array_equal(found.q, expected.q)
        after = sim.step(sim.state(q, v), u)
        assert np.array_equal(after.q, sim.step(sim.state(*state[:2]), state[2]).q)
        one = sim.step(sim.state(q[0], v[0]), u[0])
        assert np.array_equal(one.q, sim.step(sim.state(state[0][0], state[1][0]), state[2][0]).q)

    def test_tensors_that_cannot_be_read_are_refused_with_what_to_do(self, robot, state):
        q, v, tau = self.tensors(state)
        v.requires_grad_()
        with pytest.raises(ShapeError, match=r"v requires grad; pass v.detach\(\), or use kinloop.torch"):
            robot.forward_dynamics(q, v, tau)
        with pytest.raises(ShapeError, match="v requires grad"):
            robot.compile("forward_dynamics")(q, v, tau)
        with pytest.raises(ShapeError, match=r"q is on meta, kinloop computes on the CPU; pass q.cpu\(\)"):
            robot.forward_dynamics(q.to("meta"), v.detach(), tau)
        with pytest.raises(
            ShapeError, match=r"tau is of torch.bfloat16, which NumPy does not know; pass tau.float\(\)"
        ):
            robot.forward_dynamics(q, v.detach(), tau.bfloat16())


class TestJax:
    @pytest.fixture(autouse=True)
    def library(self):
        self.jax = pytest.importorskip("jax")

    def test_the_front_door_the_kernels_and_the_simulator_take_arrays(self, robot, state):
        with self.jax.enable_x64(True):
            q, v, tau = map(self.jax.numpy.asarray, state)
        assert np.array_equal(robot.forward_dynamics(q, v, tau), robot.forward_dynamics(*state))
        assert np.array_equal(robot.compile("forward_dynamics")(q, v, tau), robot.forward_dynamics(*state))
        sim = kl.Simulator(robot, dt=1e-3)
        assert np.array_equal(sim.step(sim.state(q, v), tau).q, sim.step(sim.state(*state[:2]), state[2]).q)

    def test_what_jax_traces_is_refused_with_what_to_do(self, robot, state):
        with pytest.raises(ShapeError, match="q is traced by JAX, under jit, vmap or grad; use the functions of"):
            self.jax.jit(lambda q: robot.mass_matrix(q))(state[0])

    def test_outputs_are_not_written_into_arrays_of_jax(self, robot, state):
        with self.jax.enable_x64(True):
            out = self.jax.numpy.zeros((3, robot.nv))
        with pytest.raises(ShapeError, match="read-only"):
            robot.compile("forward_dynamics")(*state, out=out)
