"""Which shapes of a scene may touch, and how rough they are: MuJoCo's rules."""

from __future__ import annotations

import dataclasses
import pickle
import warnings

import numpy as np
import pytest

import kinloop as kl
from kinloop.errors import MethodError
from kinloop.model import Builder, ContactPair, ContactRules, ExcludedLinks, Geometry, Surface
from kinloop.robot import Robot
from kinloop.sim import Collisions, HeightField, Plane, Simulator
from kinloop.sim.contact.scene import make_scene
from kinloop.spatial import Transform


def ball(name: str, **surface):
    return Geometry("sphere", (0.1,), name=name, surface=Surface(**surface))


def chain(surfaces, rules=None, world=()):
    """A chain of three bodies on a free base, a ball each."""
    b = Builder("chain")
    for k, s in enumerate(surfaces):
        b.body(f"b{k}", f"b{k - 1}" if k else "world", mass=1, inertia=(1, 1, 1), joint="revolute" if k else "free",
               **({"axis": "x"} if k else {}), geometry=(ball(f"g{k}", **s),))  # fmt: skip
    b.world_geometry += list(world)
    return Robot(dataclasses.replace(b.mechanism(), contact_rules=rules or ContactRules()))


def pairs(robot, ground=None, **options):
    scene = make_scene(robot, Collisions(**options), ground)
    return {frozenset(names): pair for names, pair in zip(scene.pair_names, scene.pairs, strict=True)}


def names(found):
    return {"".join(sorted(x)) for x in found}


def test_parents_do_not_touch_their_children_unless_the_model_lets_them():
    assert names(pairs(chain([{}] * 3))) == {"g0g2"}
    assert names(pairs(chain([{}] * 3, ContactRules(filter_parents=False)))) == {"g0g1", "g0g2", "g1g2"}


def test_a_link_with_several_joints_does_not_touch_its_parent():
    """Readers put bodies without mass between the joints of a link."""
    b = Builder("hand")
    b.body("palm", mass=1, inertia=(1, 1, 1), joint="free", geometry=(ball("palm"),))
    b.body("tip@x", "palm", axis="x")
    b.body("tip", "tip@x", mass=1, inertia=(1, 1, 1), axis="y", geometry=(ball("tip"),))
    b.body("nail", "tip", mass=1, inertia=(1, 1, 1), axis="y", geometry=(ball("nail"),))
    assert {frozenset(x) for x in pairs(b.build())} == {frozenset(("palm", "nail"))}


def test_bits_exclusions_and_listed_pairs():
    free = ContactRules(filter_parents=False)
    assert names(pairs(chain([{"contype": 2, "conaffinity": 0}, {}, {"conaffinity": 3}], free))) == {"g0g2", "g1g2"}
    rules = ContactRules((ExcludedLinks("b0", "b2"),), filter_parents=False)
    assert names(pairs(chain([{}] * 3, rules))) == {"g0g1", "g1g2"}
    assert names(pairs(chain([{}] * 3, free), exclude=(("b1", "b0"),))) == {"g0g2", "g1g2"}
    listed = ContactRules(pairs=(ContactPair("p", "g0", "g1", (0.3, 0.3, 0, 0, 0)),))
    found = pairs(chain([{}] * 3, listed))
    assert names(found) == {"g0g1", "g0g2"} and found[frozenset(("g0", "g1"))].friction == 0.3


def test_friction_is_the_larger_or_that_of_the_higher_priority():
    one, two = {"friction": (0.2, 0, 0), "margin": 0.01}, {"friction": (0.7, 0, 0), "gap": 0.004}
    (found,) = pairs(chain([one, {}, two])).values()
    assert found.friction == 0.7 and found.margin == pytest.approx(0.01)
    (found,) = pairs(chain([one | {"priority": 1}, {}, two])).values()
    assert found.friction == 0.2
    (found,) = pairs(chain([one | {"condim": 1}, {}, two | {"condim": 1}])).values()
    assert found.friction == 0.0


def test_condim_says_which_friction_acts():
    """As MuJoCo combines it: each coefficient and condim by itself the larger, or those of the higher priority."""
    one, two = {"friction": (0.2, 0.03, 0.001)}, {"friction": (0.7, 0.01, 0.002), "condim": 6}
    for condim, left in ((1, (0, 0, 0)), (3, (0.7, 0, 0)), (4, (0.7, 0.03, 0)), (6, (0.7, 0.03, 0.002))):
        (x,) = pairs(chain([one | {"condim": 1}, {}, two | {"condim": condim}])).values()
        assert (x.friction, x.torsion, x.rolling) == left
    (x,) = pairs(chain([one | {"condim": 4, "priority": 1}, {}, two])).values()
    assert (x.friction, x.torsion, x.rolling) == (0.2, 0.03, 0.0)
    listed = ContactRules(pairs=(ContactPair("p", "g0", "g1", (0.3, 0.3, 0.02, 0.01, 0.01), condim=6),))
    x = pairs(chain([{}] * 3, listed))[frozenset(("g0", "g1"))]
    assert (x.friction, x.torsion, x.rolling) == (0.3, 0.02, 0.01)
    listed = ContactRules(pairs=(ContactPair("p", "g0", "g1", (0.3, 0.5, 0.02, 0.01, 0.01)),))
    with pytest.warns(UserWarning, match="'g0' and 'g1' differs by direction"):
        pairs(chain([{}] * 3, listed))


def test_the_world_touches_what_moves_and_the_ground_may_be_a_plane():
    robot = chain([{}] * 3, world=(Geometry("box", (1, 1, 1), name="table"), Geometry("box", (1, 1, 1), name="step")))
    assert names(pairs(robot)) == {"g0g2", *(f"g{k}{x}" for k in range(3) for x in ("step", "table"))}
    assert len(pairs(robot, Plane(0.5))) == 10
    assert len(pairs(robot, HeightField(lambda x, y: 0.0 * x))) == 10
    with pytest.raises(MethodError, match="a Plane or a HeightField as ground, received a Sea"):
        pairs(robot, Sea())


class Sea:
    friction = restitution = 0.0


def test_what_is_not_computed_is_named():
    b = Builder("two")
    for k, kind in enumerate(("heightfield", "sphere")):
        given = {"size": (1, 1, 0.1), "heights": [[0, 0], [0, 0]]} if k == 0 else {"size": (0.1,)}
        shape = Geometry(kind, name=f"g{k}", surface=Surface(condim=6), **given)
        b.body(f"b{k}", mass=1, inertia=(1, 1, 1), joint="free", geometry=(shape,))
    with pytest.warns(UserWarning) as said:
        make_scene(b.build(), Collisions(), Plane())
    words = [str(w.message) for w in said]
    assert len(words) == 1 and "plane and heightfield ('ground' and 'g0')" in words[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make_scene(chain([{}] * 3), Collisions(), Plane())


def test_what_makes_no_sense_is_refused():
    robot = chain([{}] * 3)
    with pytest.raises(MethodError, match="no body"):
        pairs(robot, exclude=(("b0", "nobody"),))
    with pytest.raises(MethodError, match="no two shapes"):
        pairs(chain([{"contype": 0, "conaffinity": 0}] * 3))
    with pytest.raises(MethodError, match="switches contact off"):
        pairs(chain([{}] * 3, ContactRules(enabled=False)))


def test_bodies_fixed_to_each_other_are_one_and_static_ones_carry_nothing(tmp_path):
    """Pairs are MuJoCo's where all shapes overlap, whether links that are fixed stay bodies or not."""
    mujoco = pytest.importorskip("mujoco")
    ball = '<geom name="{0}" size="0.1" mass="1"/>'.format
    path = tmp_path / "fixed.xml"
    path.write_text(
        f"""<mujoco><worldbody>{ball("w")}<body name="base">{ball("b")}<body name="one"><joint axis="0 1 0"/>{ball("c")}
        <body name="plate">{ball("d")}<body name="two"><joint axis="0 0 1"/>{ball("e")}<body name="tip">{ball("f")}
        </body></body></body></body></body></worldbody></mujoco>"""
    )
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    expected = {frozenset(model.geom(g).name for g in c.geom) for c in data.contact}
    for keep in (False, True):
        sim = Simulator(kl.load(path, keep_fixed=keep), collisions=True)
        assert {frozenset(names) for names in sim.contact.scene.pair_names} == expected


def test_the_ground_of_the_model_is_its_world():
    floor = Geometry("plane", (0.0, 0.0), name="floor", placement=Transform(np.eye(3), np.array([0.0, 0.0, -0.3])))
    robot = chain([{}], world=(floor,))
    sim = Simulator(robot, ground="model")
    run = sim.rollout(robot.neutral(), None, steps=600, record=["q", "contact_force"])
    assert run.q[-1, 2] == pytest.approx(-0.2, abs=1e-6)
    assert run.contact_force[-1].sum(axis=0) == pytest.approx([0.0, 0.0, 9.81], abs=1e-3)
    again = Simulator(robot, collisions=True).rollout(robot.neutral(), None, steps=600)
    assert again.q.tobytes() == run.q.tobytes()
    assert pickle.loads(pickle.dumps(sim)).contact.scene.pair_names == [("g0", "floor")]


def test_a_ground_by_another_name_is_refused():
    with pytest.raises(MethodError, match="ground 'floor' is not 'model', the world of the model; give that, a Plane"):
        Simulator(chain([{}] * 3), ground="floor")
    with pytest.raises(MethodError, match="no two shapes of 'chain' and its world can touch"):
        Simulator(chain([{}]), ground="model")
