"""kinloop's own format keeps every bit; what is not text is refused."""

import json
from dataclasses import replace

import numpy as np
import pytest
from io_samples import MJCF, REAL, XML, real_mechanism, write

from kinloop import robots
from kinloop.errors import ModelError
from kinloop.io import ModelFileError, ModelWarning, load, save
from kinloop.io.own.write_own import dumps
from kinloop.model import Mechanism
from kinloop.model.facts import plain
from kinloop.model.random import KINDS, random_mechanism
from tests.sim.file_models import SENSORS, TENDONS

ZOO = [name for name in robots.names() if name not in ("tello", "tello_with_arms")]


def same(a: Mechanism, b: Mechanism) -> bool:
    """Bit for bit: both write the same text, and every array has the same bits."""
    arrays = [
        [x for body in m.bodies for x in (body.com, body.inertia)] + [x for j in m.joints for x in j.placement]
        for m in (a, b)
    ]
    return dumps(a) == dumps(b) and all(np.array_equal(x, y) for x, y in zip(*arrays, strict=True))


@pytest.mark.parametrize("name", sorted(XML))
def test_loaded_files_round_trip_bit_for_bit(tmp_path, name):
    m = load(write(tmp_path, XML[name]))
    save(m, tmp_path / "m.json")
    again = load(tmp_path / "m.json")
    assert same(m, again)
    assert [j.type for j in m.joints] == [j.type for j in again.joints]


@pytest.mark.parametrize("text", [TENDONS, SENSORS])
def test_tendons_sensors_and_all_actuators_round_trip_bit_for_bit(tmp_path, text):
    m = load(write(tmp_path, text))
    save(m, tmp_path / "m.json")
    again = load(tmp_path / "m.json")
    assert same(m, again) and len(again.tendons) == len(m.tendons) > 0
    assert plain((m.actuators, m.tendons, m.sensors, m.carried, m.keyframes, m.joints)) == plain(
        (again.actuators, again.tendons, again.sensors, again.carried, again.keyframes, again.joints)
    )


@pytest.mark.parametrize(
    "old, new, why",
    [
        ('"tendon": "t"', '"tendon": "rope"', "actuator 'c' pulls a missing tendon: no tendon named 'rope'"),
        ('"part": "j"', '"part": "k"', "sensor 'jp' is of a missing joint: no joint named 'k'"),
        ('"part": "c"', '"part": "k"', "sensor 'ap' is of a missing actuator: no actuator named 'k'"),
        ('"body": "base"', '"body": "bass"', "refers to a missing body"),
        ('"kind": "gyro"', '"kind": "gyri"', "sensor 'gyro' has the kind 'gyri'; it must be one of"),
        ('"dynamics": "none"', '"dynamics": "slow"', "has the dynamics 'slow'; they must be one of"),
    ],
)
def test_parts_that_are_missing_are_named(tmp_path, old, new, why):
    text = dumps(load(write(tmp_path, SENSORS)))
    assert old in text
    (tmp_path / "m.json").write_text(text.replace(old, new))
    with pytest.raises(ModelFileError, match=why):
        load(tmp_path / "m.json")


@pytest.mark.parametrize("name", ZOO)
def test_the_zoo_round_trips_bit_for_bit(tmp_path, name):
    m = robots.mechanism(name)
    if any("Function" in type(p).__name__ for p in (*m.loops, *m.couplings)):
        with pytest.raises(ModelError, match="Python function"):
            save(m, tmp_path / "m.json")
        return
    save(m, tmp_path / "m.json")
    assert same(m, load(tmp_path / "m.json"))


@pytest.mark.parametrize("kind", KINDS)
def test_random_mechanisms_round_trip(tmp_path, kind):
    m = random_mechanism(np.random.default_rng(1), kind)
    if any("Function" in type(p).__name__ for p in (*m.loops, *m.couplings)):
        pytest.skip("holds a Python function")
    save(m, tmp_path / "m.json")
    assert same(m, load(tmp_path / "m.json"))


@pytest.mark.parametrize("name", REAL)
def test_real_files_round_trip(tmp_path, name):
    m = real_mechanism(name)
    save(m, tmp_path / "m.json")
    again = load(tmp_path / "m.json")
    assert same(m, again)


def test_functions_cannot_be_saved_and_the_error_says_so(tmp_path):
    m = robots.mechanism("tello")
    with pytest.raises(ModelError, match=r"'left-hip-differential' is a Python function, which no file can hold"):
        save(m, tmp_path / "m")
    assert not (tmp_path / "m").exists()


ANNOTATED = MJCF.replace(
    "</mujoco>",
    """<keyframe><key name="up" qpos="0.1 0.2 0 0 1 0 0 0 0 0 1 1 0 0 0"/></keyframe>
</mujoco>""",
).replace('kp="10"', 'kp="10" forcerange="-3 4"')


def annotated(tmp_path):
    m = load(write(tmp_path, ANNOTATED))
    tip, crank = m.frames[0].name, m.joints[0].name
    return replace(m, motors=(crank,), end_effectors=(tip,), warnings=("told",))


def test_annotations_and_infinities_survive(tmp_path):
    m = annotated(tmp_path)
    save(m, tmp_path / "m.json")
    again = load(tmp_path / "m.json")
    assert (
        m.actuators == again.actuators and len(again.actuators) == 3 and again.actuators[1].force_range == (-3.0, 4.0)
    )
    assert m.keyframes == again.keyframes and again.keyframes[0].name == "up" and len(again.keyframes[0].q) == 15
    assert (again.motors, again.end_effectors, again.inactive) == (m.motors, m.end_effectors, ("equality1",))
    assert again.warnings == ("told",) and again.source == str(tmp_path / "m.json") and m.source.endswith("model.xml")
    assert [(g.kind, g.size) for g in again.world_geometry] == [("plane", (1.0, 1.0))]
    assert again.joints[1].upper == np.inf and again.actuators[0].force_range == (-np.inf, np.inf)


@pytest.mark.parametrize(
    "change, match",
    [
        (lambda c: c.update(warnings=5), "m.json:1: warnings: warnings is 5; give a list of texts"),
        (lambda c: c.update(motors=[1]), "motors: motors is 1; give a text"),
        (lambda c: c.update(end_effectors={}), "end_effectors: end_effectors is {}; give a list of texts"),
        (lambda c: c.update(inactive="x"), "inactive: inactive is 'x'; give a list of texts"),
        (lambda c: c.update(actuators=5), "actuators: must be a list of entries"),
        (lambda c: c.update(keyframes=["home"]), r"keyframes\[0\] None: must be an object with named fields"),
        (lambda c: c["keyframes"][0].update(q="x"), r"keyframes\[0\] 'up': q is 'x'; give a number"),
        (lambda c: c["keyframes"][0].pop("q"), r"keyframes\[0\] 'up': lacks the field 'q'"),
        (lambda c: c["actuators"][0].update(kind="magic"), r"actuators\[0\] 'ma': .*the kind 'magic'"),
        (lambda c: c["actuators"][0].update(gain=[1, 2]), r"'ma': gain is \[1, 2\]; give a list of three numbers"),
        (lambda c: c["actuators"][0].update(exact=1), "'ma': exact is 1; give true or false"),
        (lambda c: c["actuators"][0].update(control_range=[1]), "'ma': control_range is .*a list of two numbers"),
        (lambda c: c["actuators"][0].update(transmission={}), "'ma': transmission must be a list of objects"),
        (lambda c: c["actuators"][1].update(transmission=[{"joint": "a"}]), "'pb': lacks the field 'gear'"),
        (lambda c: c["world_geometry"][0].update(kind="blob"), r"world_geometry\[0\] .*geometry 'blob' is not one of"),
        (lambda c: c["world_geometry"][0].update(color=[1, 0]), "color is .*four numbers"),
    ],
)
def test_mistakes_in_annotations_name_the_element(tmp_path, change, match):
    content = json.loads(dumps(annotated(tmp_path)))
    change(content)
    (tmp_path / "m.json").write_text(json.dumps(content, indent=1))
    with pytest.raises(ModelFileError, match=match):
        load(tmp_path / "m.json")


def test_fields_that_no_mechanism_has_are_told_of_and_refused_when_strict(tmp_path):
    content = json.loads(dumps(annotated(tmp_path))) | {"keyframe": []}
    (tmp_path / "m.json").write_text(json.dumps(content, indent=1))
    with pytest.warns(ModelWarning, match="'keyframe': is no field of a mechanism"):
        assert "keyframe" in load(tmp_path / "m.json").warnings[-1]
    with pytest.raises(ModelFileError, match="strict=True"):
        load(tmp_path / "m.json", strict=True)


@pytest.mark.parametrize(
    "change, match",
    [
        (lambda c: c.update(format="x"), 'its "format" must be'),
        (lambda c: c.update(version=1), "has version 1; this kinloop reads version 2"),
        (lambda c: c["bodies"][0].pop("name"), r"bodies\[0\] None: lacks the field 'name'"),
        (lambda c: c["bodies"][1].update(mass="heavy"), r"mass is 'heavy'; give a number"),
        (lambda c: c["bodies"][1].update(mass=-1.0), "must not be negative"),
        (lambda c: c["bodies"].append(c["bodies"][0]), "names must be unique"),
        (lambda c: c["joints"][0].update(type={"kind": "magic"}), "its kind must be one of"),
        (lambda c: c["joints"][0].update(parent="nobody"), "refers to a missing body"),
        (lambda c: c["joints"][0]["placement"].update(R=[[1, 0, 0], [0, 1, 0], [0, 0, 2]]), "rotation matrix"),
        (lambda c: c["loops"][0].update(kind="knot"), "must be 'joint' or 'rod'"),
        (lambda c: c["bodies"][0].update(geometry=[1]), "geometry must be a list of objects"),
        (lambda c: c.update(bodies={}), "must be a list"),
    ],
)
def test_mistakes_in_our_own_format_are_named(tmp_path, change, match):
    content = json.loads(dumps(load(write(tmp_path, XML["urdf_plus"]))))
    change(content)
    path = tmp_path / "m.json"
    path.write_text(json.dumps(content, indent=1))
    with pytest.raises(ModelError, match=match) as error:
        load(path)
    assert error.value.line >= 1 and error.value.file == str(path)


@pytest.mark.parametrize(
    "text", ["{", '{"format": NaN}', "{" * 10000, '{"a":' * 100000, '{"format": 1e999}', '{"\\ud800": 1}']
)
def test_what_is_not_json_is_refused(tmp_path, text):
    (tmp_path / "m.json").write_text(text)
    with pytest.raises(ModelError):
        load(tmp_path / "m.json")
