"""Models of motors by physical law: speeds and forces of windings, losses of gears, delays in steps, free play."""

from __future__ import annotations

import numpy as np
import pytest

import kinloop as kl
from kinloop.errors import MethodError, UnknownName
from kinloop.sim import Motor, Winding

INERTIA = 0.01
WINDING = Winding(constant=0.05, resistance=0.5, voltage=24.0, current=20.0)


def wheel(inertia: float = INERTIA) -> kl.Robot:
    b = kl.Builder("wheel", gravity=(0, 0, 0))
    b.body("wheel", mass=1.0, inertia=(inertia,) * 3, axis="z")
    return b.build()


def winch() -> kl.Robot:
    """A mass of 2 kg that weighs 20 N, lifted by a motor with gear 5."""
    b = kl.Builder("winch", gravity=(0, 0, -10))
    b.body("mass", mass=2.0, inertia=(1e-3,) * 3, joint="prismatic", axis="z")
    return b.build()


def free_rotor() -> kl.Robot:
    b = kl.Builder("free_rotor", gravity=(0, 0, 0))
    b.body("rotor", mass=0.1, inertia=(1e-4,) * 3, axis="z")
    b.body("link", mass=1.0, inertia=(INERTIA,) * 3, axis="z")
    return b.build()


def speeds(motor: Motor, u, steps: int, robot: kl.Robot | None = None, dt: float = 1e-3, v0=None) -> np.ndarray:
    """Speeds of the only coordinate after every step; the run must go all the way."""
    run = kl.Simulator(robot or wheel(), dt=dt, motors=[motor]).rollout(v0=v0, controls=u, steps=steps)
    assert (run.status == 1).all()
    return run.v[:, 0]


def test_a_motor_at_its_voltage_follows_the_exponential_to_its_no_load_speed():
    motor = Motor("wheel_joint", gear=2.0, winding=Winding(0.05, 0.5, 24.0))
    rate, last = 4.0 * motor.winding.damping / INERTIA, motor.winding.no_load_speed / 2.0
    for dt, share in ((1e-3, 2e-3), (2.5e-4, 5e-4)):
        v, t = speeds(motor, [100.0], int(1.0 / dt), dt=dt), np.arange(1, int(1.0 / dt) + 1) * dt
        assert np.abs(v - last * (1.0 - np.exp(-rate * t))).max() < share * last
    assert np.isclose(speeds(motor, [-100.0], 4000, dt=1e-2)[-1], -last, rtol=1e-9)


def test_the_current_bounds_the_force_until_the_voltage_does():
    v = speeds(Motor("wheel_joint", winding=WINDING), [5.0], 4)
    assert np.allclose(np.diff(v, prepend=0.0), 1e-3 * WINDING.stall_force / INERTIA, rtol=1e-12)
    assert WINDING.stall_force == 1.0 and WINDING.no_load_speed == 480.0


def test_a_motor_that_is_overrun_brakes_whatever_it_is_told():
    v = speeds(Motor("wheel_joint", winding=WINDING), [0.0], 20000, v0=[700.0], dt=1e-2)
    assert np.all(np.diff(v) <= 0.0) and np.isclose(v[-1], WINDING.no_load_speed, rtol=1e-6)


@pytest.mark.parametrize("resistance", [1e-1, 1e-4, 1e-8])
@pytest.mark.parametrize("kind", ["torque", "velocity", "position"])
def test_windings_are_stable_however_stiff(resistance, kind):
    """Steps a thousand times as long as the winding's own time lead to no speed above its no-load speed."""
    motor = Motor("wheel_joint", kind, 50.0, 5.0, winding=Winding(0.05, resistance, 24.0))
    v = speeds(motor, [1e4], 40, wheel(1e-5), dt=1e-3)
    assert np.all(np.abs(v) < 480.0 * 1.01)
    assert kind == "position" or np.isclose(v[-1], 480.0, rtol=1e-3)


def test_friction_of_the_rotor_holds_and_drags():
    motor = Motor("wheel_joint", gear=-3.0, friction=0.05, viscous=0.2)
    assert np.all(speeds(motor, [0.0499], 50) == 0.0)
    assert np.isclose(speeds(motor, [1.0], 4000)[-1], -(1.0 - 0.05) / 0.2 / 3.0, rtol=1e-9)


@pytest.mark.parametrize(("u", "force"), [(5.1, 0.8 * 5 * 5.1), (8.0, 0.8 * 5 * 8.0), (1.9, 5 * 1.9 / 0.5), (0.0, 0.0)])
def test_gears_lose_power_in_both_directions(u, force):
    """Lifting, the load gets 80 % of the motor's power; sinking, the motor gets half of the load's."""
    motor = Motor("mass_joint", gear=5.0, efficiency=0.8, back_efficiency=0.5)
    v = speeds(motor, [u], 100, winch())
    assert np.isclose(v[-1], 0.1 * (force - 20.0) / 2.0, rtol=1e-9)
    driving = u * 5.0 * v[-1], force * v[-1]
    assert driving[1] == pytest.approx(0.8 * driving[0] if v[-1] > 0 else driving[0] / 0.5)


@pytest.mark.parametrize("u", [4.9, 3.0, 2.1])
def test_gears_hold_a_load_that_neither_direction_moves(u):
    motor = Motor("mass_joint", gear=5.0, efficiency=0.8, back_efficiency=0.5)
    assert np.abs(speeds(motor, [u], 50, winch())).max() < 1e-15


def test_delays_are_exact_in_steps():
    u = np.random.default_rng(0).normal(size=(12, 1))
    prompt = speeds(Motor("wheel_joint"), u, 12)
    late = speeds(Motor("wheel_joint", delay=0.003), u, 12)
    assert np.all(late[:3] == 0.0) and np.allclose(late[3:], prompt[:-3], rtol=1e-12)


def test_delays_go_on_where_a_rollout_goes_on_and_in_batches():
    sim = kl.Simulator(wheel(), dt=1e-3, motors=[Motor("wheel_joint", delay=0.002)])
    u = np.random.default_rng(1).normal(size=(3, 10, 1))
    whole = sim.rollout(controls=u, steps=10)
    first = sim.rollout(controls=u[:, :4], steps=4)
    rest = sim.rollout(state=first.final, controls=u[:, 4:], steps=6)
    assert np.array_equal(whole.v[:, -1], rest.v[:, -1])
    for k in range(3):
        assert np.array_equal(sim.rollout(controls=u[k], steps=10).v[-1], whole.v[k, -1])


def test_delays_last_as_long_where_steps_are_taken_in_parts():
    """A wheel that turns too far in a step takes it in parts; what motors were told moves on once a step."""
    u = np.zeros((30, 1))
    u[0] = 50.0
    fast = Motor("wheel_joint", delay=0.01)
    v = speeds(fast, u, 30, dt=1e-2, v0=[300.0])
    assert np.allclose(v[:1], 300.0, rtol=1e-9) and np.allclose(v[1:], 300.0 + 50.0 * 1e-2 / INERTIA, rtol=1e-9)


def test_a_servo_with_a_delay_was_told_to_stay():
    sim = kl.Simulator(wheel(), dt=1e-3, motors=[Motor("wheel_joint", "position", 10.0, 1.0, gear=2.0, delay=0.005)])
    state = sim.state(q=[[0.7], [-0.2]])
    run = sim.rollout(state=state, controls=[0.0], steps=5)
    assert np.allclose(run.q[:, :, 0], [[0.7] * 5, [-0.2] * 5], atol=1e-15)
    assert sim.activations(state).shape == (2, 6) and np.allclose(sim.activations(state)[:, 0], [1.4, -0.4])


def test_backlash_lets_go_and_catches():
    """The rotor runs free for the play, then takes the link along; momentum about the gear is kept."""
    motor = Motor("link_joint", gear=10.0, rotor="rotor_joint", backlash=0.02)
    sim = kl.Simulator(free_rotor(), dt=1e-4, motors=[motor])
    run = sim.rollout(v0=[20.0, 0.0], controls=[0.0], steps=200)
    apart = run.q[:, 0] / 10.0 - run.q[:, 1]
    assert (run.status == 1).all() and np.abs(apart).max() < 0.01 + 1e-9
    touches = int(np.argmax(run.v[:, 1] > 0.0))
    assert np.all(run.v[:touches, 0] == 20.0) and np.isclose(touches * 1e-4 * 20.0 / 10.0, 0.01, atol=3e-4)
    together = 10.0 * 1e-4 * 20.0 / (INERTIA + 100.0 * 1e-4)
    assert np.allclose(run.v[-1], [10.0 * together, together], rtol=1e-9)
    pushed = sim.rollout(q0=[0.1, 0.0], controls=[0.05], steps=100)
    assert np.isclose(pushed.v[-1, 1], 1e-2 * 0.05 * 10.0 / (INERTIA + 100.0 * 1e-4), rtol=1e-9)


def test_lossy_motors_let_energy_only_fall():
    """A servo behind a lossy gear, on its own, never adds to what its spring had."""
    motor = Motor("wheel_joint", "position", 200.0, 0.0, gear=1.0, efficiency=0.9)
    run = kl.Simulator(wheel(), dt=1e-3, motors=[motor]).rollout(q0=[1.0], controls=[0.0], steps=3000)
    energy = 0.5 * INERTIA * run.v[:, 0] ** 2 + 0.5 * 200.0 * (0.5 * (0.9 + 1 / 0.9)) * run.q[:, 0] ** 2
    peaks = energy[:: len(energy) // 20]
    assert np.all(np.diff(peaks) < 1e-9) and energy[-1] < 0.05 * energy[0]


@pytest.mark.parametrize(
    "motor",
    [
        Motor("mass_joint", gear=5.0, winding=WINDING),
        Motor("mass_joint", "velocity", kd=0.5, gear=5.0, winding=Winding(0.05, 0.5, 0.2)),
        Motor("mass_joint", gear=5.0, efficiency=0.8, viscous=0.01),
    ],
)
def test_derivatives_of_steps_know_motors(motor):
    sim = kl.Simulator(winch(), dt=1e-3, motors=[motor])
    state, u, e = sim.state(q=[0.1], v=[0.7]), np.array([0.9]), 1e-6

    def after(q, v, w):
        run = sim.rollout(q0=[q], v0=[v], controls=[w], steps=1)
        return np.array([run.q[-1, 0], run.v[-1, 0]])

    found = sim.linearize(state, u)
    A = np.array(
        [after(0.1 + e, 0.7, 0.9) - after(0.1 - e, 0.7, 0.9), after(0.1, 0.7 + e, 0.9) - after(0.1, 0.7 - e, 0.9)]
    )
    B = (after(0.1, 0.7, 0.9 + e) - after(0.1, 0.7, 0.9 - e)) / (2 * e)
    assert np.allclose(np.squeeze(found.A), A.T / (2 * e), atol=1e-8)
    assert np.allclose(np.squeeze(found.B), B, atol=1e-8)


def test_ranges_of_forces_are_those_that_the_simulator_gives():
    motor = Motor("wheel_joint", limit=0.9, winding=WINDING, viscous=1e-3, friction=0.02, efficiency=0.9)
    for speed in (50.0, 300.0, 450.0):
        for u, force in zip((-9.0, 9.0), motor.force_range(speed), strict=True):
            v = speeds(motor, [u], 1, dt=1e-7, v0=[speed])
            assert np.isclose((v[0] - speed) * INERTIA / 1e-7, force, rtol=1e-3)
    assert motor.force_range(0.0) == pytest.approx((-0.79, 0.79))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Motor("a", efficiency=0.0), "efficiency of the motor of 'a' must be above 0"),
        (lambda: Motor("a", efficiency=1.2), "must be above 0 and at most 1"),
        (lambda: Motor("a", back_efficiency=-1.0), "back_efficiency of the motor"),
        (lambda: Motor("a", friction=-1.0), "friction of the motor of 'a' must not be negative"),
        (lambda: Motor("a", delay=np.inf), "delay of the motor"),
        (lambda: Motor("a", backlash=0.1), "name the coordinate of its rotor"),
        (lambda: Motor("a", rotor="b", efficiency=0.9), "loses nothing"),
        (lambda: Winding(0.0, 1.0, 1.0), "constant of a winding must be a positive number"),
        (lambda: Winding(1.0, 1.0, 1.0, -1.0), "current of a winding must not be negative"),
        (lambda: kl.Simulator(wheel(), dt=1e-3, motors=[Motor("wheel_joint", delay=0.0015)]), "1.5 steps of 0.001 s"),
        (lambda: kl.Simulator(wheel(), dt=1e-3, motors=[Motor("wheel_joint", delay=1e-5)]), "whole number of steps"),
        (
            lambda: kl.Simulator(wheel(), integrator="rk4", motors=[Motor("wheel_joint", efficiency=0.9)]),
            "have friction or backlash, which integrator='semi_implicit'",
        ),
        (
            lambda: kl.Simulator(wheel(), limits=False, motors=[Motor("wheel_joint", friction=0.1)]),
            "limits=True minds",
        ),
        (
            lambda: kl.Simulator(wheel(), integrator="rk4", motors=[Motor("wheel_joint", delay=0.001)], dt=1e-3),
            "no activations of motors",
        ),
    ],
)  # fmt: skip
def test_bad_motors_name_the_culprit(make, words):
    with pytest.raises(MethodError, match=words):
        make()


def test_a_rotor_that_is_not_there_is_named():
    with pytest.raises(UnknownName, match="no coordinate named 'spindle'"):
        kl.Simulator(wheel(), motors=[Motor("wheel_joint", rotor="spindle", backlash=0.1)])
