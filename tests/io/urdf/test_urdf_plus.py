"""URDF+ files give the same dynamics as the zoo's robots, written by hand."""

from dataclasses import replace

import numpy as np
import pytest
from io_compare import same_dynamics
from io_samples import shared

from kinloop import robots
from kinloop.clusters import grow, random_closed
from kinloop.io import load

PAIRS = [
    ("four_bar", "four_bar"), ("six_bar", "six_bar"), ("planar_leg_linkage", "planar_leg_linkage_urdf"),
    ("revolute_rotor_chain", "revolute_rotor_chain"), ("double_pendulum", "double_pendulum"),
    ("mini_cheetah", "mini_cheetah"), ("mit_humanoid", "mit_humanoid"), ("mit_humanoid_leg", "mit_humanoid_leg"),
    ("jvrc1_humanoid", "jvrc1_urdf"),
]  # fmt: skip


@pytest.mark.parametrize("file, zoo", PAIRS, ids=[p[0] for p in PAIRS])
def test_files_and_zoo_move_alike(file, zoo):
    a, b = grow(load(shared(f"urdf_plus/{file}.urdf"))), grow(robots.mechanism(zoo))
    assert a.nv == b.nv
    rng = np.random.default_rng(0)
    for _ in range(2):
        assert same_dynamics(a, b, random_closed(a, rng), rng) < 1e-10


def test_tello_with_its_constraint_functions_added_after_loading():
    """The file marks what depends; the differentials are functions, which a user adds to the loaded mechanism."""
    zoo = robots.mechanism("tello_with_arms")
    m = load(shared("urdf_plus/tello_humanoid.urdf"))
    assert any("no loop or coupling fixes it" in w for w in m.warnings)
    # the file leaves the right hip clamp's rotor unturned, where the left one and the C++ model are turned
    odd = "torso-to-right-hip-clamp-rotor"
    turned = {j.name: j.placement for j in zoo.joints}[odd]
    joints = tuple(replace(j, placement=turned) if j.name == odd else j for j in m.joints)
    full = replace(m, joints=joints, loops=zoo.loops, couplings=zoo.couplings, independent=zoo.independent)
    a, b = grow(full), grow(zoo)
    assert a.nv == b.nv
    rng = np.random.default_rng(0)
    # the file rounds angles to 3.1415926 and gives the arms' massless rotors 1e-8 kg m^2 more
    assert same_dynamics(a, b, random_closed(a, rng), rng, by="name") < 1e-4
