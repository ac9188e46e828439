"""What a loop carries is written where the next round reads it, unless somebody still needs what is there."""

from __future__ import annotations

import numpy as np
import pytest

import kinloop.scalar as sc
from kinloop.compiler import compile_function
from kinloop.compiler.plan.planner import make_plan
from kinloop.compiler.plan.stage_types import Repeat

ROWS = 5


def stays(c, given):
    return [c[0], c[1] + given[0], c[2] * 0.5]


def turns(c, given):
    """Every entry is what another was."""
    return [c[1], c[2], c[0]]


def late_read(c, given):
    """The first entry is needed after it has been made anew, in another segment."""
    new, sums = c[0] * given[0], c[1]
    for k in range(200):
        sums = sc.sqrt(1.0 + sums * sums) - 0.001 * k * new
    return [new, sums, c[0] + sums]


def chosen(c, given):
    """Read only in the rare way of a choice that comes after the entry was made anew."""
    new = c[0] + 0.25 * given[1]
    rare = sc.sqrt(c[0] * c[0] + 1.0) * c[2]
    return [new, sc.usually(sc.where(new < given[0], c[1], rare)), c[2] + 0.125]


def nested(c, given):
    """Rows that are left over the rows of what is carried, those behind the count as they were."""

    def body(carry, row, shared):
        total = carry[0] + row[0]
        return [total], [0.5 * total]

    end, left = sc.scan(body, [given[0]], np.array(c[:3]).reshape(3, 1), (), 1.0 + sc.floor(2.0 * given[1]), 0, ())
    return [*left.flat, end[0] + c[3]]


BODIES = {"stays": (stays, 3), "turns": (turns, 3), "late_read": (late_read, 3), "chosen": (chosen, 3)}


@pytest.mark.parametrize(("name", "copied"), [("stays", 0), ("turns", 3), ("late_read", None), ("chosen", None)])
def test_rounds_are_what_they_are_with_copies(name, copied):
    body, n = BODIES[name]
    function = sc.trace(lambda x: np.array(sc.repeat(4, body, x[:n], x[n:])), {"x": n + 2})
    (stage,) = (s for s in make_plan(function, True).stages if isinstance(s, Repeat))
    if copied is not None:
        assert sum(count for _, count in stage.copied) == copied
    kernel, x = compile_function(function, name=name, cache=False), np.random.default_rng(0).uniform(0, 1, (21, n + 2))
    x[8:16] = x[8]  # lanes that agree
    batch = kernel(x)
    assert batch.tobytes() == np.array([kernel(row) for row in x]).tobytes()
    np.testing.assert_allclose(batch, np.array([function(row) for row in x]), rtol=1e-13)


def test_rows_are_left_over_those_that_are_read():
    function = sc.trace(lambda x: np.array(sc.repeat(3, nested, x[:4], x[4:])), {"x": 6})
    (stage,) = (s for s in make_plan(function, True).stages if isinstance(s, Repeat))
    (inner,) = (s for s in stage.body.stages if isinstance(s, Repeat))
    assert stage.copied == [] and inner.leaves == inner.tables[0][0] == 0
    kernel, x = compile_function(function, name="nested", cache=False), np.random.default_rng(1).uniform(0, 1, (21, 6))
    x[:, 5] = 1.0  # all rows are looked at: what rows behind the count leave is not to be read
    batch = kernel(x)
    assert batch.tobytes() == np.array([kernel(row) for row in x]).tobytes()
    np.testing.assert_allclose(batch, np.array([function(row) for row in x]), rtol=1e-13)


def test_rows_that_are_needed_again_are_not_written_over():
    def body(c, given):
        _, left = sc.scan(lambda a, row, s: ([a[0] + row[0]], [row[0] + a[0]]), [0.0], np.array(c).reshape(3, 1))
        return [*left[:2, 0], left[2, 0] + c[0]]

    function = sc.trace(lambda x: np.array(sc.repeat(3, body, x)), {"x": 3})
    kernel, x = compile_function(function, name="again", cache=False), np.random.default_rng(2).normal(size=(11, 3))
    np.testing.assert_allclose(kernel(x), np.array([function(row) for row in x]), rtol=1e-13)
    np.testing.assert_allclose([kernel(row) for row in x], np.array([function(row) for row in x]), rtol=1e-13)


@pytest.mark.parametrize("later", [False, True])
def test_rows_that_are_read_before_are_written_over_and_those_read_later_are_not(later):
    """A loop reads all rows before another leaves its own there; or beside it, waiting for nothing of it."""

    def body(c, given):
        table, count = np.array(c[:3]).reshape(3, 1), 1.0 + sc.floor(2.0 * given[0])
        (total,), _ = sc.scan(lambda a, row, s: ([a[0] + row[0] * row[0]], []), [0.0], table, (), count, 0, ())
        said = given[0] if later else total
        _, left = sc.scan(lambda a, row, s: ([], [row[0] + 0.5 * s[0]]), [], table, (said,), count, 0, ())
        if later:
            waits = sc.sqrt(left[0, 0] * left[0, 0] + 1.0)
            (total,), _ = sc.scan(
                lambda a, row, s: ([a[0] + row[0] * s[0]], []), [total], table, (waits,), count, 0, ()
            )
        return [*left.flat, total]

    function = sc.trace(lambda x: np.array(sc.repeat(3, body, x[:4], x[4:])), {"x": 5})
    (stage,) = (s for s in make_plan(function, True).stages if isinstance(s, Repeat))
    (writer,) = (s for s in stage.body.stages if isinstance(s, Repeat) and s.left)
    assert (writer.leaves == writer.tables[0][0] == 0) != later
    kernel, x = compile_function(function, name="later", cache=False), np.random.default_rng(3).uniform(0, 1, (21, 5))
    x[:, 4] = 1.0  # all rows are looked at: what rows behind the count leave is not to be read
    batch = kernel(x)
    assert batch.tobytes() == np.array([kernel(row) for row in x]).tobytes()
    np.testing.assert_allclose(batch, np.array([function(row) for row in x]), rtol=1e-13)
