"""Tables read by an index, the nearest of many keys, and loops over rows: on numbers, on symbols, written out."""

from __future__ import annotations

import numpy as np
import pytest

import kinloop.scalar as sc
from tests.compiler.row_graphs import random_rows, row_graph


def test_an_index_is_kept_within_the_table():
    table = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    for index, row in ((-2.0, 0), (0.0, 0), (1.0, 1), (2.0, 2), (7.0, 2), (np.nan, 0)):
        np.testing.assert_array_equal(sc.take(table, index), table[row])
        np.testing.assert_array_equal(sc.trace(lambda x: sc.take(table, x[0]), {"x": 1})([index]), table[row])


def test_a_table_of_equal_entries_is_its_entry():
    function = sc.trace(lambda x: np.array([sc.take(np.array([2.0, 2.0]), x[0]), sc.take(x[[1, 1]], x[0])]), {"x": 2})
    assert function.operations["total"] == 0


def test_nearest_keys_in_order_and_of_too_many_the_least():
    ids, count = sc.nearest([1.0, -1.0, 0.0, -3.0, np.nan], 3)
    assert ids.tolist() == [1.0, 3.0, 0.0] and count == 2.0
    ids, count = sc.nearest([-1.0, -4.0, -2.0, -3.0, -0.5], 2)
    assert sorted(ids.tolist()) == [1.0, 3.0] and count == 5.0


def test_rows_beyond_the_count_leave_nothing():
    def body(carry, row, shared):
        return [carry[0] + row[0]], [row[0] * shared[0]]

    for count, total in ((0.0, 0.0), (2.0, 3.0), (9.0, 10.0)):
        (end,), left = sc.scan(body, [0.0], np.arange(1.0, 5.0)[:, None], (2.0,), count)
        assert end == total and left[:, 0].tolist() == [2.0 * k if k <= count else 0.0 for k in range(1, 5)]


@pytest.mark.parametrize("seed", range(4))
def test_numbers_symbols_batches_and_written_out_loops_agree(seed):
    f, size = row_graph(seed)
    function = sc.trace(f, {"x": size})
    written, x = sc.unrolled(function), random_rows(seed, 6)
    direct = np.array([np.asarray(f(row), dtype=float) for row in x])
    batch = np.array([np.broadcast_to(np.asarray(y, dtype=float), len(x)) for y in function(x.T)]).T
    for other in (np.array([function(row) for row in x]), batch, np.array([written(row) for row in x])):
        np.testing.assert_allclose(other, direct, rtol=1e-13, atol=1e-13)


def test_tangents_of_a_table_are_read_as_it_is_and_adjoints_are_refused_by_name():
    graph = sc.Graph()
    x = graph.inputs("x", 4)
    found = sc.Function(
        {"x": 4}, {"d": sc.jvp(np.array([sc.take(x[:3] * x[:3], x[3])]), x, [1.0, 2.0, 3.0, 4.0])}, graph
    )
    assert [found([5.0, 6.0, 7.0, k])[0] for k in range(3)] == [10.0, 24.0, 42.0]
    with pytest.raises(ValueError, match="table that is read by an index has no adjoint"):
        sc.vjp(np.array([sc.take(x[:3], x[3])]), x, [1.0])
    constant = np.array([sc.take(np.arange(3.0), x[3]) * x[0]])
    assert sc.jvp(constant, x[:1], [1.0])[0] is sc.take(np.arange(3.0), x[3])


def test_equal_tables_of_numbers_are_one_object_in_all_graphs():
    numbers = np.linspace(0.0, 1.0, 5)
    found = []
    for table in (numbers, numbers.copy(), list(numbers), numbers + 1.0):
        function = sc.trace(lambda x, table=table: np.array([sc.take(table, x[0])]), {"x": 1})
        (output,) = function.outputs.values()
        found.append(output.flat[0].args[0].payload)
    assert found[0] is found[1] is found[2] and found[3] is not found[0]
    assert found[0].entries == tuple(numbers.tolist())
