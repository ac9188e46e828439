"""Rollouts as tables: one line per batch row and time."""

from __future__ import annotations

import numpy as np
import pytest

pq = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed: nothing to read Parquet with")

from kinloop.errors import KinloopError  # noqa: E402
from kinloop.sim import Rollout, State  # noqa: E402
from kinloop.sim.parquet import read_parquet, write_parquet  # noqa: E402


def rollout(single=False, rows=2, times=3):
    """A rollout made by hand, with scalars, vectors, matrices, and vectors of no length."""
    rng = np.random.default_rng(0)
    shapes = {"energy": (), "q": (4,), "contact_force": (2, 3), "loop_error": (0,)}
    records = {name: rng.normal(size=(rows, times, *shape)) for name, shape in shapes.items()}
    if single:
        records = {name: x[0] for name, x in records.items()}
    state = State(rng.normal(size=(rows, 4)), rng.normal(size=(rows, 3)), np.ones(rows), 1 + np.arange(rows),
                  np.zeros((rows, 1)))  # fmt: skip
    flags = np.arange(rows)
    return Rollout(
        np.linspace(0.1, 0.3, times), records, state, flags + 1, flags + 0.5, flags, flags > 0, flags * 0.1,
        {"turning": flags * 0.3}, ("",) * rows, single,
    )  # fmt: skip


def written(made, path):
    write_parquet(path, made.arrays(), {"records": list(made.records), "single": made.single, "word": "said"})
    return path


@pytest.mark.parametrize("single", [False, True])
def test_arrays_come_back_as_they_were(tmp_path, single):
    made = rollout(single, rows=1 if single else 2)
    found, about = read_parquet(written(made, tmp_path / "r.parquet"))
    assert about["word"] == "said" and found.keys() == made.arrays().keys()
    for name, x in made.arrays().items():
        np.testing.assert_array_equal(found[name], x, err_msg=name, strict=True)


def test_columns_are_named_by_quantity_and_place(tmp_path):
    made = rollout()
    table = pq.read_table(written(made, tmp_path / "r.parquet"))
    assert table.num_rows == 6
    assert table.column("row").to_pylist() == [0, 0, 0, 1, 1, 1]
    assert table.column("t").to_pylist() == [*made.t, *made.t]
    np.testing.assert_array_equal(table.column("energy").to_numpy(), made.energy.ravel())
    np.testing.assert_array_equal(table.column("q[2]").to_numpy(), made.q[..., 2].ravel())
    np.testing.assert_array_equal(table.column("contact_force[1,2]").to_numpy(), made.contact_force[..., 1, 2].ravel())
    assert table.column("status").to_pylist() == [1, 1, 1, 2, 2, 2], "what is said once per row is on all its lines"
    assert table.column("peak_turning").to_pylist() == [0.0] * 3 + [0.3] * 3
    assert not any(name.startswith(("loop_error", "final_memory", "final_pace")) for name in table.column_names)


def test_an_empty_rollout_is_refused(tmp_path):
    with pytest.raises(KinloopError, match="nothing was recorded, so there is no table to write"):
        written(rollout(times=0), tmp_path / "r.parquet")
