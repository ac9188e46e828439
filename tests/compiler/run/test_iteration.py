"""Many steps in one native call equal the same steps one by one."""

import numpy as np
import pytest

from kinloop import scalar as sc
from kinloop.compiler import compile_function
from kinloop.errors import MethodError, NonFiniteInput, ShapeError


@pytest.fixture(scope="module")
def pendulum():
    """A damped, driven pendulum: state (angle, rate), a control and a length per step."""

    def step(x, u, length):
        rate = x[1] + 0.01 * (u[0] - 9.81 / length[0] * sc.sin(x[0]) - 0.1 * x[1])
        return {"x_next": np.array([x[0] + 0.01 * rate, rate]), "energy": np.array([rate * rate, sc.cos(x[0]), u[0]])}

    return compile_function(sc.trace(step, {"x": 2, "u": 1, "length": 1}), name="pendulum")


def one_by_one(kernel, x, controls, length, every):
    records = []
    for t in range(controls.shape[-2]):
        x, energy = kernel(x, controls[..., t, :], length)
        if (t + 1) % every == 0:
            records.append(energy)
    return x, np.stack(records, axis=-2)


@pytest.mark.parametrize("rows", [1, 3, 4, 7, 64])
@pytest.mark.parametrize("every", [1, 5])
def test_iterating_equals_stepping_bit_for_bit(pendulum, rows, every):
    rng = np.random.default_rng(rows)
    x, controls = rng.normal(size=(rows, 2)), rng.normal(size=(rows, 50, 1))
    length = rng.uniform(0.5, 2, size=(rows, 1))
    out = pendulum.iterate(
        x, controls, length, steps=50, feedback={"x": "x_next"}, stepped=("u",), every=every, threads=2
    )
    final, records = one_by_one(pendulum, x, controls, length, every)
    assert np.array_equal(out["x_next"], final)
    assert np.array_equal(out["energy"], records)


def test_one_state_and_shared_controls(pendulum):
    controls = np.sin(np.arange(20.0))[:, None]
    alone = pendulum.iterate([0.3, 0.0], controls, [1.0], steps=20, feedback={"x": "x_next"}, stepped=("u",))
    assert alone["x_next"].shape == (2,)
    assert alone["energy"].shape == (20, 3)
    many = pendulum.iterate(
        np.tile([0.3, 0.0], (5, 1)), controls, [1.0], steps=20, feedback={"x": "x_next"}, stepped=("u",)
    )
    assert np.array_equal(many["energy"], np.tile(alone["energy"], (5, 1, 1)))


def test_mistakes_are_named(pendulum):
    good = ([0.3, 0.0], np.zeros((4, 1)), [1.0])
    with pytest.raises(MethodError, match="feedback 'x': 'energy'"):
        pendulum.iterate(*good, steps=4, feedback={"x": "energy"}, stepped=("u",))
    with pytest.raises(ShapeError, match=r"'u' must have shape \(5, 1\)"):
        pendulum.iterate(*good, steps=5, feedback={"x": "x_next"}, stepped=("u",))
    with pytest.raises(NonFiniteInput, match="'length'"):
        pendulum.iterate(good[0], good[1], [np.nan], steps=4, feedback={"x": "x_next"}, stepped=("u",))
    with pytest.raises(MethodError, match="takes 3 inputs"):
        pendulum.iterate([0.3, 0.0], steps=4, feedback={"x": "x_next"})


def test_another_feedback_in_between_changes_nothing():
    """The kernel keeps how the last call was wired; the next may be wired otherwise."""
    swap = compile_function(sc.trace(lambda x, y: {"a": x + y, "b": x - 2.0 * y}, {"x": 2, "y": 2}), cache=False)
    x, y = np.array([1.0, 2.0]), np.array([3.0, 5.0])
    wirings = ({"x": "a"}, {"x": "b", "y": "a"}, {"y": "b"}, {"x": "a"})
    for _ in range(2):
        for feedback in wirings:
            state = {"x": x, "y": y}
            for _ in range(3):
                out = dict(zip(("a", "b"), swap(state["x"], state["y"])))
                state = {**state, **{name: out[source] for name, source in feedback.items()}}
            got = swap.iterate(x, y, steps=3, feedback=feedback)
            assert all(np.array_equal(got[source], state[name]) for name, source in feedback.items())


@pytest.mark.parametrize("rows", [1, 3, 64])
def test_steps_on_arrays_that_stay_are_those_of_an_iteration(pendulum, rows):
    rng = np.random.default_rng(rows)
    x, length = rng.normal(size=(rows, 2)), rng.uniform(0.5, 2, size=(rows, 1))
    wide = rng.normal(size=(rows, 60, 2))
    controls = wide[:, 5:55, 1:]  # neither rows nor steps lie side by side
    feedback = {"x": "x_next"}
    whole = pendulum.iterate(x, controls, length, steps=50, feedback=feedback, stepped=("u",), every=5)
    stepping = pendulum.stepping(rows, feedback)
    stepping.arrays["x"][:], stepping.arrays["length"][:] = x, length
    energy = np.zeros((rows, 12, 3))
    for start, n in ((0, 20), (20, 30)):
        stepping.read_table("u", controls[:, start : start + n])
        stepping.record("energy", energy, 1 + start // 5)
        pendulum.advance(stepping, n, every=5, threads=2)
    assert np.array_equal(stepping.arrays["x"], whole["x_next"])
    assert np.array_equal(energy[:, 1:11], whole["energy"]) and not np.any(energy[:, [0, 11]])


@pytest.mark.parametrize("threads", [1, 2])
def test_something_may_be_done_with_rows_before_their_steps(pendulum, threads):
    """By the thread that takes them; rows with one that it cannot do stay where they are, and the first is named."""
    double = compile_function(
        sc.trace(lambda length: {"x": np.array([length[0] * 2.0, 0.0])}, {"length": 1}), cache=False
    )
    stepping = pendulum.stepping(64, {"x": "x_next"})
    x, length = stepping.arrays["x"], stepping.arrays["length"]
    length[:] = np.linspace(0.5, 1.0, 64)[:, None]
    first = double.over(length, x)
    assert pendulum.advance(stepping, 5, threads=threads, first=first) == -1
    begun = np.column_stack([2.0 * length, np.zeros(64)])
    assert np.array_equal(x, pendulum.iterate(begun, [0.0], length, steps=5, feedback={"x": "x_next"})["x_next"])
    length[40] = length[50] = np.nan
    assert pendulum.advance(stepping, 5, threads=threads, first=first) == 40
    assert np.array_equal(x[41:50], begun[41:50])


def test_one_table_serves_all_rows_and_what_is_not_asked_for_is_not_written(pendulum):
    feedback, controls = {"x": "x_next"}, np.sin(np.arange(20.0))[None, :, None]
    stepping = pendulum.stepping(5, feedback)
    stepping.arrays["x"][:], stepping.arrays["length"][:] = [0.3, 0.0], 1.0
    energy = np.zeros((5, 20, 3))
    stepping.record("energy", energy)
    stepping.read_table("u", controls)
    stepping.forget()
    stepping.arrays["u"][:] = 0.5
    pendulum.advance(stepping, 20)
    held = pendulum.iterate([0.3, 0.0], [0.5], [1.0], steps=20, feedback=feedback)
    assert np.array_equal(stepping.arrays["x"], np.tile(held["x_next"], (5, 1))) and not np.any(energy)
    stepping.arrays["x"][:] = [0.3, 0.0]
    stepping.read_table("u", controls)
    pendulum.advance(stepping, 20)
    alone = pendulum.iterate([0.3, 0.0], controls[0], [1.0], steps=20, feedback=feedback, stepped=("u",))
    assert np.array_equal(stepping.arrays["x"], np.tile(alone["x_next"], (5, 1)))


@pytest.mark.parametrize("size", [1, 7, 8, 9, 19])
def test_states_of_any_size_are_fed_back_whole(size):
    """Slots are copied several at a time, what is left one by one; those beside them keep what they have."""

    def step(before, x, behind):
        return {"x_next": np.roll(x, 1) + 1.0, "seen": np.array([before[0], *x[-2:], behind[0]])}

    kernel = compile_function(sc.trace(step, {"before": 1, "x": size, "behind": 1}), cache=False)
    x, beside = np.random.default_rng(size).normal(size=(5, size)), np.arange(5.0)[:, None]
    out = kernel.iterate(beside, x, -beside, steps=23, feedback={"x": "x_next"}, every=7)
    path = [x]
    for _ in range(23):
        path.append(np.roll(path[-1], 1, axis=1) + 1.0)
    seen = [np.hstack([beside, path[k][:, -2:], -beside]) for k in (6, 13, 20)]
    assert np.array_equal(out["x_next"], path[-1]) and np.array_equal(out["seen"], np.stack(seen, axis=1))
