"""The vector environment: Gymnasium's contract, seeds, resets, and the physics behind it."""

from __future__ import annotations

import numpy as np
import pytest

import kinloop as kl
from kinloop.errors import MethodError, NonFiniteInput, ShapeError

gymnasium = pytest.importorskip("gymnasium")

from gymnasium.vector import AutoresetMode, SyncVectorEnv  # noqa: E402
from gymnasium.wrappers.vector import RecordEpisodeStatistics  # noqa: E402

from kinloop.learn.single_env import KinloopEnv  # noqa: E402
from kinloop.learn.vector_env import KinloopVectorEnv  # noqa: E402
from tests.learn.small_tasks import Balancing, Turning, cart  # noqa: E402


@pytest.fixture(scope="module")
def robot():
    return cart()


@pytest.fixture(scope="module")
def task(robot):
    return Balancing(robot, latency=(0.0, 0.03), push=2.0)


def history(env, steps=30, seed=5):
    """Everything that comes of random actions, one array each."""
    rng, found = np.random.default_rng(0), [env.reset(seed=seed)[0]]
    for _ in range(steps):
        out = env.step(rng.uniform(-1, 1, (env.num_envs, 1)))
        found += [np.asarray(x) for x in out[:4]]
    return [np.array(x, dtype=float) for x in found]


def same(a, b):
    return all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))


@pytest.mark.parametrize("mode", list(AutoresetMode)[:2])
def test_seeds_reproduce_bit_for_bit_for_any_number_of_threads(task, mode):
    one, two, five = (KinloopVectorEnv(task, 67, autoreset=mode, threads=n) for n in (1, 2, 5))
    first = history(one)
    assert same(first, history(two)) and same(first, history(five)) and same(first, history(one))
    assert not same(first, history(one, seed=6))
    assert sum(x.sum() for x in first[3::4]) > 10, "many episodes ended"


def test_a_row_does_not_depend_on_the_rows_beside_it(task):
    rng = np.random.default_rng(1)
    actions = rng.uniform(-1, 1, (40, 9, 1))
    many, few = KinloopVectorEnv(task, 9, autoreset="same_step"), KinloopVectorEnv(task, 2, autoreset="same_step")
    a, b = many.reset(seed=10)[0], few.reset(seed=13)[0]
    assert np.array_equal(a[3:5], b)
    for u in actions:
        a, b = many.step(u), few.step(u[3:5])
        assert all(np.array_equal(x[3:5], y) for x, y in zip(a[:4], b[:4], strict=True))


@pytest.mark.parametrize("mode", list(AutoresetMode)[:2])
def test_it_does_what_gymnasiums_own_vector_environment_does(task, mode):
    """Gymnasium's vector of single environments is the witness: the same numbers, ends and last observations."""
    ours = KinloopVectorEnv(task, 3, autoreset=mode)
    theirs = SyncVectorEnv([lambda: KinloopEnv(task)] * 3, autoreset_mode=mode)
    assert np.array_equal(ours.reset(seed=20)[0], theirs.reset(seed=20)[0])
    rng, ends = np.random.default_rng(2), 0
    for _ in range(60):
        action = rng.uniform(-1, 1, (3, 1))
        a, b = ours.step(action), theirs.step(action)
        assert all(np.array_equal(x, y) for x, y in zip(a[:4], b[:4], strict=True))
        ends += int(np.sum(a[2] | a[3]))
        if "final_obs" in b[4]:
            over = b[4]["_final_obs"]
            assert np.array_equal(a[4]["_final_obs"], over)
            assert np.array_equal(a[4]["final_obs"][over], np.stack(b[4]["final_obs"][over]))
    assert ends > 3


def test_spaces_types_and_metadata_are_gymnasiums(task):
    for mode in AutoresetMode:
        env = KinloopVectorEnv(task, 4, autoreset=mode)
        assert env.metadata["autoreset_mode"] == mode
    obs, info = env.reset(seed=1)
    env.action_space.seed(0)
    assert obs in env.observation_space and info == {}
    obs, reward, ended, cut, info = env.step(env.action_space.sample())
    assert obs in env.observation_space and obs.dtype == env.observation_space.dtype
    assert reward.shape == ended.shape == cut.shape == (4,) and ended.dtype == cut.dtype == bool
    assert env.observation_space == gymnasium.vector.utils.batch_space(env.single_observation_space, 4)
    assert not any(np.shares_memory(obs, x) for x in env.step(env.action_space.sample())[:2]), "data is not reused"


def test_next_step_begins_anew_with_the_next_action(task):
    env = KinloopVectorEnv(task, 50)
    env.reset(seed=0)
    over = np.zeros(50, dtype=bool)
    for _ in range(40):
        seen, reward, ended, cut, _ = env.step(np.zeros((50, 1)))
        assert np.all(reward[over] == 0.0) and not np.any((ended | cut)[over])
        assert np.all(seen[over, 5] == 0.0) and np.all(seen[over, 6] == 0.0), "no action was counted"
        assert np.all(np.abs(seen[over, 1]) < 0.3)
        over = ended | cut
    assert over.size


def test_same_step_begins_anew_at_once_and_tells_what_was_last_seen(task):
    here, later = KinloopVectorEnv(task, 50, autoreset="same_step"), KinloopVectorEnv(task, 50, autoreset="disabled")
    here.reset(seed=0), later.reset(seed=0)
    ended_once = False
    for _ in range(30):
        seen, reward, ended, cut, info = here.step(np.zeros((50, 1)))
        last, reward_later, ended_later, cut_later, _ = later.step(np.zeros((50, 1)))
        over = ended | cut
        assert np.array_equal(over, ended_later | cut_later) and np.array_equal(reward, reward_later)
        if over.any():
            ended_once = True
            assert np.array_equal(info["final_obs"][over], last[over]) and np.array_equal(info["_final_obs"], over)
            begun, _ = later.reset(options={"reset_mask": over})
            assert np.array_equal(begun, seen)
    assert ended_once


def test_disabled_environments_wait_for_their_reset(task):
    env = KinloopVectorEnv(task, 3, autoreset="disabled")
    with pytest.raises(MethodError, match="has not begun; call reset first"):
        env.step(np.zeros((3, 1)))
    env.reset(seed=0)
    for _ in range(task.limit):
        over = np.logical_or(*env.step(np.zeros((3, 1)))[2:4])
        if over.any():
            break
    with pytest.raises(MethodError, match=rf"environment {int(np.argmax(over))} has ended; call reset with a reset_m"):
        env.step(np.zeros((3, 1)))
    with pytest.raises(ShapeError, match=r"reset_mask must be 3 booleans, one of them True at least"):
        env.reset(options={"reset_mask": np.zeros(3, dtype=bool)})


def test_episodes_are_cut_at_their_limit_and_counted(robot):
    env = RecordEpisodeStatistics(KinloopVectorEnv(Balancing(robot, vary=False), 8))
    env.reset(seed=0)
    lengths = []
    for _ in range(80):
        *_, info = env.step(np.zeros((8, 1)))
        if "episode" in info:
            lengths += info["episode"]["l"][info["_episode"]].tolist()
    assert lengths and max(lengths) <= Balancing.limit


def test_physics_is_that_of_the_simulator(robot):
    """Actions held over `hold` steps, from the states in which the environments began."""
    task = Balancing(robot, vary=False)
    env = KinloopVectorEnv(task, 3)
    env.reset(seed=3)
    state, actions = env.rows.state(), np.random.default_rng(0).uniform(-1, 1, (4, 3, 1))
    for u in actions:
        seen = env.step(u)[0]
    controls = np.zeros((3, 16, 2))
    controls[..., 0] = np.repeat(5.0 * actions[..., 0].T, 4, axis=1)
    run = task.sim.rollout(state=state, controls=controls)
    np.testing.assert_array_equal(seen[:, :2], run.q[:, -1])


def test_linkages_remember_their_motion_from_the_start_of_every_episode():
    """Free linkages take steps of high order, for which a start needs a past of its own."""
    bar = kl.robots.load("four_bar")
    env = KinloopVectorEnv(Turning(bar), 4, autoreset="disabled")
    env.reset(seed=0)
    for _ in range(3):
        env.step(np.zeros((4, 1)))
    env.reset(options={"reset_mask": np.array([False, True, False, True])})
    state = env.rows.state()
    fresh = env.task.sim.state(state.q[[1, 3]], qd=state.qd[[1, 3]])
    for _ in range(3):
        seen = env.step(np.zeros((4, 1)))[0]
    on, begun = env.task.sim.rollout(state=state, steps=15), env.task.sim.rollout(state=fresh, steps=15)
    np.testing.assert_array_equal(seen[[1, 3]], begun.final.q)
    np.testing.assert_array_equal(seen[[0, 2]], on.final.q[[0, 2]])


def test_late_controls_are_those_of_the_action_before(robot):
    task = Balancing(robot, vary=False, latency=(0.01, 0.035))
    env = KinloopVectorEnv(task, 5)
    env.reset(seed=3)
    late = env.kernels.carried.split(env.rows.carried)["late"][:, 0].copy()
    assert np.all((late >= 0.01) & (late <= 0.035)) and np.ptp(late) > 1e-3
    state, actions = env.rows.state(), np.random.default_rng(0).uniform(-1, 1, (6, 5, 1))
    for u in actions:
        seen = env.step(u)[0]
    when = np.arange(24)[None] * task.sim.dt - late[:, None]
    which = np.clip(np.floor(when / task.period + 1e-7), 0, None).astype(int)
    controls = np.zeros((5, 24, 2))
    controls[..., 0] = 5.0 * np.take_along_axis(actions[..., 0].T, which, axis=1)
    np.testing.assert_allclose(seen[:, :2], task.sim.rollout(state=state, controls=controls).q[:, -1], atol=1e-13)


def test_numbers_are_drawn_for_every_episode_and_move_the_row(robot):
    task = Balancing(robot)
    env = KinloopVectorEnv(task, 200, autoreset="same_step")
    env.reset(seed=0)
    mass = env.rows.numbers[:, task.sim.engine.system.open.columns("pole.mass")][:, 0].copy()
    assert 0.1 <= mass.min() < 0.13 and 0.35 < mass.max() <= 0.4
    state, numbers = env.rows.state(), {n: env.rows.numbers[:, [k]] for k, n in enumerate(task.vary)}
    seen = env.step(np.ones((200, 1)))[0]
    run = task.sim.rollout(state=state, controls=[5.0, 0.0], steps=4, numbers=numbers)
    np.testing.assert_array_equal(seen[:, :2], run.q[:, -1])
    for _ in range(30):
        env.step(np.ones((200, 1)))
    assert not np.any(mass == env.rows.numbers[:, 0]), "all episodes are new"


def test_torch_tensors_share_the_memory_of_arrays(task):
    torch = pytest.importorskip("torch")
    env = KinloopVectorEnv(task, 6, dtype="float32", output="torch", autoreset="same_step")
    plain = KinloopVectorEnv(task, 6, dtype="float32", autoreset="same_step")
    seen, _ = env.reset(seed=4)
    assert seen.dtype == torch.float32 and np.array_equal(seen.numpy(), plain.reset(seed=4)[0])
    action = torch.full((6, 1), 0.5, requires_grad=True)
    found, reference = env.step(action), plain.step(action.detach().numpy())
    assert all(isinstance(x, torch.Tensor) for x in found[:4])
    assert all(np.array_equal(x.numpy(), y) for x, y in zip(found[:4], reference[:4], strict=True))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"autoreset": "later"}, r"autoreset 'later' is not one of 'next_step', 'same_step', 'disabled'"),
        ({"dtype": "float16"}, r"dtype 'float16' is float32 or float64"),
        ({"output": "jax"}, r"output 'jax' is numpy or torch"),
        ({"num_envs": 0}, r"num_envs"),
    ],
)
def test_what_there_is_not_is_refused(task, options, message):
    with pytest.raises(MethodError, match=message):
        KinloopVectorEnv(task, **{"num_envs": 2, **options})


def test_actions_and_seeds_are_checked(task):
    env = KinloopVectorEnv(task, 2)
    with pytest.raises(ShapeError, match="3 seeds are given for 2 environments"):
        env.reset(seed=[1, 2, 3])
    env.reset(seed=[1, None])
    with pytest.raises(ShapeError, match=r"actions must have shape \(2, 1\), received \(2, 2\)"):
        env.step(np.zeros((2, 2)))
    with pytest.raises(NonFiniteInput, match="actions hold nan or infinity"):
        env.step(np.array([[0.0], [np.nan]]))
    assert np.array_equal(env.step(np.full((2, 1), 9.0))[0][:, -1], [1.0, 1.0]), "actions are taken within -1 and 1"


def test_rows_that_diverge_end_and_begin_anew(task):
    env = KinloopVectorEnv(task, 3)
    env.reset(seed=0)
    env.rows.batch.state.qd[1] = 1e9
    _, reward, ended, _, info = env.step(np.zeros((3, 1)))
    assert info["diverged"].tolist() == ended.tolist() == [False, True, False] and reward[1] == 0.0
    seen, _, ended, _, info = env.step(np.zeros((3, 1)))
    assert not ended[1] and not info["diverged"].any() and seen[1, 6] == 0.0
    seen, reward, *_ = env.step(np.zeros((3, 1)))
    assert np.all(np.isfinite(seen)) and reward[1] > 0.5


def test_without_a_seed_streams_go_on(task):
    env = KinloopVectorEnv(task, 3)
    a, b, c = env.reset(seed=7)[0], env.reset()[0], env.reset(seed=7)[0]
    assert np.array_equal(a, c) and not np.any(a[:, 0] == b[:, 0])
