"""Derivatives of any quantity: forward, reverse and of second order beside each other and differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kinloop as kl
from kinloop.algorithms.differentiated import traced
from kinloop.algorithms.quantities import QUANTITIES
from kinloop.algorithms.requests import ask
from kinloop.clusters.framing import framed
from kinloop.errors import MethodError, ShapeError
from kinloop.kernels import Interpreted, Kernels
from kinloop.model.parameters import parameter_value
from kinloop.model.random import KINDS
from tests.compiler.export.test_c99 import build, needs_cc
from tests.helpers import OFTEN, comfortable, differences, relative

Arrays = dict[str, np.ndarray]

MODES = ("jvp", "vjp", "hvp")


class Derivative:
    """A derivative on numbers, with inputs and outputs by name."""

    def __init__(self, robot: kl.Robot, mode: str, quantity: str, method: str | None = None, **options: Any) -> None:
        asked = ask(robot.tree.top, quantity, method, derivative=mode, **options)
        self.call: Interpreted = Kernels(robot.tree, "numpy").interpret(asked)

    def __call__(self, x: Arrays) -> Arrays:
        found = self.call(*(x[name] for name in self.call.inputs))
        return dict(zip(self.call.outputs, found, strict=True))

    def draw(self, rng: np.random.Generator) -> Arrays:
        """Random directions and weights."""
        return {
            name: rng.normal(size=n) for name, (n,) in self.call.inputs.items() if name[:4] == "bar_" or name[:1] == "d"
        }


def moved(robot: kl.Robot, x: Arrays, t: float) -> Arrays:
    """Inputs after the time t along their directions, loops closed."""
    out = {name: y + t * x[f"d{name}"] for name, y in x.items() if f"d{name}" in x and name != "q"}
    return x | out | {"q": robot.integrate(x["q"], x["dq"], t)}


def slopes(robot: kl.Robot, derivative: Derivative, x: Arrays, names: list[str], h: float) -> np.ndarray:
    """Changes of outputs along the directions of x, by differences."""
    return differences(lambda t: flat(derivative(moved(robot, x, t)), names), h)


def flat(y: Arrays, names: list[str]) -> np.ndarray:
    return np.concatenate([np.ravel(y[name]) for name in names])


def products(x: Arrays, y: Arrays, a: str, b: str) -> tuple[float, float]:
    """sum of x[a...] y[b...] over names that both have, and how large a part of it is."""
    parts = [
        np.ravel(x[name]) * np.ravel(y[b + name[len(a) :]])
        for name in x
        if name.startswith(a) and b + name[len(a) :] in y
    ]
    terms = np.concatenate(parts)
    return float(np.sum(terms)), float(np.sum(np.abs(terms)))


def check_laws(robot: kl.Robot, x: Arrays, derivatives: dict[str, Derivative], cond: float, what: str) -> None:
    """Forward mode is the slope, reverse mode its transpose, second order the slope of reverse mode."""
    own = list(derivatives["jvp"](x))
    primal, along = own[: len(own) // 2], own[len(own) // 2 :]
    forward, reverse, second = (derivatives[mode](x) for mode in ("jvp", "vjp", "hvp"))
    for name in primal:
        assert relative(forward[name], reverse[name]) <= 1e-13 * cond
    outputs = {f"d{name}": forward[f"d{name}"] for name in primal}
    gained, size = products({f"bar_{name}": x[f"bar_{name}"] for name in primal}, outputs, "bar_", "d")
    paid, other = products(reverse, x, "bar_", "d")
    assert abs(gained - paid) <= 1e-12 * max(size, other) * max(1.0, 1e-3 * cond), what
    fastest = float(np.max(np.abs(robot.tree.spanning_jacobian(x["q"]) @ x["dq"]), initial=1.0))
    h = 1e-3 / fastest
    slope = slopes(robot, derivatives["jvp"], x, primal, h)
    assert relative(flat(forward, along), slope) <= 1e-9 * max(1.0, 1e-1 * cond), what
    gradient = [name for name in reverse if name.startswith("bar_")]
    slope = slopes(robot, derivatives["vjp"], x, gradient, h)
    found = flat(second, [f"d{name}" for name in gradient])
    assert relative(found, slope, float(np.max(np.abs(flat(second, gradient))))) <= 1e-9 * max(1.0, 1e-1 * cond), what


EVERY = [pytest.param("forward_dynamics", k, marks=() if k in OFTEN else pytest.mark.slow) for k in KINDS]
EVERY += [pytest.param("inverse_dynamics", kind, marks=pytest.mark.slow) for kind in KINDS]


@pytest.mark.parametrize(("quantity", "kind"), EVERY)
def test_derivatives_of_dynamics_on_every_kind_of_cluster(quantity, kind):
    s = comfortable(kind, 80)
    robot = kl.Robot.from_tree(s.tree, "numpy", "off")
    derivatives = {mode: Derivative(robot, mode, quantity, forces=True) for mode in ("jvp", "vjp", "hvp")}
    x = derivatives["hvp"].draw(np.random.default_rng(5))
    x |= {"q": s.q, "v": s.v, "tau": s.tau, "a": s.a, "f_ext": s.f_ext.ravel()}
    check_laws(robot, x, derivatives, s.cond, s.name)


@pytest.fixture(scope="module")
def machine() -> kl.Robot:
    """A ball that carries a four-bar linkage, with a ball on its coupler."""
    b = kl.Builder("machine")
    solid = {"mass": 1.0, "com": (0.05, 0.02, -0.1), "inertia": (0.02, 0.03, 0.025)}
    b.body("base", joint="spherical", **solid)
    b.body("crank", "base", axis="y", **solid)
    b.body("coupler", "crank", axis="y", at=(0.4, 0, 0), **solid)
    b.body("rocker", "base", axis="y", at=(1.2, 0, 0), **solid)
    b.loop("pin", "coupler", "rocker", axis="y", at=(1.0, 0, 0), at_successor=(0.8, 0, 0))
    b.body("ball", "coupler", joint="spherical", at=(0.3, 0, 0.1), **solid)
    return b.build(backend="numpy")


def options(quantity: str) -> dict[str, Any]:
    """Frames, constraints and wrenches, as far as a quantity takes them. Of the point's rows one is redundant."""
    entry = QUANTITIES[quantity]
    found: dict[str, Any] = {"frames": ["ball"]} if entry.frames else {}
    if entry.constraints:
        point, row = kl.Point("coupler", acceleration=(0.1, 0.2, 0.3)), kl.Rows("ball", [[0, 0, 1, 0.2, 0, 0]])
        found["constraints"] = [row] if quantity == "delassus_solve" else [point, row]
    return found | ({"forces": True} if entry.forces else {})


METHODS = [(quantity, next(iter(entry.methods))) for quantity, entry in QUANTITIES.items()]
METHODS += [("constrained_dynamics", method) for method in ("pv_early", "pv_soft", "least_squares")]


@pytest.mark.parametrize(("quantity", "method"), METHODS)
@pytest.mark.sample(16)
def test_every_quantity_has_derivatives_where_angles_are_zero_too(machine, quantity, method):
    derivatives = {mode: Derivative(machine, mode, quantity, method, **options(quantity)) for mode in MODES}
    rng = np.random.default_rng(7)
    inputs = derivatives["hvp"].call.inputs
    x = {name: rng.normal(size=n) for name, (n,) in inputs.items()}
    x["q"] = machine.random_state(3)[0]
    check_laws(machine, x, derivatives, 1e2, quantity)
    still = x | {"q": machine.neutral()} | {name: np.zeros(n) for name, (n,) in inputs.items() if name in ("v", "dq")}
    for derivative in derivatives.values():
        for name, found in derivative(still).items():
            assert np.all(np.isfinite(found)), name


@pytest.mark.parametrize("name", kl.robots.names())
@pytest.mark.sample(12)
def test_a_gradient_of_forward_dynamics_takes_at_most_five_times_its_operations(name):
    robot = kl.robots.load(name)
    primal, reverse = (
        traced(robot.tree, ask(robot.tree.top, "forward_dynamics", derivative=mode)) for mode in (None, "vjp")
    )
    assert reverse.operations["total"] <= 3.1 * primal.operations["total"] <= 5 * primal.operations["total"]
    none, ones = np.zeros(robot.nv), np.ones(robot.nv)
    for found in reverse(robot.neutral(), none, none, ones):
        assert np.all(np.isfinite(found))


@pytest.mark.parametrize("mode", MODES)
def test_derivatives_take_no_more_operations_than_measured(mode):
    tree = kl.robots.load("mini_cheetah").tree
    asked = ask(tree.top, "forward_dynamics", derivative=mode)
    allowed = {"jvp": 10921, "vjp": 10765, "hvp": 29680}
    assert traced(tree, asked).operations["total"] <= allowed[mode]


def test_velocities_of_a_tangent_frame_have_gradients_too():
    robot = kl.robots.load("planar_leg_linkage")
    tree, (q, _) = framed(robot.tree), robot.random_state(3)
    v, tau, bar_a, *d = np.random.default_rng(3).normal(size=(6, tree.nv))
    own = kl.Robot.from_tree(tree, "numpy", "off")
    _, *gradient = own.compute("forward_dynamics", q, v, tau, bar_a, derivative="vjp")
    for found, block in zip(gradient, own.forward_dynamics_derivatives(q, v, tau), strict=True):
        assert relative(found, bar_a @ block) <= 1e-12
    _, da = own.compute("forward_dynamics", q, v, tau, *d, derivative="jvp")
    assert relative(bar_a @ da, sum(x @ y for x, y in zip(gradient, d, strict=True))) <= 1e-12


def test_a_gradient_with_respect_to_open_parameters_is_the_slope_along_them():
    robot = kl.robots.load("four_bar")
    body, names = robot.body_names[-1], ["mass", "com", "inertia"]
    parameters = [f"{body}.{name}" for name in names]
    kernel = robot.compile("forward_dynamics", parameters=parameters, derivative="vjp")
    assert list(kernel.inputs) == ["q", "v", "tau", *parameters, "bar_a"]
    assert list(kernel.outputs) == ["a", "bar_q", "bar_v", "bar_tau", *(f"bar_{name}" for name in parameters)]
    (q, v), tau, rng = robot.random_state(2), np.ones(1), np.random.default_rng(2)
    x = [parameter_value(robot.tree.top, name) for name in parameters]
    a, *gradient = kernel(q, v, tau, *x, np.ones(1))
    assert relative(a, robot.forward_dynamics(q, v, tau)) <= 1e-13
    d = [rng.normal(size=y.size) * np.max(np.abs(y)) for y in x]
    slope = differences(
        lambda t: kernel(q, v, tau, *(y + t * e for y, e in zip(x, d, strict=True)), np.ones(1))[0], 1e-3
    )
    assert relative(slope, [sum(g @ e for g, e in zip(gradient[3:], d, strict=True))]) <= 1e-9


def test_inputs_and_outputs_of_derivatives_by_name(machine):
    tree, nv, bodies = machine.tree, machine.nv, len(machine.body_names)
    asked = ask(tree.top, "forward_dynamics", forces=True, derivative="hvp")
    function = traced(tree, asked)
    own = {"q": machine.nq, "v": nv, "tau": nv, "f_ext": 6 * bodies}
    assert function.inputs == own | {"bar_a": nv, "dq": nv, "dv": nv, "dtau": nv, "df_ext": 6 * bodies}
    assert list(function.inputs)[4:] == ["bar_a", "dq", "dv", "dtau", "df_ext"]
    shapes = {name: x.shape for name, x in function.outputs.items()}
    gradient = {"bar_q": (nv,), "bar_v": (nv,), "bar_tau": (nv,), "bar_f_ext": (bodies, 6)}
    assert shapes == {"a": (nv,)} | gradient | {f"d{name}": shape for name, shape in gradient.items()}


def test_kernels_of_derivatives_compute_what_numbers_do_and_batches_are_their_rows():
    robot = kl.robots.load("planar_leg_linkage")
    plain = kl.Robot(robot.mechanism, "numpy")
    states = [robot.random_state(k) for k in range(5)]
    q, v = (np.array(x) for x in zip(*states, strict=True))
    rest = np.random.default_rng(1).normal(size=(5, 5, robot.nv))
    found = robot.compute("forward_dynamics", q, v, *rest, derivative="hvp")
    kernel = robot.compile("forward_dynamics", derivative="hvp")
    for k in range(5):
        one = kernel(q[k], v[k], *rest[:, k])
        expected = plain.compute("forward_dynamics", q[k], v[k], *rest[:, k], derivative="hvp")
        for rows, row, other in zip(found, one, expected, strict=True):
            assert np.array_equal(rows[k], row)
            assert relative(row, other) <= 1e-11


def test_weights_have_the_shape_of_their_outputs(machine):
    q, nv = machine.random_state(1)[0], machine.nv
    bar = np.random.default_rng(1).normal(size=(nv, nv))
    M, gradient = machine.compute("mass_matrix", np.stack([q, q]), bar, derivative="vjp")
    assert M.shape == (2, nv, nv) and gradient.shape == (2, nv)
    _, dM = machine.compute("mass_matrix", q, np.eye(nv), derivative="jvp")
    assert relative(gradient[0], np.einsum("ij,kij->k", bar, dM)) <= 1e-12
    energy, slope = machine.compute("potential_energy", q, 2.0, derivative="vjp")
    assert relative(slope, 2.0 * machine.bias_force(q, np.zeros(nv))) <= 1e-12 and energy.shape == ()
    with pytest.raises(ShapeError, match=rf"bar_M must have shape \(\.\.\., {nv}, {nv}\), received \({nv},\)"):
        machine.compute("mass_matrix", q, bar[0], derivative="vjp")


def test_wrenches_have_directions_and_gradients(machine):
    (q, v), rng, bodies = machine.random_state(1), np.random.default_rng(1), len(machine.body_names)
    f, df = rng.normal(size=(2, bodies, 6))
    tau, bar_a, none = rng.normal(size=machine.nv), rng.normal(size=machine.nv), np.zeros(machine.nv)
    *_, bar_f = machine.compute("forward_dynamics", q, v, tau, bar_a, derivative="vjp", f_ext=f)
    _, da = machine.compute("forward_dynamics", q, v, tau, none, none, none, df, derivative="jvp", f_ext=f)
    assert bar_f.shape == (bodies, 6) and relative(np.sum(bar_f * df), bar_a @ da) <= 1e-12


def test_what_has_no_derivative_is_refused_by_name(machine):
    q, v = machine.random_state(1)
    with pytest.raises(MethodError, match="derivative 'grad' is not one of 'jvp', 'vjp', 'hvp'"):
        machine.compile("forward_dynamics", derivative="grad")
    for call in (
        machine.compile,
        lambda quantity, method, derivative: machine.compute(
            quantity, q, v, v, v, method=method, derivative=derivative
        ),
    ):
        with pytest.raises(
            MethodError, match="'dense_kkt' of forward_dynamics works on numbers only and has no kernel"
        ):
            call("forward_dynamics", "dense_kkt", derivative="vjp")
    with pytest.raises(
        MethodError, match="the jvp of forward_dynamics takes q, v, tau, dq, dv, dtau; received 4 arrays"
    ):
        machine.compute("forward_dynamics", q, v, v, v, derivative="jvp")
    with pytest.raises(ShapeError, match=rf"bar_a must have shape \({machine.nv},\)"):
        machine.compute("forward_dynamics", q, v, v, q, derivative="vjp")
    with pytest.raises(kl.KinloopError, match="norm"):
        machine.compute("forward_dynamics", 2 * q, v, v, v, derivative="vjp")


@needs_cc
def test_derivatives_are_exported_as_other_kernels_are(tmp_path):
    robot = kl.robots.load("four_bar")
    (q, v), tau, bar_a = robot.random_state(1), np.ones(1), np.full(1, 0.7)
    kernel = robot.compile("forward_dynamics", derivative="vjp")
    expected = np.concatenate(kernel(q, v, tau, bar_a))
    assert relative(build(kernel, tmp_path)(q, v, tau, bar_a), expected) <= 1e-13
    pytest.importorskip("casadi")
    found = kernel.to_casadi()(q, v, tau, bar_a)
    assert relative(np.concatenate([np.array(x).ravel() for x in found]), expected) <= 1e-13
