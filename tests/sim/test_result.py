"""Saved rollouts come back as they were, from either format."""

import sys

import numpy as np
import pytest

import kinloop as kl
from kinloop.errors import KinloopError
from kinloop.sim import ContactPoint, Plane, Simulator

RECORD = ["q", "v", "energy", "loop_error"]


def four_bars():
    """Three rows of a closed linkage: scalars and vectors."""
    robot = kl.robots.load("four_bar")
    v = np.array([[0.5], [1.0], [-2.0]])
    return Simulator(robot, 1e-3).rollout(robot.neutral(), v, steps=20, record=RECORD, every=5)


def ball():
    """One row with matrices (contact forces), and with loop errors of no loop at all."""
    b = kl.Builder("ball")
    b.body("ball", joint="free", mass=1.0, inertia=(0.01, 0.01, 0.01))
    robot = b.build()
    q = robot.neutral()
    q[2] = 0.1
    sim = Simulator(robot, 1e-3, ground=Plane(), contacts=[ContactPoint("ball", (x, 0, 0), 0.1) for x in (-0.1, 0.1)])
    return sim.rollout(q, None, steps=6, record=[*RECORD, "contact_force", "gap", "residual"], every=2)


@pytest.mark.parametrize("ending", ["npz", "parquet"])
@pytest.mark.parametrize("make", [four_bars, ball])
def test_what_is_saved_is_loaded(tmp_path, make, ending):
    if ending == "parquet":
        pytest.importorskip("pyarrow", reason="pyarrow is not installed: nothing to write Parquet with")
    r = make()
    data = kl.sim.load(r.save(tmp_path / "deep" / f"run.{ending}"))
    assert data.keys() == r.arrays().keys()
    for name, x in r.arrays().items():
        assert data[name].dtype == x.dtype, name
        np.testing.assert_array_equal(data[name], x, err_msg=name, strict=True)


def test_parquet_is_a_table_anyone_can_read(tmp_path):
    pq = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed: nothing to read Parquet with")
    r = four_bars()
    table = pq.read_table(r.save(tmp_path / "run.parquet"))
    assert table.num_rows == 3 * 4
    assert table.column_names[:6] == ["row", "t", "q[0]", "q[1]", "q[2]", "v[0]"]
    assert table.column("row").to_pylist() == [0] * 4 + [1] * 4 + [2] * 4
    np.testing.assert_array_equal(table.column("q[1]").to_numpy().reshape(3, 4), r.q[:, :, 1])
    assert table.column("status").to_pylist() == [1] * 12
    forces = pq.read_table(ball().save(tmp_path / "ball.parquet"))
    np.testing.assert_array_equal(forces.column("contact_force[1,2]").to_numpy(), ball().contact_force[:, 1, 2])


def test_what_cannot_be_saved_or_loaded_is_told(tmp_path, monkeypatch):
    r = four_bars()
    with pytest.raises(KinloopError, match=r"cannot save to 'run.csv'; give a name that ends in .npz or .parquet"):
        r.save(tmp_path / "run.csv")
    with pytest.raises(KinloopError, match=r"cannot load 'run.csv'"):
        kl.sim.load(tmp_path / "run.csv")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(KinloopError, match=r"need pyarrow; pip install 'kinloop\[parquet\]', or use .npz"):
        r.save(tmp_path / "run.parquet")
    assert not (tmp_path / "run.parquet").exists()


def test_tables_of_others_are_refused(tmp_path):
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed: nothing to write Parquet with")
    import pyarrow.parquet as pq

    path = tmp_path / "other.parquet"
    pq.write_table(pa.table({"x": [1.0]}), path)
    with pytest.raises(KinloopError, match=r"'other.parquet' was not written by Rollout.save"):
        kl.sim.load(path)
    path.write_bytes(b"no table")
    with pytest.raises(KinloopError, match=r"'other.parquet' is not a Parquet file"):
        kl.sim.load(path)
    robot = kl.robots.load("four_bar")
    r = Simulator(robot, 1e-3).rollout(steps=2, every=5)
    with pytest.raises(KinloopError, match="nothing was recorded"):
        r.save(path)
