"""Room for contacts: scenes have as much as their keyframes ask for, unless they are told otherwise."""

import kinloop as kl
from kinloop.sim import Status
from kinloop.sim.contact.room import MOST
from kinloop.sim.contact.scene import USUAL, Collisions
from tests.sim.contact.test_searched_pairs import hull, scene


def many_feet(tmp_path, balls, key=""):
    """A plate on balls, a little above the ground, or where a keyframe has it."""
    feet = "".join(f"<geom size='0.01' pos='{0.03 * k} 0 0'/>" for k in range(balls))
    body = f"<body pos='0 0 1'><freejoint/>{feet}</body>"
    text = f"<mujoco><worldbody><geom type='plane' size='1 1 1'/>{body}</worldbody>{key}</mujoco>"
    (tmp_path / "feet.xml").write_text(text)
    return kl.load(tmp_path / "feet.xml")


def room(robot, options=True):
    return kl.Simulator(robot, collisions=options).contact.scene.room


def test_a_scene_has_room_for_what_is_near_at_a_keyframe(tmp_path):
    key = "<keyframe><key name='home' qpos='0 0 0.01 1 0 0 0'/></keyframe>"
    robot = many_feet(tmp_path, 20, key)
    assert room(robot) == (USUAL + 20, USUAL + 20)
    sim = kl.Simulator(robot, collisions=True)
    run = sim.rollout(state=sim.keyframe("home")[0], steps=10)
    assert run.status[0] == Status.RUNNING and run.peaks["missed"][0] == 0.0


def test_a_scene_far_from_everything_has_the_usual_room(tmp_path):
    assert room(many_feet(tmp_path, 20)) == (USUAL, USUAL)


def test_a_scene_drawn_in_the_ground_has_bounded_room(tmp_path):
    key = "<keyframe><key name='home' qpos='0 0 0 1 0 0 0'/></keyframe>"
    assert room(many_feet(tmp_path, MOST + 9, key)) == (USUAL + MOST, USUAL + MOST + 9)


def test_points_that_a_search_finds_have_room():
    assert room(scene([hull(), hull()])).contacts > USUAL, "at the neutral configuration they overlap"


def test_room_that_is_given_counts(tmp_path):
    robot = many_feet(tmp_path, 5)
    assert room(robot, Collisions(contacts=3)) == (3, USUAL)
    assert room(robot, Collisions(contacts=3, pairs=2)) == (3, 2)
