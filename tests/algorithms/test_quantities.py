"""The table of quantities: complete, and every method says the same on numbers and on symbols."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from helpers import assert_agree

import kinloop as kl
from kinloop import scalar as sc
from kinloop.algorithms.constrained.motion_constraints import all_numbers
from kinloop.algorithms.quantities import QUANTITIES
from kinloop.algorithms.requests import Request, ask, evaluate, input_sizes
from kinloop.clusters import conditioning

INPUTS = {"q", "v", "tau", "a", "f", "x"}
METHODS = [(quantity, method) for quantity, entry in QUANTITIES.items() for method in entry.methods]
INEXACT = ("approximate", "unconstrained")
"""Methods that leave out what gears or loops do."""


def asked_of(arm: kl.Robot, quantity: str, method: str | None, **options) -> Request:
    entry = QUANTITIES[quantity]
    # approximate methods know the frames of independent bodies only: these are
    frames = ["tip", "base"][: {"": 0, "one": 1, "many": 2}[entry.frames]]
    row = np.random.default_rng(5).normal(size=(1, 6))
    constraints = [kl.Rows("tip", row, [0.3])] if entry.constraints else []
    return ask(arm.tree.top, quantity, method, frames, constraints, **options)


def given_for(arm: kl.Robot, asked: Request) -> list[np.ndarray]:
    rng = np.random.default_rng(2)
    q, v = arm.random_state(rng)
    numbers = {"q": q, "v": v, "numbers": all_numbers(asked.constraints)}
    return [numbers[name] if name in numbers else rng.normal(size=n)
            for name, n in input_sizes(arm.tree, asked).items()]  # fmt: skip


def traced(arm: kl.Robot, asked: Request) -> sc.Function:
    how = QUANTITIES[asked.quantity].methods[asked.method]
    plan = how.plan(arm.tree, asked.constraints) if how.plan else None
    return sc.trace(partial(evaluate, arm.tree, asked, plan=plan), input_sizes(arm.tree, asked))


def condition(arm: kl.Robot, q: np.ndarray) -> float:
    return 10.0 * float(np.linalg.cond(arm.mass_matrix(q))) * conditioning(arm.tree, q)


@pytest.mark.parametrize(("quantity", "method"), METHODS)
def test_every_method_evaluates_on_numbers_and_on_symbols_alike(arm, quantity, method):
    entry = QUANTITIES[quantity]
    soft = 1e-2 if entry.methods[method].soft else None
    asked = asked_of(arm, quantity, method, compliance=soft)
    given = given_for(arm, asked)
    found = evaluate(arm.tree, asked, *given)
    assert tuple(found) == entry.outputs
    assert all(np.all(np.isfinite(x.astype(float))) for x in found.values())
    if entry.methods[method].numeric:
        return
    function = traced(arm, asked)
    outputs = function(*given)
    assert tuple(function.outputs) == entry.outputs and function.operations["total"] > 0
    assert any(np.max(np.abs(x)) > 1e-3 for x in found.values())
    for ours, (name, x) in zip(outputs if len(found) > 1 else (outputs,), found.items(), strict=True):
        assert_agree(ours, x, condition(arm, given[0]), f"{quantity} {method} {name}", scale=1.0)


@pytest.mark.parametrize(("quantity", "method"), METHODS)
def test_every_exact_method_gives_what_the_default_gives(arm, quantity, method):
    if method.startswith(INEXACT) or QUANTITIES[quantity].methods[method].soft:
        return
    default = asked_of(arm, quantity, None)
    given = given_for(arm, default)
    expected = evaluate(arm.tree, default, *given)
    found = evaluate(arm.tree, asked_of(arm, quantity, method), *given)
    for name, x in expected.items():
        assert_agree(found[name], x, 10.0 * condition(arm, given[0]), f"{quantity} {method} {name}", scale=1.0)


@pytest.mark.parametrize("quantity", [q for q, entry in QUANTITIES.items() if entry.forces])
def test_external_forces_are_an_input_of_every_quantity_that_takes_them(arm, quantity):
    for method, how in QUANTITIES[quantity].methods.items():
        asked = asked_of(arm, quantity, method, forces=True, compliance=1e-2 if how.soft else None)
        given = given_for(arm, asked)
        with_forces = evaluate(arm.tree, asked, *given)
        names = input_sizes(arm.tree, asked)
        without = evaluate(arm.tree, asked, *(x * (name != "f_ext") for name, x in zip(names, given, strict=True)))
        first = QUANTITIES[quantity].outputs[0]
        assert np.max(np.abs(with_forces[first] - without[first])) > 1e-3, method
        if not how.numeric:
            outputs = traced(arm, asked)(*given)
            ours = outputs if len(with_forces) == 1 else outputs[0]
            assert_agree(ours, with_forces[first], condition(arm, given[0]), f"{quantity} {method}", scale=1.0)


def test_open_parameters_are_inputs_of_every_quantity(arm):
    body = arm.body_names[1]
    for quantity in QUANTITIES:
        plain, opened = asked_of(arm, quantity, None), asked_of(arm, quantity, None, parameters=[f"{body}.mass"])
        given = given_for(arm, plain)
        names = list(input_sizes(arm.tree, opened))
        mass = np.array([arm.mechanism.bodies[1].mass])
        at = names.index(f"{body}.mass")
        assert at == len(QUANTITIES[quantity].inputs)
        outputs = traced(arm, opened)(*given[:at], mass, *given[at:])
        expected = evaluate(arm.tree, plain, *given)
        for ours, (name, x) in zip(outputs if len(expected) > 1 else (outputs,), expected.items(), strict=True):
            assert_agree(ours, x, condition(arm, given[0]), f"{quantity} {name}", scale=1.0)


def test_the_table_is_complete_and_consistent():
    assert kl.quantities() == list(QUANTITIES)
    for quantity, entry in QUANTITIES.items():
        assert callable(getattr(kl.Robot, quantity)), f"the front door has no {quantity}"
        assert set(entry.inputs) <= INPUTS and entry.outputs and entry.methods
        assert entry.frames in ("", "one", "many") and not (entry.frames and entry.constraints)
        assert not next(iter(entry.methods.values())).numeric, f"the default of {quantity} has no kernel"
        for how in entry.methods.values():
            assert not (how.plan or how.soft or how.surer) or entry.constraints
            assert how.surer is None or entry.methods[how.surer].surer is None


def test_the_front_door_takes_the_inputs_that_the_table_names():
    import inspect

    besides = {"self", "frame", "frames", "constraints", "f_ext", "method", "on_conflict", "compliance", "axes"}
    for quantity, entry in QUANTITIES.items():
        taken = inspect.signature(getattr(kl.Robot, quantity)).parameters
        assert set(entry.inputs) == set(taken) - besides, quantity
        assert ("f_ext" in taken) == entry.forces, quantity
        assert ("frame" in taken or "frames" in taken) == bool(entry.frames), quantity
        assert ("constraints" in taken) == entry.constraints, quantity
        assert ("axes" in taken) == entry.axes, quantity
