"""A sweep gives the same to the bit whoever computes it, in whatever order, interrupted or not."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest

import kinloop as kl
from kinloop.errors import MethodError
from kinloop.sweeps import SweepStopped
from tests.sweeps.sample_tasks import fails_at_five, halting, noisy

POINTS = {"x": list(range(20))}


def same(a, b):
    """Whether two results are the same to the bit."""
    mine, theirs = a.table(), b.table()
    return list(mine) == list(theirs) and all(
        x.dtype == y.dtype and x.tobytes() == y.tobytes() for x, y in zip(mine.values(), theirs.values(), strict=True)
    )


@pytest.fixture(scope="module")
def serial():
    return kl.sweep(noisy, POINTS, seed=3)


def test_results_come_in_the_order_of_the_points(serial):
    assert serial["square"].tolist() == [x * x for x in range(20)] and serial["x"].tolist() == list(range(20))
    assert serial[4]["square"] == 16 and serial[4]["word"] == "x4" and len(list(serial)) == len(serial) == 20
    assert serial["noise"].shape == (20, 3) and len(np.unique(serial["noise"])) == 60


@pytest.mark.parametrize("chunk", [1, 3, 20])
def test_results_do_not_depend_on_who_computes_them_and_in_which_parts(serial, chunk):
    assert same(serial, kl.sweep(noisy, POINTS, seed=3, chunk=chunk))
    with ThreadPoolExecutor(2) as executor:
        assert same(serial, kl.sweep(noisy, POINTS, executor, seed=3, chunk=chunk))
    assert not same(serial, kl.sweep(noisy, POINTS, seed=4))


def test_processes_give_what_a_serial_run_gives(serial):
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as executor:
        assert same(serial, kl.sweep(noisy, POINTS, executor, seed=3))


def test_a_point_computed_alone_is_that_of_the_whole(serial):
    alone = kl.sweep(noisy, [{"x": 0}, {"x": 1}], seed=3)
    np.testing.assert_array_equal(alone["noise"], serial["noise"][:2])


def test_tasks_take_parameters_as_they_like():
    assert list(kl.sweep(lambda p: p["a"] + p["b"], {"a": [1, 2], "b": [10, 20]})) == [11, 21, 12, 22]
    assert list(kl.sweep(lambda a, b=5: a + b, {"a": [1, 2]})) == [6, 7]
    assert list(kl.sweep(lambda **p: sum(p.values()), {"a": [1], "b": [2, 3]})) == [3, 4]
    assert list(kl.sweep(lambda x: x**2, range(4))) == [0, 1, 4, 9]
    assert list(kl.sweep(abs, [-1.0, 2.0])) == [1.0, 2.0]
    assert list(kl.sweep(lambda x: None, range(3))) == [None] * 3
    with pytest.raises(MethodError, match="the task takes a, b, the parameters are a, c; let it take them by name"):
        kl.sweep(lambda a, b: 0, {"a": [1], "c": [2]})


def test_a_table_is_written_and_read_to_the_bit(serial, tmp_path):
    path = tmp_path / "noisy.parquet"
    done = kl.sweep(noisy, POINTS, seed=3, path=path)
    assert same(serial, done) and same(done, kl.sweeps.load(path))
    with ThreadPoolExecutor(2) as executor:
        kl.sweep(noisy, POINTS, executor, seed=3, path=tmp_path / "other.parquet", chunk=3)
    assert path.read_bytes() == (tmp_path / "other.parquet").read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["noisy.parquet", "other.parquet"], "nothing else is left"


def test_a_failing_point_is_named_and_what_was_done_is_kept(tmp_path):
    path = tmp_path / "roots.parquet"
    with pytest.raises(SweepStopped, match=r"failed at point 5 \(x = 5\): ValueError: five is too much; 5 of 9 points"):
        kl.sweep(fails_at_five, {"x": list(range(9))}, path=path, chunk=2)
    assert len(list((tmp_path / "roots.parquet.parts").iterdir())) == 3
    with pytest.raises(MethodError, match="holds parts of another sweep: its task, points or seed differ"):
        kl.sweep(fails_at_five, {"x": list(range(8))}, path=path)


def test_a_sweep_goes_on_where_it_was(tmp_path):
    path, seen = tmp_path / "run.parquet", []

    def stop_after(done, total):
        seen.append(done)
        if done >= 9:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        kl.sweep(noisy, POINTS, seed=3, path=path, chunk=3, progress=stop_after)
    parts = sorted((tmp_path / "run.parquet.parts").iterdir())
    assert seen == [3, 6, 9] and len(parts) == 3
    parts[1].write_bytes(parts[1].read_bytes()[:100])  # a machine that went down while it wrote
    again = []
    done = kl.sweep(noisy, POINTS, seed=3, path=path, progress=lambda n, total: again.append(n))
    assert again[0] == 7 and again[-1] == 20, "six points were done and intact"
    assert same(done, kl.sweep(noisy, POINTS, seed=3)) and path.exists()
    assert same(done, kl.sweep(noisy, POINTS, seed=3, path=path)), "a sweep that is done is read"
    with pytest.raises(MethodError, match="holds another sweep"):
        kl.sweep(noisy, POINTS, seed=4, path=path)


def test_a_broken_pool_loses_no_point_that_was_done(tmp_path):
    path, points = tmp_path / "run.parquet", {"x": list(range(12)), "folder": [str(tmp_path)]}
    lost = pytest.raises(SweepStopped, match=r"workers were lost .* call again with a new executor")
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as executor, lost:
        kl.sweep(halting, points, executor, path=path, chunk=1)
    done = kl.sweep(halting, points, path=path, chunk=1)
    calls = (tmp_path / "calls").read_text().split()
    assert sorted(map(int, calls)) == list(range(12)), "every point was computed once"
    assert same(done, kl.sweep(halting, points))


def test_what_tasks_must_not_return_is_said():
    with pytest.raises(MethodError, match="at point 0 the task returned 'value' of type object"):
        kl.sweep(lambda x: object(), range(2))
    with pytest.raises(MethodError, match=r"returned value \(1,\) at point 1, and value at point 0; return the same"):
        kl.sweep(lambda x: np.zeros(x) if x else 0.0, range(2))
    with pytest.raises(MethodError, match="returns 'x', which is a parameter too"):
        kl.sweep(lambda x: {"x": 1.0}, range(2)).table()
    with pytest.raises(MethodError, match=r"give a name that ends in \.parquet"):
        kl.sweep(noisy, POINTS, path="noisy.csv")


def test_numbers_of_all_kinds_survive_a_table(tmp_path):
    odd = [np.nan, np.inf, -0.0, 5e-324, 1 / 3]
    done = kl.sweep(
        lambda k: {"f": odd[k], "i": 2**62 + k, "b": k > 2, "s": "a,b\n" * k},
        {"k": range(5)},
        path=tmp_path / "a.parquet",
    )
    assert same(done, kl.sweeps.load(tmp_path / "a.parquet")) and done["i"].tolist() == [2**62 + k for k in range(5)]


def test_tasks_are_told_apart_by_the_values_they_hold(tmp_path):
    def times(factor):
        return lambda x: factor * x

    kl.sweep(times(2.0), {"x": [1.0]}, path=tmp_path / "a.parquet")
    assert list(kl.sweep(times(2.0), {"x": [1.0]}, path=tmp_path / "a.parquet")) == [2.0]
    with pytest.raises(MethodError, match="holds another sweep"):
        kl.sweep(times(3.0), {"x": [1.0]}, path=tmp_path / "a.parquet")
