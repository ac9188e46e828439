"""benchmarks/scenes.py: the cube takes the place of the object on the hand, and both sides count the same contacts."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks import scenes

ALLEGRO = """<mujoco><worldbody><geom name="floor" type="plane" size="0 0 1"/>
  <body name="object" pos="0 0 0.03"><freejoint/><geom type="ellipsoid" size="0.03 0.04 0.02" condim="6"/></body>
  <body pos="0 0 1"><joint name="finger" type="slide"/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/></body>
</worldbody><actuator><position joint="finger" kp="1000" kv="100"/></actuator></mujoco>"""


def test_a_cube_rests_on_the_floor_of_its_scene(monkeypatch, tmp_path):
    pytest.importorskip("mujoco")
    monkeypatch.setattr(scenes, "STATES", 2)
    monkeypatch.setattr(scenes, "BESIDE", 2)
    monkeypatch.setattr(scenes, "SETTLE", 300)
    monkeypatch.setattr(scenes, "KEY", '<keyframe><key name="palm" qpos="0 0 0.025 1 0 0 0 0" ctrl="0"/></keyframe>')
    hand = Path(tmp_path / "wonik_allegro")
    hand.mkdir()
    (hand / "scene_right.xml").write_text(ALLEGRO, encoding="utf-8")
    path = scenes.with_cube(tmp_path, tmp_path / "copy")
    scene = scenes.Scene(path)
    rest, theirs = scene.at_rest(), scenes.MuJoCo(path, settle=300)
    assert rest.touching == theirs.touching == 4.0 and set(rest.run().status) == {1} and rest.gap > -1e-5
    first, second = scenes.report("cube", scene, rest, theirs, 1).splitlines()
    assert "2 shapes, 1 pairs, 4.0 contacts" in first and "times" in first and "statuses [1]" in second
    motion = scene.in_motion()
    beside = scenes.Beside(path, motion)
    assert len(beside.begin) == scenes.BESIDE == motion.run().q.shape[0], "as many rows in either"
    assert np.ptp(motion.state.q[:, 2]) > 1e-3 and beside.touching > 0.0, "rows differ, and cubes come down"
