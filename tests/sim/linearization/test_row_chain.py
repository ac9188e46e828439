"""Rows of contacts and joints met block after block: the answers of one big matrix, and what is determined where it has
none."""

import numpy as np
import pytest
from scipy.linalg import block_diag

from kinloop import scalar as sc
from kinloop.sim.linearization.row_chain import Blocks, RowChain


def system(seed, m, contacts, joints, *, opposite=False):
    """Blocks of three rows and of one, some open, some that mix their rows; and U, S, R, Z as whole matrices."""
    rng = np.random.default_rng(seed)
    groups = []
    for count, b in ((contacts, 3), (joints, 1)):
        Z = rng.normal(size=(count, m, b))
        R = np.swapaxes(Z, 1, 2) + (0.1 * rng.normal(size=(count, b, m)) if opposite else 0.0)
        kind = rng.integers(0, 3, size=count)[:, None, None]
        slid = np.eye(b) * (np.arange(b) == 0) + 0.2 * rng.normal(size=(count, b, b)) * (np.arange(b) > 0)[:, None]
        U = np.where(kind == 0, 0.0, np.where(kind == 1, np.eye(b), slid))
        rubbed = np.eye(b) * (np.arange(b) > 0) + 0.3 * np.eye(b, k=-1)
        S = np.where(kind == 0, np.eye(b), np.where(kind == 1, 0.0, rubbed))
        groups.append(Blocks(R, Z, U, S, np.ones((count, b))))
    R = np.concatenate([g.R.reshape(-1, m) for g in groups])
    Z = np.concatenate([block for g in groups for block in g.Z], axis=1)
    U, S = (block_diag(*(block for g in groups for block in getattr(g, name))) for name in ("U", "S"))
    return groups, U, S, R, Z


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("m", "contacts", "joints"), [(18, 3, 2), (30, 5, 0), (9, 0, 4), (12, 1, 1)])
def test_regular_systems_are_solved(seed, m, contacts, joints):
    groups, U, S, R, Z = system(seed, m, contacts, joints, opposite=seed % 2 > 0)
    K, chain = S + U @ R @ Z, RowChain(groups)
    r = np.random.default_rng(seed).normal(size=len(K))
    assert np.allclose(chain.solve(r).astype(float), np.linalg.solve(K, r), rtol=1e-9, atol=1e-11)
    gain, through = (x.astype(float) for x in chain.answers())
    expected = -Z @ np.linalg.solve(K, U)
    assert np.allclose(gain, expected, rtol=1e-9, atol=1e-11)
    assert np.allclose(through, np.eye(m) + expected @ R, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("seed", range(6))
def test_rows_that_follow_from_others_leave_what_is_determined_exact(seed):
    """Eight contacts in a space of six: any impulses that agree, and exactly the motion they lead to."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(8, 6, 3))
    groups = [Blocks(np.swapaxes(Z, 1, 2), Z, np.array([np.eye(3)] * 8), np.zeros((8, 3, 3)), np.ones((8, 3)))]
    whole = np.concatenate([*Z], axis=1)
    y = rng.normal(size=6)
    x = RowChain(groups).solve(whole.T @ y).astype(float)
    assert np.allclose(whole @ x, y, rtol=1e-11) and np.count_nonzero(x) == 6
    gain, through = (x.astype(float) for x in RowChain(groups).answers())
    assert np.abs(through).max() < 1e-11, "nothing can move"
    assert np.allclose(gain @ (whole.T @ y), -y, rtol=1e-11)


def test_what_is_written_does_not_grow_with_the_number_of_blocks():
    def size(count):
        def call(z, r):
            Z = z.reshape(count, 4, 3)
            kept = np.array([np.eye(3)] * count), np.zeros((count, 3, 3)), np.ones((count, 3))
            chain = RowChain([Blocks(Z.transpose(0, 2, 1), Z, *kept)])
            return {"x": chain.solve(r), "gain": chain.answers()[0]}

        made = sc.trace(call, {"z": 12 * count, "r": 3 * count})
        return sum(s.op not in ("input", "pick", "const") for s in made.nodes)

    assert size(3) == size(12)
