"""The simulator's own part: options, states to start from, single steps."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import kinloop as kl
from kinloop.errors import KinloopError, LoopNotClosed, MethodError, ShapeError, SingularConfiguration
from kinloop.sim import Plane, Simulator, State, Status
from tests.helpers import calls
from tests.sim.mechanisms import box_on, crank_rocker, level, parallelograms, pendulum, started, turned


def test_a_state_is_made_of_independent_or_spanning_velocities():
    robot, q, v = started("crank_joint")
    sim = Simulator(robot)
    a = sim.state(q, v, t=2.0)
    b = sim.state(q, qd=robot.spanning_velocity(q, v))
    np.testing.assert_array_equal(a.qd, b.qd)
    np.testing.assert_array_equal(a.qd[0], robot.spanning_velocity(q, v))
    assert a.t == [2.0] and b.t == [0.0] and np.all(a.ok) and not np.any(a.memory)


def test_states_broadcast():
    robot, q, v = started("crank_joint")
    sim = Simulator(robot)
    many = sim.state(q, v * np.ones((3, 1)), t=[0.0, 1.0, 2.0])
    assert len(many) == 3 and many.q.shape == (3, 3) and many.t.tolist() == [0.0, 1.0, 2.0]
    assert len(sim.state(np.stack([q, q]), v)) == 2 and len(sim.state()) == 1
    assert np.array_equal(sim.state().q[0], robot.neutral()) and not np.any(sim.state().qd)


def test_many_rows_are_judged_in_kernels_not_one_by_one():
    robot, q, v = started("crank_joint")
    sim = Simulator(robot)
    sim.state(np.tile(q, (8, 1)), v)
    few, many = (calls(partial(sim.state, np.tile(q, (rows, 1)), v), builtins=True) for rows in (8, 2000))
    assert many == few


def test_states_that_are_none_are_refused():
    robot, q, _ = started("crank_joint")
    sim = Simulator(robot)
    with pytest.raises(LoopNotClosed, match="loop 'pin' is open by"):
        sim.state(q + 0.1)
    with pytest.raises(ShapeError, match=r"q must have shape \(3,\)"):
        sim.state(np.zeros(2))
    flat = kl.robots.load("four_bar")
    with pytest.raises(SingularConfiguration, match=r"at q of row 1 the coordinates .* give the velocities .* as qd="):
        Simulator(flat).state(np.stack([flat.close(np.array([0.5, 0.5, -0.5])), np.zeros(3)]), np.ones(1))


def test_runs_begin_beside_singular_configurations_but_not_at_them():
    """A parallelogram is in line where its rockers lie level; its nearness is about the angle from there."""
    robot = parallelograms(1)
    sim = Simulator(robot)
    for angle, allowed in ((1e-4, True), (1.2e-6, True), (0.6e-6, False), (0.0, False)):
        q, qd = turned(robot, 0.5 * np.pi - angle, 0.0)
        if allowed:
            assert sim.state(q, qd=qd).ok
        else:
            with pytest.raises(SingularConfiguration, match=r"'parallelograms_1' has lost rank .* allowed above 1e-06"):
                sim.state(q, qd=qd)


def test_one_engine_serves_whatever_coordinates_are_independent():
    sims = [Simulator(crank_rocker(name), motors=["crank_joint"]) for name in ("crank_joint", "rocker_joint")]
    assert sims[0].engine is sims[0].engine and sims[0].engine.step is sims[0].engine.step
    q = sims[0].robot.neutral()
    qd = sims[0].robot.spanning_velocity(q, np.array([20.0]))
    ends = [sim.rollout(None, None, [0.5], steps=300, state=sim.state(q, qd=qd)).final for sim in sims]
    np.testing.assert_allclose(ends[0].q, ends[1].q, rtol=0, atol=1e-11)
    np.testing.assert_allclose(ends[0].qd, ends[1].qd, rtol=0, atol=1e-9)


def test_a_step_of_many_rows_is_that_of_each():
    robot, q, v = started("crank_joint")
    sim = Simulator(robot, 1e-3)
    many = sim.step(sim.state(q, v * np.array([[0.5], [1.0]])), np.array([[0.1], [-0.2]]))
    for k, (speed, u) in enumerate(((0.5, 0.1), (1.0, -0.2))):
        one = sim.step(sim.state(q, speed * v), [u])
        for a, b in zip(many.arrays(), one.arrays(), strict=True):
            np.testing.assert_array_equal(a[k], b[0])


def test_a_step_that_is_too_long_for_a_row_is_taken_in_parts():
    robot, q, v = started("crank_joint", 200.0)
    sim = Simulator(robot, 1e-3)
    state = sim.state(q, v * np.array([[1.0], [0.05]]))
    after = sim.step(state)
    run = sim.rollout(state=state, steps=1)
    assert np.all(after.ok) and run.substeps[0] > 1 and run.substeps[1] == 0
    np.testing.assert_array_equal(after.q, run.final.q)
    fine = Simulator(robot, 1e-3, integrator="adaptive", tolerance=1e-12).rollout(state=state, steps=1)
    np.testing.assert_allclose(after.q, fine.final.q, rtol=0, atol=1e-3)
    assert np.max(np.abs(after.q[0] - q)) > 0.1, "it moved"


def test_a_stopped_row_stays_where_it_is():
    sim = Simulator(pendulum(), 1e-3)
    s = sim.state(np.zeros((2, 1)), np.ones((2, 1)))
    half = State(s.q, s.qd, s.t, np.array([Status.RUNNING, Status.DIVERGED]), s.memory)
    after = sim.step(half)
    assert after.ok.tolist() == [True, False] and after.q[1] == 0.0 and after.q[0] > 0.0


def test_names_and_number_of_controls():
    sim = Simulator(crank_rocker(), motors=["rocker_joint", "crank_joint"])
    assert sim.nu == 2 and sim.control_names == ["rocker_joint", "crank_joint"]


def test_a_rollout_goes_on_where_another_ended():
    sim = box_on(Plane(0.5))
    v = np.array([1.0, 0.5, -0.3, 0.5, 0.0, -1.0])
    whole = sim.rollout(level(0.1), v, steps=80)
    first = sim.rollout(level(0.1), v, steps=50)
    rest = sim.rollout(state=first.final, steps=30)
    np.testing.assert_allclose(rest.q[0], whole.q[50:], rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"dt": -1e-3}, "dt must be a positive number of seconds, received -0.001"),
        ({"dt": np.inf}, "dt must be a positive number of seconds"),
        ({"substeps": 0}, "substeps must be at least 1, received 0"),
        ({"integrator": "euler"}, "integrator 'euler' is not one of"),
        ({"motors": "all"}, "motors 'all' is not None"),
    ],
)
def test_options_that_are_none_are_refused(options, words):
    with pytest.raises(MethodError, match=words):
        Simulator(pendulum(), **options)


def test_step_is_the_first_of_a_rollout():
    robot, q, v = started("crank_joint")
    sim = Simulator(robot, 1e-3)
    s = sim.step(sim.step(sim.state(q, v)), np.zeros(1))
    r = sim.rollout(q, v, steps=2)
    assert np.max(np.abs(s.q[0] - r.q[-1])) < 1e-12 and s.t[0] == pytest.approx(2e-3)


def test_numpy_path_gives_what_kernels_give():
    robot, q, v = started("crank_joint")
    plain = kl.Robot(robot.mechanism, backend="numpy")
    for integrator in ("semi_implicit", "rk4"):
        a = Simulator(robot, 1e-3, integrator=integrator).rollout(q, v, steps=5)
        b = Simulator(plain, 1e-3, integrator=integrator).rollout(q, v, steps=5)
        assert np.max(np.abs(a.q - b.q)) < 1e-13 and np.max(np.abs(a.v - b.v)) < 1e-12


def test_mistakes_are_named():
    robot = pendulum()
    with pytest.raises(KinloopError, match="integrator"):
        Simulator(robot, integrator="euler")
    with pytest.raises(KinloopError, match="dt"):
        Simulator(robot, dt=0.0)
    sim = Simulator(robot)
    with pytest.raises(KinloopError, match="steps"):
        sim.rollout(None, None)
    with pytest.raises(KinloopError, match="record"):
        sim.rollout(None, None, steps=1, record=["colour"])
    with pytest.raises(KinloopError, match="coordinate"):
        Simulator(robot, motors=["nothing"])


def test_a_simulation_that_would_ignore_a_constrained_loop_is_refused_by_name():
    m = kl.robots.mechanism("four_bar")
    robot = replace(m, constrained=(m.loops[0].name,), independent=()).build()
    with pytest.raises(kl.KinloopError, match="Simulator"):
        Simulator(robot)


def table_and_arm():
    """An arm beside a table, which is fixed to the world with all that stands on it."""
    b = kl.Builder("table_and_arm")
    b.body("table", joint="fixed", mass=5.0, inertia=(1, 1, 1))
    b.body("lamp", "table", joint="fixed", mass=1.0, inertia=(1, 1, 1), at=(0, 0, -0.1))
    b.body("arm", axis="y", mass=1.0, com=(0.2, 0, 0), inertia=(0.1, 0.1, 0.1), lower=-1.0, upper=1.0)
    b.frame("leg", "table", at=(0, 0, -0.5))
    b.frame("tip", "arm", at=(0.4, 0, 0))
    return b.build()


def test_contacts_that_cannot_move_are_left_out_with_a_warning():
    robot = table_and_arm()
    with pytest.warns(UserWarning, match="contacts on bodies that cannot move are left out: 'leg', 'lamp'$"):
        sim = Simulator(robot, ground=Plane(height=-0.2), contacts=["leg", "tip", "lamp"])
    assert [c.name for c in sim.contact.candidates] == ["tip"]
    run = sim.rollout(steps=400, record=("contact_force", "gap"))
    assert run.status[0] == 1 and np.max(run.contact_force) < 1e4 and np.min(run.gap) > -1e-5
    with pytest.warns(UserWarning, match="are left out: 'leg'"):
        assert Simulator(robot, ground=Plane(), contacts=["leg"], limits=False).contact is None


@pytest.mark.parametrize("integrator", ["rk4", "adaptive"])
def test_integrators_that_ignore_stops_say_so(integrator):
    words = rf"integrator '{integrator}' ignores the stops and the dry friction of 'arm_joint'; .*'semi_implicit'"
    with pytest.warns(UserWarning, match=words):
        Simulator(table_and_arm(), integrator=integrator)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Simulator(table_and_arm(), integrator=integrator, limits=False)
        Simulator(pendulum(), integrator=integrator)
        Simulator(table_and_arm())
