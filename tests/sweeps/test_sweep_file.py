"""Sweeps described in TOML."""

from __future__ import annotations

import numpy as np
import pytest

from kinloop.errors import MethodError
from kinloop.sweeps import RolloutTask, sweep
from kinloop.sweeps.sweep_file import read_sweep


def written(tmp_path, text):
    path = tmp_path / "study.toml"
    path.write_text(text)
    return path


def test_a_function_beside_the_file_over_a_grid(tmp_path):
    (tmp_path / "areas.py").write_text("def area(width, height, rng):\n    return width * height\n")
    asked = read_sweep(
        written(
            tmp_path,
            '[sweep]\ntask = "areas:area"\nseed = 4\nchunk = 2\n[parameters]\nwidth = [1, 2]\n'
            "height = { low = 1.0, high = 100.0, count = 3, log = true }\n",
        )
    )
    assert asked.out == tmp_path / "study.parquet" and (asked.seed, asked.chunk) == (4, 2)
    np.testing.assert_allclose(list(sweep(asked.task, asked.design)), [1, 10, 100, 2, 20, 200])


def test_a_rollout_over_a_latin_hypercube(tmp_path):
    asked = read_sweep(
        written(
            tmp_path,
            '[sweep]\ndesign = "latin_hypercube"\npoints = 5\nout = "x.parquet"\n[rollout]\nrobot = "four_bar"\n'
            'seconds = 0.01\ndt = 1e-3\nrecord = ["q", "energy"]\npush = 0.1\n'
            '[parameters]\n"u.joint1" = { low = -1.0, high = 1.0 }\n',
        )
    )
    assert isinstance(asked.task, RolloutTask) and asked.task.steps == 10 and asked.task.record == ("q", "energy")
    assert len(asked.design) == 5 and asked.out.name == "x.parquet"


@pytest.mark.parametrize(
    "text, words",
    [
        ("[sweep", "is no TOML"),
        ("[sweeps]", "no table named 'sweeps'; did you mean 'sweep'"),
        ('[sweep]\ntasks = "a:b"', "no entry of .sweep. named 'tasks'; did you mean 'task'"),
        ("[parameters]\na = [1]", "say either task = 'module:function'"),
        ('[sweep]\ntask = "a:b"\n[rollout]\nrobot = "x"\n[parameters]\na = [1]', "say either task"),
        ('[sweep]\ntask = "a:b"', ".parameters. has none"),
        ('[sweep]\ntask = "nowhere_here:b"\n[parameters]\na = [1]', "there is no module 'nowhere_here' beside"),
        ('[sweep]\ntask = "math:sinn"\n[parameters]\na = [1]', "no function of 'math' named 'sinn'; did you mean 'sin"),
        ('[sweep]\ntask = "math"\n[parameters]\na = [1]', "not of the form 'module:function'"),
        ('[sweep]\ntask = "a:b"\ndesign = "sobol"\n[parameters]\na = [1]', "design 'sobol' is not one of grid"),
        ('[sweep]\ntask = "a:b"\ndesign = "random"\n[parameters]\na = [1]', "random needs points"),
        ('[sweep]\ntask = "a:b"\npoints = 3\n[parameters]\na = [1]', "leave out points"),
        ('[sweep]\ntask = "a:b"\n[parameters]\na = { low = 1, high = 2 }', "needs count"),
        ('[sweep]\ntask = "a:b"\n[parameters]\na = 3', "must be a list of values, or have low and high"),
        (
            '[rollout]\nrobot = "telo"\nseconds = 1\n[parameters]\na = [1]',
            "no robot named 'telo'; did you mean 'tello'",
        ),
        ('[rollout]\nrobot = "tello"\n[parameters]\na = [1]', "needs seconds"),
        (
            '[rollout]\nrobot = "four_bar"\nseconds = 1\n[parameters]\nmass = [1]',
            "parameter 'mass' is not of the form",
        ),
        ('[rollout]\nrobot = "four_bar"\nseconds = 1\nfriction = 1.0\n[parameters]\na = [1]', "add ground = true"),
    ],
)
def test_mistakes_are_named_with_the_file(tmp_path, text, words):
    with pytest.raises(MethodError, match=rf"study\.toml.*{words}"):
        read_sweep(written(tmp_path, text))


def test_a_file_that_is_not_there_is_said(tmp_path):
    with pytest.raises(MethodError, match=r"'none\.toml' cannot be read \(No such file or directory\)"):
        read_sweep(tmp_path / "none.toml")
