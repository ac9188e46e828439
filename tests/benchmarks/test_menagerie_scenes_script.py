"""benchmarks/menagerie_scenes.py: scenes run beside MuJoCo, and what becomes of them is kept."""

import json
from pathlib import Path

import pytest

import kinloop as kl
from benchmarks import menagerie_scenes, mujoco_runs

pytest.importorskip("mujoco")
MODELS = Path(__file__).resolve().parents[3] / "shared" / "models" / "menagerie"
BALL = """<mujoco><worldbody><geom type='plane' size='1 1 1'/><body name='ball' pos='0 0 0.3'><freejoint/>
<geom size='0.1'/></body><body pos='1 0 1'><joint name='j' axis='0 1 0' damping='0.1'/><geom size='0.05' pos='0.2 0 0'/>
</body></worldbody><actuator><position joint='j' kp='20'/></actuator>
<keyframe><key name='up' qpos='0 0 0.099 1 0 0 0 0.2' ctrl='0.4'/></keyframe></mujoco>"""


@pytest.mark.parametrize("robot", ["agility_cassie", "robotiq_2f85", "unitree_go1"])
def test_scenes_of_three_robots_run_beside_mujoco(robot):
    if not (MODELS / robot / "scene.xml").exists():
        pytest.skip("the folder shared/models is not beside the repository")
    found = menagerie_scenes.look_at(MODELS / robot / "scene.xml", MODELS)
    assert found.runs and not found.problem, found
    assert len(found.cells()) == len(menagerie_scenes.COLUMNS)
    assert found.hard_height < 2.0 or robot == "robotiq_2f85", found


def folder(tmp_path, **texts):
    (tmp_path / "robot").mkdir(parents=True)
    for name, text in texts.items():
        (tmp_path / "robot" / f"{name}.xml").write_text(text)
    return tmp_path


def test_a_ball_rests_where_mujoco_has_it(tmp_path):
    there = folder(tmp_path, scene=BALL)
    found = menagerie_scenes.look_at(there / "robot/scene.xml", there)
    assert found.fits and abs(found.begin - 1.0) < 1e-9 and found.hard_height < 0.1, found
    assert found.soft_place > found.hard_place and found.chance < 0.1 and found.step > 0.0, found


def test_results_are_kept_and_problems_named(tmp_path, monkeypatch, capsys):
    muscle = BALL.replace("<position joint='j' kp='20'/>", "<muscle joint='j' lengthrange='0 1'/>")
    muscle = muscle.replace("ctrl='0.4'", "")
    bad = BALL.replace("size='0.05'", "size='0.05' friction='-1 0 0'")
    there = folder(tmp_path, scene=BALL, scene_bad=bad, scene_muscle=muscle, other=BALL)
    monkeypatch.setenv(menagerie_scenes.FOLDER, str(there))
    monkeypatch.setattr(menagerie_scenes, "alone", lambda path, folder, minutes: menagerie_scenes.look_at(path, folder))
    asked = ["--results", str(tmp_path / "r.json"), "--table", str(tmp_path / "t.md"), "robot"]
    assert menagerie_scenes.main(asked) == 1
    assert "3 scenes: 2 run, 2 within 2 mm of MuJoCo" in capsys.readouterr().out
    kept = json.loads((tmp_path / "r.json").read_text())
    assert set(kept) == {f"robot/scene{x}.xml" for x in ("", "_bad", "_muscle")}
    assert "must not be negative" in kept["robot/scene_bad.xml"]["problem"]
    assert "without motors: actuator" in kept["robot/scene_muscle.xml"]["left_out"][0]
    assert (tmp_path / "t.md").read_text().splitlines()[2].startswith("| robot/scene.xml | RUNNING | 1 | ")
    monkeypatch.setattr(menagerie_scenes, "alone", None)
    assert menagerie_scenes.main(asked) == 1
    monkeypatch.delenv(menagerie_scenes.FOLDER)
    with pytest.raises(SystemExit):
        menagerie_scenes.main(asked)


def test_a_scene_begins_at_home_or_at_its_own_keyframe(tmp_path):
    def first(keys):
        text = BALL.replace("<key name='up' qpos='0 0 0.099 1 0 0 0 0.2' ctrl='0.4'/>", keys)
        path = folder(tmp_path / f"{len(list(tmp_path.iterdir()))}", scene=text) / "robot/scene.xml"
        sim = menagerie_scenes.simulator(kl.load(path))
        state, u = menagerie_scenes.begin(sim, mujoco_runs.stiff_model(path))
        return state.q[0, 2], u[0]

    one, two = (f"<key name='{name}' qpos='0 0 {z} 1 0 0 0 0' ctrl='{z}'/>" for name, z in (("a", 0.5), ("b", 0.7)))
    assert first(one + two) == (0.7, 0.7) and first(one.replace("'a'", "'home'") + two) == (0.5, 0.5)
    assert first("") == (0.3, 0.0)


def test_chance_explains_what_falls():
    fallen = menagerie_scenes.Result("x", "RUNNING", soft_height=9.0, hard_height=7.0, chance=8.0)
    assert "10 µm beside ends 8 mm beside" in fallen.explanation and "ends 8 mm" in fallen.cells()[-1]
    fallen.chance = 0.1
    assert not fallen.explanation and not fallen.fits


def test_a_process_that_takes_too_long_is_ended(tmp_path):
    there = folder(tmp_path, scene=BALL)
    assert "longer than" in menagerie_scenes.alone(there / "robot/scene.xml", there, 1e-4).problem


def test_the_hard_model_is_stiffer(tmp_path):
    path = folder(tmp_path, scene=BALL) / "robot/scene.xml"
    soft, hard = mujoco_runs.stiff_model(path), mujoco_runs.hard_model(path)
    assert soft.geom_solref[0, 0] == mujoco_runs.SOLREF == 4.0 * hard.geom_solref[0, 0]
    assert hard.geom_solimp[0, 0] == mujoco_runs.SOLIMP and hard.opt.timestep == 0.25 * soft.opt.timestep
