"""URDF+ keeps the dynamics of what it can say, and refuses the rest by name."""

import numpy as np
import pytest
from io_compare import same_dynamics
from io_samples import REAL, real_mechanism

from kinloop import robots
from kinloop.clusters import grow, neutral
from kinloop.errors import ModelError
from kinloop.io import load, to_urdf_plus
from kinloop.io.urdf.write_urdf import rotation_rpy
from kinloop.model.random import KINDS, random_mechanism
from kinloop.spatial import rpy_rotation


@pytest.mark.parametrize("kind", KINDS)
def test_random_mechanisms_move_alike(tmp_path, kind):
    m = random_mechanism(np.random.default_rng(1), kind)
    if any("Function" in type(p).__name__ for p in m.closures):
        pytest.skip("holds a Python function")
    to_urdf_plus(m, tmp_path / "m.urdf")
    a, b = grow(m), grow(load(tmp_path / "m.urdf", accept_inertia=True))
    assert same_dynamics(a, b, neutral(a), np.random.default_rng(0)) < 1e-8


@pytest.mark.parametrize("name", REAL)
def test_real_files_move_alike(tmp_path, name):
    m = real_mechanism(name)
    to_urdf_plus(m, tmp_path / "m.urdf")
    a, b = grow(m), grow(load(tmp_path / "m.urdf"))
    assert same_dynamics(a, b, neutral(a), np.random.default_rng(0)) < 1e-10


def test_functions_cannot_be_written_and_the_error_says_so(tmp_path):
    match = r"'left-hip-differential' is a Python function, which URDF\+ cannot hold; leave it out"
    with pytest.raises(ModelError, match=match):
        to_urdf_plus(robots.mechanism("tello"), tmp_path / "m")
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize("rpy", [(0.1, 0.2, 0.3), (-3.0, 1.0, 2.0), (0.4, np.pi / 2, 0.3), (0.4, -np.pi / 2, 0.3)])
def test_roll_pitch_yaw_give_the_rotation_back_upright_or_not(rpy):
    R = rpy_rotation(*rpy)
    np.testing.assert_allclose(rpy_rotation(*rotation_rpy(R)), R, atol=1e-15)
