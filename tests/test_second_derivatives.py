"""Second derivatives of dynamics, beside differences of the first ones along closed motions."""

from __future__ import annotations

import numpy as np
import pytest

import kinloop as kl
from tests.helpers import EVERY_KIND, State, comfortable, differences, relative


def slopes(robot: kl.Robot, s: State, name: str, x: np.ndarray) -> list[np.ndarray]:
    """qq, qv, vv and qx of `SecondDerivatives` by differences of order 4."""
    units = np.eye(robot.nv)
    fastest = np.max(np.abs(robot.tree.spanning_jacobian(s.q)), axis=0, initial=1.0)

    def first(which: int, q: np.ndarray, v: np.ndarray, last: np.ndarray) -> np.ndarray:
        found: np.ndarray = getattr(robot, f"{name}_derivatives")(q, v, last, s.f_ext)[which]
        return found

    def along(k: int) -> list[np.ndarray]:
        e = units[k]
        return [
            differences(lambda t: first(0, robot.integrate(s.q, e, t), s.v, x), 1e-3 / fastest[k]),
            differences(lambda t: first(0, s.q, s.v + t * e, x), 1.0),
            differences(lambda t: first(1, s.q, s.v + t * e, x), 1.0),
            differences(lambda t: first(0, s.q, s.v, x + t * e), 1.0),
        ]

    return [np.stack(parts, axis=-1) for parts in zip(*map(along, range(robot.nv)), strict=True)]


@pytest.mark.parametrize("kind", EVERY_KIND)
@pytest.mark.parametrize("name", ["inverse_dynamics", "forward_dynamics"])
@pytest.mark.sample(4)
def test_second_derivatives_are_slopes_of_the_first_along_closed_motions(name, kind):
    s = comfortable(kind, 100)
    robot = kl.Robot.from_tree(s.tree, "numpy", "off")
    x = s.a if name == "inverse_dynamics" else s.tau
    found = getattr(robot, f"{name}_second_derivatives")(s.q, s.v, x, s.f_ext)
    expected = slopes(robot, s, name, x)
    for block, slope in zip(found, expected, strict=True):
        assert relative(block, slope, max(map(np.max, map(np.abs, expected)))) <= 1e-9 * max(1.0, 0.1 * s.cond), s.name


def test_they_are_derivatives_of_the_gradient_and_symmetric_where_motions_commute():
    b = kl.Builder("four-bar in flight")
    solid = {"mass": 1.0, "com": (0.05, 0.02, -0.1), "inertia": (0.02, 0.03, 0.025)}
    b.body("base", joint="free", **solid)
    b.body("crank", "base", axis="y", **solid)
    b.body("coupler", "crank", axis="y", at=(0.4, 0, 0), **solid)
    b.body("rocker", "base", axis="y", at=(1.2, 0, 0), **solid)
    b.loop("pin", "coupler", "rocker", axis="y", at=(1.0, 0, 0), at_successor=(0.8, 0, 0))
    b.body("arm", "coupler", axis="x", **solid)
    robot = b.build(backend="numpy")
    (q, v), rng = robot.random_state(1), np.random.default_rng(1)
    tau, bar_a, dq, dv, dtau = rng.normal(size=(5, robot.nv))
    second = robot.forward_dynamics_second_derivatives(q, v, tau)
    qq, qv, vv, qx = (np.einsum("i,ijk->jk", bar_a, block) for block in second)
    *_, along_q, along_v, along_tau = robot.compute(
        "forward_dynamics", q, v, tau, bar_a, dq, dv, dtau, derivative="hvp"
    )
    assert relative(along_q, qq @ dq + qv @ dv + qx @ dtau) <= 1e-11
    assert relative(along_v, qv.T @ dq + vv @ dv) <= 1e-11
    assert relative(along_tau, qx.T @ dq) <= 1e-11
    joints = slice(6, None)
    assert relative(qq[joints, joints], qq[joints, joints].T) <= 1e-12
    assert relative(vv, vv.T) <= 1e-12
    # turns of the base about x and y differ by one about z, whichever comes first: [X, Y] = Z
    slope = bar_a @ robot.forward_dynamics_derivatives(q, v, tau)[0]
    assert relative(qq[1, 0] - qq[0, 1], slope[2]) <= 1e-9


def test_rows_of_a_batch_are_its_states():
    robot = kl.robots.load("four_bar")
    q, v = (np.array(x) for x in zip(*(robot.random_state(k) for k in range(3)), strict=True))
    a = np.ones(1)
    for call in (robot.inverse_dynamics_second_derivatives, robot.forward_dynamics_second_derivatives):
        rows = call(q, v, a)
        for k in range(3):
            for batch, one in zip(rows, call(q[k], v[k], a), strict=True):
                assert batch.shape == (3, 1, 1, 1) and relative(batch[k], one) <= 1e-13
    with pytest.raises(kl.KinloopError, match=r"a must have shape \(1,\)"):
        robot.inverse_dynamics_second_derivatives(q, v, q)
    with pytest.raises(kl.LoopNotClosed):
        robot.inverse_dynamics_second_derivatives(q + 0.1, v, a)
