"""`kinloop sweep`: from a file to a table."""

from __future__ import annotations

import pytest

from kinloop.sweeps import load

ROLLOUTS = """
[sweep]
design = "latin_hypercube"
points = 12
[rollout]
robot = "double_pendulum"
seconds = 0.02
push = 0.1
[parameters]
"{name}" = {{ low = -1.0, high = 1.0 }}
"""


@pytest.fixture
def file(tmp_path):
    import kinloop as kl

    path = tmp_path / "drop.toml"
    path.write_text(ROLLOUTS.format(name=f"v.{kl.robots.load('double_pendulum').independent_names[0]}"))
    return path


def test_a_file_becomes_a_table_and_a_second_run_reads_it(run, file, tmp_path):
    status, out, _ = run("sweep", str(file), "--serial")
    assert status == 0 and "12 points of v." in out and "all well" in out
    found = load(tmp_path / "drop.parquet")
    assert len(found) == 12 and found["status"].tolist() == [1] * 12
    before = (tmp_path / "drop.parquet").read_bytes()
    assert run("sweep", str(file), "--serial")[0] == 0
    assert (tmp_path / "drop.parquet").read_bytes() == before


def test_workers_write_the_same_file(run, file, tmp_path):
    pytest.importorskip("distributed")
    assert run("sweep", str(file), "--workers", "1", "--out", str(tmp_path / "many.parquet"))[0] == 0
    assert run("sweep", str(file), "--serial", "--out", str(tmp_path / "one.parquet"))[0] == 0
    assert (tmp_path / "many.parquet").read_bytes() == (tmp_path / "one.parquet").read_bytes()


def test_what_cannot_be_is_said(run, file, tmp_path):
    assert "--workers must be at least 1" in run("sweep", str(file), "--workers", "0")[2]
    assert "--serial takes no --workers" in run("sweep", str(file), "--serial", "--workers", "2")[2]
    assert "ends in .parquet" in run("sweep", str(file), "--serial", "--out", str(tmp_path / "x.csv"))[2]
    status, _, err = run("sweep", str(tmp_path / "none.toml"))
    assert status == 1 and "cannot be read" in err
