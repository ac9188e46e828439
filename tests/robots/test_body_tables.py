"""Robots from tables: bodies, gears, belts, frames; with and without rotors."""

import numpy as np

from kinloop.model import Builder
from kinloop.robots.body_tables import add_table, from_table, read, symmetric

TABLE = {
    "rotation": {"down": [[1, 0, 0], [0, -1, 0], [0, 0, -1]]},
    "inertial": {"link": [1.0, [0.1, 0, 0], [0.1, 0.1, 0.1]], "rotor": [0.1, [0, 0, 0], [0.01, 0.01, 0.01]]},
    "bodies": [
        ["arm", "world", "z", [0, 0, 1], "link", {"joint": "shoulder"}],
        ["arm_rotor", "world", "z", [0, 0, 1], "rotor", {"gear": ["arm", 6.0], "rotation": "down"}],
    ],
    "frames": [["tip", "arm", [0.2, 0, 0]]],
}


def test_a_table_becomes_bodies_gears_and_frames():
    b = Builder("b")
    add_table(b, TABLE)
    m = b.mechanism()
    assert [x.name for x in m.bodies] == ["arm", "arm_rotor"] and m.joints[0].name == "shoulder"
    (gear,) = m.couplings
    assert (gear.name, gear.dependent, gear.matrix.tolist()) == ("arm", ("arm_rotor_joint",), [[6.0]])
    assert m.independent == ("shoulder",)
    assert m.joints[1].placement.R.tolist() == TABLE["rotation"]["down"]
    assert [f.name for f in m.frames] == ["tip"]


def test_without_rotors_links_remain():
    b = Builder("b")
    add_table(b, TABLE, rotors=False)
    m = b.mechanism()
    assert [x.name for x in m.bodies] == ["arm"] and not m.couplings


def test_tables_share_inertials():
    assert read("jvrc1_urdf")["inertial"].keys() >= read("jvrc1")["inertial"].keys()
    full, bare = from_table("mit_humanoid"), from_table("x", "mit_humanoid", rotors=False)
    assert len(full.mechanism().bodies) > len(bare.mechanism().bodies)


def test_inertias_are_symmetric():
    np.testing.assert_array_equal(symmetric([1, 2, 3]), np.diag([1.0, 2.0, 3.0]))
    np.testing.assert_array_equal(symmetric([1, 2, 3, 4, 5, 6]), [[1, 4, 5], [4, 2, 6], [5, 6, 3]])
