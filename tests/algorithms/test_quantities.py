"""The table of quantities: complete, and every method says the same on numbers and on symbols."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from helpers import assert_agree

import kinloop as kl
from kinloop import scalar as sc
from kinloop.algorithms.constrained.motion_constraints import all_numbers
from kinloop.algorithms.quantities import QUANTITIES, Request, ask, evaluate, input_size, input_sizes
from kinloop.clusters import conditioning
from kinloop.errors import MethodError, UnknownName

INPUTS = {"q", "v", "tau", "a", "f", "x"}
METHODS = [(quantity, method) for quantity, entry in QUANTITIES.items() for method in entry.methods]
INEXACT = ("approximate", "unconstrained")
"""Methods that leave out what gears or loops do."""


@pytest.fixture(scope="module")
def robot() -> kl.Robot:
    """An arm that carries a four-bar whose crank carries a tip: small, with all three axes and gravity at work."""
    b = kl.Builder("arm")

    def solid(seed: int) -> dict[str, object]:
        rng = np.random.default_rng(seed)
        return {"mass": 1.0 + seed, "com": rng.normal(size=3) / 5, "inertia": 0.1 + rng.uniform(0, 0.1, 3)}

    b.body("base", axis="z", **solid(0))
    b.body("crank", "base", axis="y", at=(0.1, 0, 0.2), **solid(1))
    b.body("coupler", "crank", axis="y", at=(0.4, 0, 0), **solid(2))
    b.body("rocker", "base", axis="y", at=(1.3, 0, 0.2), **solid(3))
    b.loop("pin", "coupler", "rocker", axis="y", at=(1.0, 0, 0), at_successor=(0.8, 0, 0))
    b.body("tip", "crank", axis="x", at=(0.2, 0, 0.1), **solid(4))
    return replace(b.mechanism(), independent=("crank_joint",)).build(backend="numpy")


def asked_of(robot: kl.Robot, quantity: str, method: str | None, **options) -> Request:
    entry = QUANTITIES[quantity]
    # approximate methods know the frames of independent bodies only: these are
    frames = ["tip", "base"][: {"": 0, "one": 1, "many": 2}[entry.frames]]
    row = np.random.default_rng(5).normal(size=(1, 6))
    constraints = [kl.Rows("tip", row, [0.3])] if entry.constraints else []
    return ask(robot.tree.top, quantity, method, frames, constraints, **options)


def given_for(robot: kl.Robot, asked: Request) -> list[np.ndarray]:
    rng = np.random.default_rng(2)
    q, v = robot.random_state(rng)
    numbers = {"q": q, "v": v, "numbers": all_numbers(asked.constraints)}
    return [numbers[name] if name in numbers else rng.normal(size=n)
            for name, n in input_sizes(robot.tree, asked).items()]  # fmt: skip


def traced(robot: kl.Robot, asked: Request) -> sc.Function:
    how = QUANTITIES[asked.quantity].methods[asked.method]
    plan = how.plan(robot.tree, asked.constraints) if how.plan else None
    return sc.trace(partial(evaluate, robot.tree, asked, plan=plan), input_sizes(robot.tree, asked))


def condition(robot: kl.Robot, q: np.ndarray) -> float:
    return 10.0 * float(np.linalg.cond(robot.mass_matrix(q))) * conditioning(robot.tree, q)


@pytest.mark.parametrize(("quantity", "method"), METHODS)
def test_every_method_evaluates_on_numbers_and_on_symbols_alike(robot, quantity, method):
    entry = QUANTITIES[quantity]
    soft = 1e-2 if entry.methods[method].soft else None
    asked = asked_of(robot, quantity, method, compliance=soft)
    given = given_for(robot, asked)
    found = evaluate(robot.tree, asked, *given)
    assert tuple(found) == entry.outputs
    assert all(np.all(np.isfinite(x.astype(float))) for x in found.values())
    if entry.methods[method].numeric:
        return
    function = traced(robot, asked)
    outputs = function(*given)
    assert tuple(function.outputs) == entry.outputs and function.operations["total"] > 0
    assert any(np.max(np.abs(x)) > 1e-3 for x in found.values())
    for ours, (name, x) in zip(outputs if len(found) > 1 else (outputs,), found.items(), strict=True):
        assert_agree(ours, x, condition(robot, given[0]), f"{quantity} {method} {name}", scale=1.0)


@pytest.mark.parametrize(("quantity", "method"), METHODS)
def test_every_exact_method_gives_what_the_default_gives(robot, quantity, method):
    if method.startswith(INEXACT) or QUANTITIES[quantity].methods[method].soft:
        return
    default = asked_of(robot, quantity, None)
    given = given_for(robot, default)
    expected = evaluate(robot.tree, default, *given)
    found = evaluate(robot.tree, asked_of(robot, quantity, method), *given)
    for name, x in expected.items():
        assert_agree(found[name], x, 10.0 * condition(robot, given[0]), f"{quantity} {method} {name}", scale=1.0)


@pytest.mark.parametrize("quantity", [q for q, entry in QUANTITIES.items() if entry.forces])
def test_external_forces_are_an_input_of_every_quantity_that_takes_them(robot, quantity):
    for method, how in QUANTITIES[quantity].methods.items():
        asked = asked_of(robot, quantity, method, forces=True, compliance=1e-2 if how.soft else None)
        given = given_for(robot, asked)
        with_forces = evaluate(robot.tree, asked, *given)
        names = input_sizes(robot.tree, asked)
        without = evaluate(robot.tree, asked, *(x * (name != "f_ext") for name, x in zip(names, given, strict=True)))
        first = QUANTITIES[quantity].outputs[0]
        assert np.max(np.abs(with_forces[first] - without[first])) > 1e-3, method
        if not how.numeric:
            outputs = traced(robot, asked)(*given)
            ours = outputs if len(with_forces) == 1 else outputs[0]
            assert_agree(ours, with_forces[first], condition(robot, given[0]), f"{quantity} {method}", scale=1.0)


def test_open_parameters_are_inputs_of_every_quantity(robot):
    body = robot.body_names[1]
    for quantity in QUANTITIES:
        plain, opened = asked_of(robot, quantity, None), asked_of(robot, quantity, None, parameters=[f"{body}.mass"])
        given = given_for(robot, plain)
        names = list(input_sizes(robot.tree, opened))
        mass = np.array([robot.mechanism.bodies[1].mass])
        at = names.index(f"{body}.mass")
        assert at == len(QUANTITIES[quantity].inputs)
        outputs = traced(robot, opened)(*given[:at], mass, *given[at:])
        expected = evaluate(robot.tree, plain, *given)
        for ours, (name, x) in zip(outputs if len(expected) > 1 else (outputs,), expected.items(), strict=True):
            assert_agree(ours, x, condition(robot, given[0]), f"{quantity} {name}", scale=1.0)


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

    besides = {"self", "frame", "frames", "constraints", "f_ext", "method", "on_conflict", "compliance"}
    for quantity, entry in QUANTITIES.items():
        taken = inspect.signature(getattr(kl.Robot, quantity)).parameters
        assert set(entry.inputs) == set(taken) - besides, quantity
        assert ("f_ext" in taken) == entry.forces, quantity
        assert ("frame" in taken or "frames" in taken) == bool(entry.frames), quantity
        assert ("constraints" in taken) == entry.constraints, quantity


def test_numbers_of_constraints_tell_no_requests_apart_and_their_structure_does(robot):
    body = robot.body_names[-1]
    keys = [
        ask(robot.tree.top, "delassus", None, (), [kl.Rows(body, [row])]).key
        for row in ([0.3, 0, 0, 0, 0, 0], [0.4, 0, 0, 0, 0, 0], [0, 0.3, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0])
    ]
    assert keys[0] == keys[1] and len(set(keys)) == 3


def test_a_compliance_counts_for_soft_methods_only(robot):
    assert asked_of(robot, "constrained_dynamics", "pv", compliance=1e-3).compliance is None
    assert asked_of(robot, "constrained_dynamics", "pv_soft", compliance=1e-3).compliance == 1e-3


def test_what_the_table_cannot_answer_is_refused_by_name(robot):
    top, body = robot.tree.top, robot.body_names[0]
    with pytest.raises(UnknownName, match="no quantity named 'forward_dynamic'; did you mean 'forward_dynamics'"):
        ask(top, "forward_dynamic")
    with pytest.raises(MethodError, match="method 'caba' of forward_dynamics is not one of 'cluster_aba', 'proj"):
        ask(top, "forward_dynamics", "caba")
    with pytest.raises(MethodError, match="method 'magic' of delassus is not one of 'pv_osim'"):
        ask(top, "delassus", "magic")
    with pytest.raises(MethodError, match="mass_matrix takes no external forces"):
        ask(top, "mass_matrix", forces=True)
    with pytest.raises(MethodError, match=r"frame_pose needs frames=\[...\], names of 'arm'"):
        ask(top, "frame_pose")
    with pytest.raises(MethodError, match=r"mass_matrix takes no frames; received \['base'\]"):
        ask(top, "mass_matrix", None, ["base"])
    with pytest.raises(MethodError, match=r"frame_pose takes one frame; received \['base', 'tip'\]"):
        ask(top, "frame_pose", None, ["base", "tip"])
    with pytest.raises(MethodError, match="forward_dynamics takes no constraints; constrained_dynamics is"):
        ask(top, "forward_dynamics", None, (), [kl.Point("tip")])
    with pytest.raises(UnknownName, match="no frame named"):
        evaluate(robot.tree, ask(top, "frame_pose", None, ["nowhere"]), robot.neutral())
    with pytest.raises(kl.ModelError, match="not a motion constraint"):
        ask(top, "delassus", None, (), [body])


def test_sizes_of_inputs(robot):
    tree, weld = robot.tree, kl.Weld(robot.body_names[0])
    asked = ask(tree.top, "delassus_solve", None, (), [weld, weld])
    assert input_sizes(tree, asked) == {"q": robot.nq, "x": 12}
    assert [input_size(tree, name) for name in ("q", "v", "tau", "a", "f", "f_ext")] == [
        robot.nq, robot.nv, robot.nv, robot.nv, 6, 6 * len(robot.body_names)]  # fmt: skip
    held = kl.Point(robot.body_names[0], acceleration=(0, 0, 1))
    asked = ask(tree.top, "constrained_dynamics", None, (), [held], True)
    assert list(input_sizes(tree, asked)) == ["q", "v", "tau", "f_ext", "numbers"]
    assert input_sizes(tree, asked)["numbers"] == 3
