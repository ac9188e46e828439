"""kinloop's own format keeps every bit; URDF+ keeps the dynamics; what is not text is refused."""

import json
import warnings
from dataclasses import replace

import numpy as np
import pytest
from io_compare import same_dynamics
from io_samples import XML, shared, wheel, write

from kinloop import robots
from kinloop.clusters import grow, neutral
from kinloop.errors import ModelError
from kinloop.io import ModelWarning, load, save, to_urdf_plus
from kinloop.io.own.write_own import dumps
from kinloop.model import Mechanism
from kinloop.model.random import KINDS, random_mechanism

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
    to_urdf_plus(m, tmp_path / "m.urdf")
    a, b = grow(m), grow(load(tmp_path / "m.urdf", accept_inertia=True))
    assert same_dynamics(a, b, neutral(a), np.random.default_rng(0)) < 1e-8


def real_files():
    plus = [f"urdf_plus/{name}.urdf" for name in ("mini_cheetah", "planar_leg_linkage")]
    parallel = [f"parallel/{name}/robot.urdf" for name in ("5bar_linkage", "cassie_like")]
    names = [*plus, *parallel, "menagerie/agility_cassie/cassie.xml", "menagerie/robotiq_2f85/2f85.xml"]
    return [*names, "talos_full_v2.urdf", "cassie_v2.sdf", "tiago_pro.urdf"]


@pytest.mark.parametrize("name", real_files())
def test_real_files_round_trip(tmp_path, name):
    path = shared(name) if "/" in name else next((p for p in wheel(name)), None)
    if path is None:
        pytest.skip("example-robot-data is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        m = load(path)
    save(m, tmp_path / "m.json")
    again = load(tmp_path / "m.json")
    assert same(m, again)
    to_urdf_plus(m, tmp_path / "m.urdf")
    a, b = grow(m), grow(load(tmp_path / "m.urdf"))
    assert same_dynamics(a, b, neutral(a), np.random.default_rng(0)) < 1e-10


def test_functions_cannot_be_saved_and_the_error_says_so(tmp_path):
    m = robots.mechanism("tello")
    for write_file in (save, to_urdf_plus):
        with pytest.raises(ModelError, match=r"'left-hip-differential' is a Python function"):
            write_file(m, tmp_path / "m")
    assert not (tmp_path / "m").exists()


def test_extras_and_infinities_survive(tmp_path):
    m = robots.mechanism("four_bar")
    m = replace(m, extras={"warnings": ["x"], "note": {"a": [1, 2.5, None, True]}, "big": np.inf})
    save(m, tmp_path / "m.json")
    again = load(tmp_path / "m.json")
    assert again.extras["note"] == {"a": [1, 2.5, None, True]} and again.joints[0].upper == np.inf


@pytest.mark.parametrize(
    "change, match",
    [
        (lambda c: c.update(format="x"), 'its "format" must be'),
        (lambda c: c.update(version=99), "reads version 1"),
        (lambda c: c["bodies"][0].pop("name"), r"bodies\[0\] None: lacks the field 'name'"),
        (lambda c: c["bodies"][1].update(mass="heavy"), r"mass is 'heavy'; give a number"),
        (lambda c: c["bodies"][1].update(mass=-1.0), "must not be negative"),
        (lambda c: c["bodies"].append(c["bodies"][0]), "names must be unique"),
        (lambda c: c["joints"][0].update(type={"kind": "magic"}), "its kind must be one of"),
        (lambda c: c["joints"][0].update(parent="nobody"), "refers to a missing body"),
        (lambda c: c["joints"][0]["placement"].update(R=[[1, 0, 0], [0, 1, 0], [0, 0, 2]]), "rotation matrix"),
        (lambda c: c["loops"][0].update(kind="knot"), "must be 'joint' or 'rod'"),
        (lambda c: c.update(extras=[1]), "must be an object"),
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
