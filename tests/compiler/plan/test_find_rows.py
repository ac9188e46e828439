"""Rows: neighbours that do the same, in vector registers for one state, with the bits of single numbers."""

from __future__ import annotations

import numpy as np
import pytest

from kinloop import scalar as sc
from kinloop.compiler import build, compile_function
from kinloop.compiler.plan import find_rows
from kinloop.compiler.plan.planner import make_plan
from kinloop.compiler.plan.stage_types import Segment
from tests.compiler.graphs import random_function

SIZES = {"a": 40, "b": 60}


def rows_of_matrices(seed, turns=24):
    """Rows plus multiples of others, of parts of others, of single numbers; some are outputs, also mirrored."""
    rng = np.random.default_rng(seed)

    def body(a, b):
        width = int(rng.integers(5, 15))
        kept = [b[k : k + width] * a[k] for k in range(3)]
        numbers = [a[k] * b[k + 1] - 0.5 for k in range(30)]
        for _ in range(turns):
            start = int(rng.integers(0, width - 3))
            gain, one, other = numbers[rng.integers(len(numbers))], *(kept[k] for k in rng.integers(len(kept), size=2))
            row = one - gain * other
            row[start:] = row[start:] + 0.25 * numbers[rng.integers(len(numbers))] * kept[0][start:]
            if rng.random() < 0.4:  # numbers made one by one, in a row
                row = row + gain * np.array([numbers[k] for k in rng.permutation(len(numbers))[:width]])
            if rng.random() < 0.4:  # a short row, whose numbers become parts of others
                numbers += [*(gain * kept[1][start : start + 3]), row[start] * numbers[0] - 0.1]
            kept.append(0.3 * row)
        square = np.array(kept[-width:])
        halves = {"left": kept[-1 - width][:3], "right": kept[-1 - width][3:]}
        return {"m": square, "mirrored": square.T, "n": np.array(numbers), "some": kept[3][2:5], **halves}

    return sc.trace(body, SIZES)


def compiled(function, rows, large=1, segment=40, **options):
    with pytest.MonkeyPatch.context() as patch:

        def planned(f, fuse, one):
            return make_plan(f, fuse, segment, large, one=one and rows)

        patch.setattr(build, "make_plan", planned)
        patch.setattr(find_rows, "WORTH", 0.0)
        return compile_function(function, cache=False, **options).compile().compile(batch=True)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.sample(2)
def test_rows_have_the_bits_of_single_numbers(seed, dtype):
    function = rows_of_matrices(seed)
    rng = np.random.default_rng(seed)
    a, b = rng.uniform(-1, 1, (9, 40)).astype(dtype), rng.uniform(-1, 1, (9, 60)).astype(dtype)
    with_rows, without = compiled(function, True, dtype=dtype), compiled(function, False, dtype=dtype)
    assert "masked.store" in with_rows._core.build().text(1).split("define", 1)[1]
    for x, y, many in zip(with_rows(a[4], b[4]), without(a[4], b[4]), with_rows(a, b), strict=True):
        assert np.isfinite(x).all() and x.tobytes() == y.tobytes() == many[4].tobytes()


@pytest.mark.parametrize("seed", range(3))
def test_any_function_has_the_same_bits_with_and_without(seed):
    function = random_function(seed, size=400)
    rng = np.random.default_rng(seed)
    q, v = rng.uniform(-1, 1, (3, 4)), rng.uniform(-1, 1, (3, 3))
    results = [compiled(function, rows)(q[0], v[0]) for rows in (True, False)]
    assert all(x.tobytes() == y.tobytes() for x, y in zip(*results, strict=True))


@pytest.mark.parametrize("one", [True, False])
def test_no_slot_is_taken_while_a_value_waits_in_it(one, monkeypatch):
    monkeypatch.setattr(find_rows, "WORTH", 0.0)
    for seed in range(8):
        plan = make_plan(rows_of_matrices(seed), True, 40, 1, one=one)
        holds = {}
        for stage in (s for s in plan.stages if isinstance(s, Segment)):
            here = set(stage.values)
            for v in stage.values:
                for x in plan.operations[v][1]:
                    if isinstance(x, int) and x not in here and plan.home[x] >= plan.n_in:
                        assert holds[plan.home[x]] == x, (seed, v)
            for v in stage.values:
                holds |= dict.fromkeys(plan.stores.get(v, ()), v)


def test_rows_are_the_neighbours_that_do_the_same():
    def body(a, b):
        x = [a[0] * y for y in (b[0] + b[20], *b[1:12])]  # the first is another number, made before
        y = [u - a[1] * z for u, z in zip(x[1:9], x[3:11], strict=True)]
        return np.array([*y, sc.sin(x[0])], dtype=object)

    plan = make_plan(sc.trace(body, SIZES), True, large=1, one=True)
    found = [row for stage in plan.stages if isinstance(stage, Segment) for row in stage.rows]
    names = [plan.operations[row[0]][0] for row in found]
    assert (len(found[-1]), names[-1]) == (8, "fnma")
    homes = [plan.operations[v][1] for v in found[-1]]
    assert len({args[0] for args in homes} | {args[1] for args in homes}) == 9  # one number for all, and eight


def test_few_rows_are_left_alone():
    function = random_function(5, size=300)
    assert make_plan(function, True, large=1, one=True) == make_plan(function, True, large=1)


def test_code_behind_an_angle_may_begin_with_a_row(monkeypatch):
    monkeypatch.setattr(find_rows, "WORTH", 0.0)

    def body(a, b):
        x = a[:12] * b[:12]
        return np.array([*(a[0] * x), sc.sin(np.sum(x))], dtype=object)

    function = sc.trace(body, SIZES)
    last = make_plan(function, True, 40, 1, one=True).stages[-1]
    assert [len(row) for row in last.rows] == [12] and last.values[:12] == last.rows[0]
    a, b = np.linspace(1, 2, 40), np.linspace(-1, 1, 60)
    assert compiled(function, True)(a, b)[:12].tobytes() == (a[0] * (a[:12] * b[:12])).tobytes()
