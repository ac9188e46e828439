"""One robot beside the peers: what is asked, and what remains without them."""

import sys

import pytest

from kinloop import robots
from kinloop.bench import peer_scaling, peer_tables
from kinloop.bench.contenders import ALL, CALL, ONE
from kinloop.bench.peer_comparison import compare


@pytest.fixture
def alone(monkeypatch):
    """No peer is installed."""
    monkeypatch.setitem(sys.modules, "pinocchio", None)
    monkeypatch.setitem(sys.modules, "mujoco", None)


def test_without_peers_our_own_times_remain(alone, effort):
    entry = compare(lambda: robots.load("four_bar"), effort)
    assert {r["who"] for r in entry["records"]} == {"kinloop", "kinloop robot"}
    assert {r["mode"] for r in entry["records"]} == {CALL, ONE, ALL}
    rows = peer_tables.forward_table({"four_bar": entry}).rows
    assert "none is installed" in rows[0][-1]
    assert peer_scaling.show({"four_bar_chain 1": entry}).tables[0].rows == []


def test_every_question_gives_records(alone, effort):
    entry = compare(lambda: robots.load("serial_chain", links=2), effort, points=1, steps=True, trees=True)
    asked = {(r["quantity"], r["mode"]) for r in entry["records"]}
    assert asked == {
        *(("forward dynamics", mode) for mode in (CALL, ONE, ALL)), *(("step", mode) for mode in (CALL, ONE, ALL)),
        ("inverse dynamics", CALL), ("mass matrix", CALL), ("frame Jacobian", CALL),
        ("Delassus matrix of 1 points", CALL),
    }  # fmt: skip
    both = {(r["quantity"], r["mode"], r["who"]) for r in entry["records"]}
    for quantity, mode in asked - {("step", mode) for mode in (CALL, ONE, ALL)}:
        assert {(quantity, mode, "kinloop"), (quantity, mode, "kinloop robot")} <= both
    assert all(r["error"] < 1e-9 for r in entry["records"] if r["quantity"] != "step")
    assert (entry["nv"], entry["bodies"], entry["closures"]) == (2, 2, 0)
