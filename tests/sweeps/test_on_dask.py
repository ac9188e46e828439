"""Sweeps on Dask's workers: the same to the bit as a serial run, also where a worker is killed in the middle."""

from __future__ import annotations

import numpy as np
import pytest

import kinloop as kl
from kinloop.sweeps import RolloutTask
from tests.sim.mechanisms import pendulum
from tests.sweeps.sample_tasks import halting
from tests.sweeps.test_run_sweep import same

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def test_a_worker_killed_in_the_middle_loses_nothing(client, tmp_path):
    points = {"x": list(range(24)), "folder": [str(tmp_path)]}
    done = kl.sweep(halting, points, client.get_executor(), seed=5, path=tmp_path / "run.parquet", chunk=3)
    assert (tmp_path / "killed").exists(), "a process was killed by SIGKILL"
    serial = kl.sweep(halting, points, seed=5, path=tmp_path / "serial.parquet")
    assert same(done, serial)
    assert (tmp_path / "run.parquet").read_bytes() == (tmp_path / "serial.parquet").read_bytes()


def test_rollouts_and_functions_of_scripts_go_to_workers(client):
    task = RolloutTask(kl.Simulator(pendulum(), 1e-3), 20, push=0.1)
    points = {"v.rod_joint": list(np.linspace(-1.0, 1.0, 10))}
    assert same(kl.sweep(task, points, client, chunk=3), kl.sweep(task, points)), "a client will do as well"
    factor = 3.0
    assert list(kl.sweep(lambda x: factor * x, range(3), client)) == [0.0, 3.0, 6.0]
