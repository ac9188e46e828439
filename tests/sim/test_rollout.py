"""Rollouts: what was recorded, by name; saved ones come back as they were, from either format."""

import sys

import numpy as np
import pytest

import kinloop as kl
from kinloop.errors import KinloopError
from kinloop.sim import ContactPoint, Plane, Simulator
from kinloop.sim.rollout_files import checked_path
from tests.sim.mechanisms import started

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


def same(loaded, r):
    """Both are the same, to the bit and to the word."""
    data = loaded.arrays()
    assert data.keys() == r.arrays().keys()
    for name, x in r.arrays().items():
        assert data[name].dtype == x.dtype, name
        np.testing.assert_array_equal(data[name], x, err_msg=name, strict=True)
    words = ("reasons", "single", "info")
    assert all(getattr(loaded, name) == getattr(r, name) for name in words) and loaded.final.made_by == r.final.made_by
    assert loaded.records.keys() == r.records.keys() and loaded.peaks.keys() == r.peaks.keys()


@pytest.mark.parametrize("ending", ["npz", "parquet"])
@pytest.mark.parametrize("make", [four_bars, ball])
def test_what_is_saved_is_loaded(tmp_path, make, ending):
    if ending == "parquet":
        pytest.importorskip("pyarrow", reason="pyarrow is not installed: nothing to write Parquet with")
    r = make()
    same(kl.sim.load(r.save(tmp_path / "deep" / f"run.{ending}")), r)


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
    with pytest.raises(KinloopError, match=r"'other.parquet' is not a Parquet file, or is damaged"):
        kl.sim.load(path)
    robot = kl.robots.load("four_bar")
    r = Simulator(robot, 1e-3).rollout(steps=2, every=5)
    with pytest.raises(KinloopError, match="nothing was recorded"):
        r.save(path)


def test_records_are_attributes_and_items():
    r = four_bars()
    assert r.q is r["q"] is r.records["q"]
    with pytest.raises(AttributeError, match=r"'gap' was not recorded; ask for it with record=\['gap', ...\]"):
        _ = r.gap
    with pytest.raises(KinloopError, match=r"'gap' was not recorded; record=\['gap'\] asks for it \(recorded: q, v"):
        r["gap"]
    with pytest.raises(AttributeError):
        _ = r.__deepcopy__


def test_one_state_leaves_out_the_axis_of_batch_rows():
    robot = kl.robots.load("four_bar")
    sim = Simulator(robot, 1e-3)
    one, many = sim.rollout(None, [0.5], steps=4), sim.rollout(None, [[0.5]], steps=4)
    assert one.single and one.q.shape == (4, 3) and not many.single and many.q.shape == (1, 4, 3)
    assert len(one.status) == len(many.status) == 1 and np.array_equal(one.q, many.q[0])


def test_all_arrays_have_names():
    r = four_bars()
    flags = {"status", "stopped", "substeps", "singular", "nearest"}
    final = {"final_q", "final_qd", "final_t", "final_memory", "final_pace"}
    assert set(r.arrays()) == {"t", *RECORD, *final, *flags, "peak_turning"}
    assert not np.any(r.diverged) and np.all(np.isinf(r.stopped))


def test_paths_are_checked_before_anything_is_simulated(tmp_path):
    assert checked_path(str(tmp_path / "a.npz")) == tmp_path / "a.npz"
    with pytest.raises(KinloopError, match="cannot save to 'a'; give a name that ends in"):
        checked_path(tmp_path / "a")


def test_records_can_be_saved_and_read(tmp_path):
    robot, q, v = started("crank_joint")
    r = Simulator(robot, 1e-3).rollout(q, v, steps=20, record=RECORD, every=5)
    assert r.q.shape == (4, 3) and np.allclose(r.t, [5e-3, 1e-2, 1.5e-2, 2e-2])
    data = kl.sim.load(r.save(tmp_path / "run.npz"))
    assert np.array_equal(data.q, r.q) and data.status.tolist() == [1]
    with pytest.raises(KinloopError, match="npz"):
        r.save(tmp_path / "run.csv")
