"""What contacts and joints do, told from their impulses; ties."""

import numpy as np
import pytest

from kinloop.sim import ContactMode, JointMode
from kinloop.sim.contact.joint_stops import JointPath
from kinloop.sim.contact.row_steps import ContactRow, JointRow
from kinloop.sim.linearization.active_set import Chosen, Equations, contact_choice, joint_mode

ROW = ContactRow(np.eye(3), [0, 1, 2], np.array([-1.0, 0.3, 0.4]), 0.0, 0.5, True)


@pytest.mark.parametrize(
    ("impulse", "mode"),
    [
        ((0.0, 0.0, 0.0), ContactMode.OPEN),  # it may touch, and carries nothing
        ((1.0, 0.0, 0.0), ContactMode.STICKING),
        ((1.0, 0.3, 0.4), ContactMode.SLIDING),  # at the edge of its cone
        ((1.0, 0.29, 0.4), ContactMode.STICKING),
    ],
)
def test_contacts(impulse, mode):
    assert contact_choice(ROW, np.array(impulse)).code == mode


@pytest.mark.parametrize(
    ("path", "impulse", "rubs", "mode"),
    [
        (JointPath(0.0, -1.0, 1.0, 0.0, {}), 0.0, False, JointMode.FREE),
        (JointPath(0.0, -1.0, 1.0, 0.0, {}), 0.1, False, JointMode.AT_LOWER),
        (JointPath(0.0, -1.0, 1.0, 0.0, {}), -0.1, False, JointMode.AT_UPPER),
        (JointPath(0.0, -1.0, 1.0, 0.2, {}), 0.1, True, JointMode.HELD),
        (JointPath(0.0, -1.0, 1.0, 0.2, {}), 0.2, True, JointMode.FREE),  # all of the friction is used
        (JointPath(0.0, -1.0, 1.0, 0.2, {}), -0.3, True, JointMode.AT_UPPER),
        (JointPath(0.0, 0.1, 1.0, 0.2, {}), 0.1, True, JointMode.AT_LOWER),  # it comes back from beyond its stop
        (JointPath(0.0, -1.0, -0.1, 0.2, {}), 0.1, True, JointMode.AT_UPPER),
    ],
)
def test_joints(path, impulse, rubs, mode):
    assert joint_mode(path, impulse, rubs) == mode


@pytest.mark.parametrize("chosen", [Chosen(False, False), Chosen(True, False), Chosen(True, True)])
def test_slopes_are_those_of_the_equations(chosen):
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(3, 5))
    equations = Equations([ROW], [], Z, Z.T, [chosen], [])
    x, e = np.array([0.5, 0.1, -0.2]), 1e-6
    K = equations.slopes(x)
    for d in np.eye(3):
        change = (equations.missed(x + e * d) - equations.missed(x - e * d)) / (2.0 * e)
        assert np.allclose(K.solve(change).astype(float), d, rtol=1e-7, atol=1e-7)


def test_what_is_soft_in_a_joint_counts():
    line, u, soft = np.array([1.0, 0.5]), 0.7, 0.3
    joint = JointRow(line, [0, 1], u, 0.0, 1.0, 0.0, False)
    equations = Equations([], [joint], line[None], line[:, None], [], [JointMode.AT_LOWER], {0: soft})
    (found,) = equations.solved(np.zeros(1)).astype(float)
    assert np.isclose(found, -u / (line @ line + soft), rtol=1e-14)
    assert abs(equations.missed(np.array([found]))[0]) < 1e-15


def test_rows_that_nothing_moves_have_equations_of_a_size():
    """A contact that no coordinate moves, and a joint that is locked: their impulses stay where they are."""
    Z = np.zeros((4, 2))
    Z[1] = 1.0, 0.5  # the contact slips along one tangent, and moves along nothing else
    row = ContactRow(Z[:3], [0, 1], np.zeros(3), 0.0, 0.5)
    joint = JointRow(Z[3], [0, 1], 0.0, -1.0, 1.0, 0.0, False)
    equations = Equations([row], [joint], Z, Z.T, [contact_choice(row, np.array([0.1, 0.0, 0.0]))], [JointMode.FREE])
    found = equations.solved(np.zeros(4))
    assert np.abs(found).max() == 0.0
    none = np.zeros((4, 2))
    still = Equations([row], [joint], none, none.T, equations.chosen, equations.modes)
    for fixed in (equations, still):
        assert np.isfinite(fixed.solved(np.full(4, 0.1)).astype(float)).all()
        assert all(np.isfinite(x.astype(float)).all() for x in fixed.slopes(found).answers())
