"""Tables beside the peers: ratios, remarks, and where a peer is faster."""

from kinloop.bench.contenders import ALL, CALL, ONE
from kinloop.bench.peer_tables import SKIPPED, batch_table, forward_table, notes, other_table, pick, step_table, tasks
from kinloop.robots import names


def record(quantity, mode, who, us, error=1e-14):
    return {"quantity": quantity, "mode": mode, "who": who, "us": us, "error": error}


DATA = {
    "robot": {
        "nv": 3, "balanced": 2,
        "records": [
            record("forward dynamics", CALL, "kinloop", 2.0), record("forward dynamics", CALL, "pinocchio aba", 8.0),
            record("forward dynamics", CALL, "mujoco mj_forward", 1.0, 1e-3),
            record("forward dynamics", ONE, "kinloop", 0.5), record("forward dynamics", ONE, "pinocchio aba", 1.0),
            record("forward dynamics", ALL, "kinloop", 0.25), record("forward dynamics", ALL, "pinocchio aba", 1.0),
            record("mass matrix", CALL, "kinloop", 1.0), record("mass matrix", CALL, "pinocchio crba", 3.0),
            record("mass matrix", CALL, "kinloop robot", 1.25), record("forward dynamics", CALL, "kinloop robot", 2.5),
            record("step", CALL, "kinloop", 1.0, None), record("step", CALL, "mujoco mj_step", 9.0, None),
        ],
    }
}  # fmt: skip


def test_ratios_say_how_many_times_longer_the_peer_takes():
    first, second = forward_table(DATA).rows
    assert first[:8] == ["robot", "3", "2.5", "2", "0.5", "1e-14", "4x", "pinocchio aba"]
    assert second[6:] == ["0.5x", "mujoco mj_forward", "1", "1e-3", "2 inertias balanced"]
    assert [row[3] for row in batch_table(DATA).rows] == ["2x", "4x"]
    assert [row[:6] for row in other_table(DATA).rows] == [["robot", "mass matrix", CALL, "3x", "1.25", "1"]]
    for table in (forward_table(DATA), other_table(DATA), batch_table(DATA), step_table(DATA)):
        assert table.rows and all(len(row) == len(table.columns) for row in table.rows)
    assert [row[3] for row in step_table(DATA).rows] == ["9x"]


def test_ours_come_first():
    assert [r["who"] for r in pick(DATA["robot"], "forward dynamics", ONE)] == ["kinloop", "pinocchio aba"]


def test_where_a_peer_is_faster_is_told():
    told = next(n for n in notes(DATA) if n.startswith("Where a peer is faster"))
    assert "robot, forward dynamics, one call: mujoco mj_forward takes 1 µs, kinloop 2 µs" in told
    assert "robot, forward dynamics, one call: mujoco mj_forward takes 1 µs, kinloop robot 2.5 µs" in told
    assert "kinloop robot takes" not in told
    slower = {"robot": DATA["robot"] | {"records": DATA["robot"]["records"][:2]}}
    assert "No peer is faster in any row." in notes(slower)


def test_without_peers_nothing_is_said_about_who_is_faster():
    alone = {
        "robot": DATA["robot"] | {"records": [r for r in DATA["robot"]["records"] if r["who"].startswith("kinloop")]}
    }
    told = notes(alone)
    assert "No peer was measured: nothing here compares with one." in told
    assert not any("faster" in n for n in told)


def test_the_zoo_is_measured_but_for_what_says_nothing_new(effort):
    assert set(names()) - set(SKIPPED) <= set(tasks(effort))
    assert not set(SKIPPED) & set(tasks(effort))
