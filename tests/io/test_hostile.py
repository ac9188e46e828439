# ruff: noqa: E501  (model text)
"""Hostile and broken files end in a `ModelFileError` that names file, line, element and reason, or load as a robot."""

import contextlib
import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from io_mutations import mutate
from io_samples import FOUR_BAR_LINKS, MJCF, XML, bar, revolute, write

from kinloop.errors import ModelError
from kinloop.io import Limits, ModelFileError, ModelWarning, load


def urdf(*parts: str) -> str:
    return "<robot name='r'>\n" + "\n".join(parts) + "\n</robot>"


def mjcf(body: str, more: str = "") -> str:
    return f"<mujoco>\n{more}\n<worldbody>\n{body}\n</worldbody></mujoco>"


BODY = "<body name='b'><joint/><geom size='0.1'/></body>"
LINK = "<link name='l{0}'/>"
HINGE = "<joint name='j{0}' type='continuous'><parent link='l{1}'/><child link='l{0}'/></joint>"
A, B, J = bar("a"), bar("b"), revolute("j", "a", "b")
BOMB = "<!DOCTYPE x [" + "".join(f'<!ENTITY a{k + 1} "{f"&a{k};" * 10}">' for k in range(9)) + "]>"
CASES = {
    "empty": ("", "not well-formed", 1),
    "not xml": ("hello", "not well-formed", 1),
    "entity bomb": (BOMB + urdf(A), "document type or entities", 1),
    "external entity": ('<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>' + urdf("&e;"), "document type", 1),
    "external dtd": ('<!DOCTYPE x SYSTEM "http://localhost/x.dtd">' + urdf(A), "document type", 1),
    "unknown root": ("<thing/>", "must be <robot>", 1),
    "no links": (urdf(), "has no links", 1),
    "truncated": (urdf(A, B, J)[:-40], "not well-formed", None),
    "unknown encoding": ("<?xml version='1.0' encoding='nonsense'?>" + urdf(A), "not", 1),
    "nameless link": (urdf("<link/>"), "no attribute 'name'", 2),
    "two links of one name": (urdf(A, A), "second link is named 'a'", 6),
    "two joints of one name": (urdf(A, B, bar("c"), J, revolute("j", "a", "c")), "second joint is named 'j'", None),
    "two loops of one name": (urdf(FOUR_BAR_LINKS, *['<loop name="x" type="fixed"><predecessor link="crank"/><successor link="rocker"/></loop>'] * 2), "second loop", None),
    "missing parent": (urdf(A, B, revolute("j", "zzz", "b")), "missing link", None),
    "missing child": (urdf(A, revolute("j", "a", "zzz")), "missing link", None),
    "child of two": (urdf(A, B, bar("c"), J, revolute("k", "c", "b")), "already the child of joint 'j'", None),
    "itself": (urdf(A, revolute("j", "a", "a")), "as parent and child", None),
    "cycle": (urdf(A, B, J, revolute("k", "b", "a")), "form a cycle", None),
    "cycle beside a root": (urdf(bar("r"), A, B, J, revolute("k", "b", "a")), "form a cycle", None),
    "two roots": (urdf(A, B), "hangs on nothing", None),
    "world as child": (urdf("<link name='world'/>", A, revolute("j", "a", "world")), "world as its child", None),
    "unknown joint type": (urdf(A, B, J.replace("revolute", "magic")), "type 'magic'", None),
    "no axis": (urdf(A, B, J.replace("0 0 1", "0 0 0")), "no direction", None),
    "two numbers": (urdf(A, B, J.replace("0 0 1", "0 1")), "holds 2 numbers; give 3", None),
    "nan": (urdf(A.replace('value="1.0"', 'value="nan"')), "not a finite number", None),
    "infinite": (urdf(A.replace('value="1.0"', 'value="inf"')), "not a finite number", None),
    "overflow": (urdf(A.replace('value="1.0"', 'value="1e999"')), "beyond 1e", None),
    "huge": (urdf(A.replace('value="1.0"', 'value="1e200"')), "beyond 1e", None),
    "words": (urdf(A.replace('value="1.0"', 'value="heavy"')), "'heavy' is not a finite number", None),
    "underscore": (urdf(A.replace('value="1.0"', 'value="1_0"')), "not a finite number", None),
    "negative mass": (urdf(A.replace('value="1.0"', 'value="-1"')), "must not be negative", None),
    "negative inertia": (urdf(A.replace('ixx="0.001"', 'ixx="-0.1"')), "negative principal moment", None),
    "impossible inertia": (urdf(A, B, J, bar("c").replace('ixx="0.001"', 'ixx="9"'), revolute("k", "b", "c", axis="1 0 0")), "accept_inertia", None),
    "negative damping": (urdf(A, B, J.replace('damping="0.1"', 'damping="-1"')), "must be a number not below zero", None),
    "limits exchanged": (urdf(A, B, J.replace('lower="-3"', 'lower="4"')), "lower 4.0 above upper", None),
    "loop without end": (urdf(A, B, J, '<loop name="x" type="fixed"><predecessor link="a"/></loop>'), "no <successor>", None),
    "loop to nothing": (urdf(A, B, J, '<loop name="x" type="fixed"><predecessor link="a"/><successor link="q"/></loop>'), "missing link", None),
    "loop to itself": (urdf(A, B, J, '<loop name="x" type="fixed"><predecessor link="a"/><successor link="a"/></loop>'), "move as one", None),
    "loop of no type": (urdf(A, B, J, '<loop name="x"><predecessor link="a"/><successor link="b"/></loop>'), "no attribute 'type'", None),
    "loop of unknown type": (urdf(A, B, J, '<loop name="x" type="knot"><predecessor link="a"/><successor link="b"/></loop>'), "type 'knot'", None),
    "coupling to nothing": (urdf(A, B, J, '<coupling name="x"><predecessor link="a"/><successor link="q"/></coupling>'), "missing link", None),
    "coupling of one link": (urdf(A, B, J, '<coupling name="x"><predecessor link="a"/><successor link="a"/></coupling>'), "move as one", None),
    "coupling over a free joint": (urdf(A, B, J.replace("revolute", "floating"), '<coupling name="x"><predecessor link="a"/><successor link="b"/></coupling>'), "of one coordinate", None),
    "mimic of nothing": (urdf(A, B, J.replace("</joint>", '<mimic joint="zzz"/></joint>')), "missing joint", None),
    "mimic of itself": (urdf(A, B, J.replace("</joint>", '<mimic joint="j"/></joint>')), "to itself", None),
    "unknown loop": (urdf(A, "<my_loop_constraint/>"), "looks like a loop", None),
    "drake without bodies": (urdf(A, "<drake:ball_constraint/>"), "names no body_A", None),
    "bad size": (urdf(A.replace('radius="0.02"', 'radius="-1"')), "must not be negative", None),
    "deep": ("<robot name='r'>" + "<a>" * 5000 + "</a>" * 5000 + "</robot>", "nested 101 deep", None),
    "many": (urdf("<a/>" * 60_000), "a model may have 50000 elements", None),
    "many bodies": (urdf(LINK.format(0), *(LINK.format(k) + HINGE.format(k, k - 1) for k in range(1, 10_100))), "limits allow 10000", None),
    "far couplings": (urdf(LINK.format(0), *(LINK.format(k) + HINGE.format(k, k - 1) for k in range(1, 3_000)), *(f'<coupling name="x{k}"><predecessor link="l{k}"/><successor link="l{2_999 - k}"/></coupling>' for k in range(1, 1_400))), "above 200000; raise limits", None),
    "far loops": (urdf(LINK.format(0), *(LINK.format(k) + HINGE.format(k, k - 1) for k in range(1, 3_000)), *(f'<loop name="x{k}" type="fixed"><predecessor link="l{k}"/><successor link="l{2_999 - k}"/></loop>' for k in range(1, 1_400))), "above 200000; raise limits", None),
    "tangled clusters": (urdf(LINK.format(0), *(LINK.format(2 * k) + HINGE.format(2 * k, 0) + LINK.format(2 * k + 1) + HINGE.format(2 * k + 1, 2 * k) for k in range(1, 1_500)), *(f'<coupling name="x{k}"><dependent joint="j{2 * k + 1}"><term joint="j{2 * k + 3}"/></dependent></coupling>' for k in range(1, 1_499))).replace("<joint", "<joint independent='false'", 2), "too many ways", None),
    "long names": (urdf(*(f"<link name='{'x' * 2_000}{k}'/>" for k in range(4_000)), HINGE.format(1, 0)), "missing link", None),
    "many attributes": ("<robot " + " ".join(f"a{k}='1'" for k in range(10_000)) + "/>", "attributes", 1),
    "long name": (urdf(f"<link name='{'x' * 200_000}'/>", A), "hangs on nothing", None),
    "mjcf nan": (mjcf(BODY.replace("0.1", "nan")), "give finite numbers", 4),
    "mjcf schema": (mjcf(BODY.replace("<joint/>", "<joint magic='1'/>")), "MuJoCo refuses it", 4),
    "mjcf massless": (mjcf("<body name='b'><joint/></body>"), "MuJoCo refuses it", None),
    "mjcf bomb": (mjcf(f"<replicate count='30000'><replicate count='30000'>{BODY}</replicate></replicate>"), "elements", None),
    "mjcf copies": (mjcf(f"<replicate count='9000'>{BODY}</replicate>"), "9000 elements <body>; limits allow 1000", 4),
    "mjcf geoms": (mjcf(BODY + "<replicate count='90'><replicate count='90'><geom size='1'/></replicate></replicate>"), "elements <geom>; limits allow 4000", None),
    "mjcf sites": (mjcf(BODY + "<replicate count='9000'><site/></replicate>"), "elements <site>; limits allow 4000", None),
    "mjcf supertorus": (mjcf(BODY, "<asset><mesh name='m' builtin='supertorus' params='999 .3 1 1'/></asset>"), "numbers of at most 100", 2),
    "mjcf exponent": (mjcf(BODY, "<asset><mesh name='m' builtin='supertorus' params='1e3 .3 1 1'/></asset>"), "numbers of at most 100", 2),
    "mjcf many tori": (mjcf(BODY, "<asset>" + "".join(f"<mesh name='m{k}' builtin='supertorus' params='100 .3 1 1'/>" for k in range(9)) + "</asset>"), "above 50000 vertices", 2),
    "mjcf vertices": (mjcf(BODY, f"<asset><mesh name='m' vertex='{'1 2 3 ' * 60_000}'/></asset>"), "above 50000 vertices", 2),
    "mjcf params": (mjcf(BODY, "<asset><mesh name='m' builtin='plate' params='x'/></asset>"), "give numbers", 2),
    "mjcf keyframes": (mjcf(BODY.replace("<joint/>", "<freejoint/>").replace(" name='b'", "") * 390, "<keyframe>" + "<key/>" * 20_000 + "</keyframe>"), "20000 keyframes of 390 joints", None),
    "mjcf actuators": (mjcf(BODY.replace("<joint/>", "<joint name='j'/>"), "<actuator>" + "<motor joint='j'/>" * 5000 + "</actuator>"), "5000 actuators; limits allow 2000", 2),
    "mjcf muscles": (mjcf(BODY.replace("<joint/>", "<joint name='j' range='0 1'/>"), "<option timestep='1e-9'/><compiler><lengthrange inttotal='1e9' useexisting='false'/></compiler><actuator><muscle joint='j'/></actuator>"), None, None),
    "equal loops": (urdf(FOUR_BAR_LINKS, *(f'<loop name="x{k}" type="revolute"><predecessor link="crank"/><successor link="rocker"/><axis xyz="0 0 1"/></loop>' for k in range(400))), "one of 400 loops and couplings; 4 links may have 32", None),
    "wide coupling": (urdf(A, B, J, '<coupling name="x">' + "".join(f'<dependent joint="d{k}"><term joint="t{k}"/></dependent>' for k in range(20_000)) + "</coupling>"), "couples 20000 joints", None),
    "mjcf attach": (mjcf(BODY + "<attach model='x' body='b' prefix='p'/>"), "attaches a missing model", 4),
    "mjcf model outside": (mjcf(BODY, "<asset><model name='x' file='../x.xml'/></asset>"), "lies outside", 2),
    "mjcf model of no file": (mjcf(BODY, "<asset><model name='x' file='x.xml'/></asset>"), "is not in the model's directory", 2),
    "mjcf model in itself": (mjcf(BODY, "<asset><model name='x' file='model.xml'/></asset>"), "inside itself", 2),
    "mjcf missing include": (mjcf("<include file='nothing.xml'/>"), "is not in the model's directory", None),
    "mjcf missing mesh": (mjcf(BODY, "<asset><mesh file='x.stl'/></asset>"), "is not in the model's directory", 2),
    "mjcf outside mesh": (mjcf(BODY, "<asset><mesh file='../../x.stl'/></asset>"), "lies outside", 2),
    "mjcf absolute include": (mjcf("<include file='/etc/passwd'/>"), "lies outside", 4),
    "mjcf texture": (mjcf(BODY, "<asset><texture name='h' type='2d' file='/etc/passwd'/></asset>"), None, None),
    "mjcf height field outside": (mjcf(BODY, "<asset><hfield name='h' file='/etc/passwd' size='1 1 1 1'/></asset>"), "lies outside", 2),
    "mjcf height field": (mjcf(BODY, "<asset><hfield name='h' nrow='30000' ncol='30000' size='1 1 1 1'/></asset>"), "above 1000000 heights", 2),
    "mjcf height field of no rows": (mjcf(BODY, "<asset><hfield name='h' nrow='-3' ncol='-3' size='1 1 1 1'/></asset>"), "MuJoCo refuses it", None),
    "mjcf negative friction": (mjcf(BODY + "<geom size='1' friction='-1 0 0'/>"), "must not be negative", None),
    "mjcf pair of nothing": (mjcf(BODY, "<contact><pair geom1='x' geom2='y'/></contact>"), "MuJoCo refuses it", None),
    "mjcf exclude of nothing": (mjcf(BODY, "<contact><exclude body1='x' body2='y'/></contact>"), "MuJoCo refuses it", None),
    "mjcf memory": (mjcf(BODY, "<size memory='900G'/>"), None, None),
    "mjcf tendon equality": (mjcf(BODY, "<tendon><fixed name='t'><joint joint='j' coef='1'/></fixed></tendon><equality><tendon tendon1='t'/></equality>").replace("<joint/>", "<joint name='j'/>").replace("coef='1'", "coef='0'"), "says nothing about any joint", None),
    "mjcf sensors that remember": (mjcf(BODY, "<sensor><clock nsample='2000000000' delay='1'/></sensor>"), None, None),
    "mjcf actuators that remember": (mjcf(BODY, "<actuator><motor joint='j' nsample='2000000000' delay='1'/></actuator>").replace("<joint/>", "<joint name='j'/>"), "nsample is '2000000000'", None),
    "sdf two models": ("<sdf><model name='a'/><model name='b'/></sdf>", "has no links", 1),
    "sdf equal models": ("<sdf><model name='a'/><model name='a'/></sdf>", "a second model is named 'a'", 1),
    "sdf no model": ("<sdf><world name='a'/></sdf>", "holds 1 worlds and 0 models", 1),
    "sdf without links": ("<sdf><model name='a'/></sdf>", "has no links", 1),
    "sdf include": ("<sdf><world><include><uri>model://x</uri></include></world></sdf>", "is not in the model's directory", 1),
}  # fmt: skip
OWN = '{"format": "kinloop-mechanism", "version": 2, %s}'
BINARY = {
    "null bytes": b"<robot name='r'>\x00</robot>",
    "utf-32": urdf(A).encode("utf-32"),
    "latin-1": urdf("<link name='\u00e9'/>").encode("latin-1"),
    "not text": bytes(range(256)) * 10,
    "zip": b"PK\x03\x04" + bytes(100),
    "json of another kind": b'{"format": "x"}',
    "json frames": OWN % '"frames": [%s]' % ", ".join(f'{{"name": "f{k}", "body": "x"}}' for k in range(16_000)),
    "json keyframes": OWN % '"keyframes": [%s]' % ", ".join(f'{{"name": "f{k}", "q": [0]}}' for k in range(49_000)),
    "json shapes": OWN % '"world_geometry": [%s]' % ", ".join(['{"kind": "box", "size": [1, 1, 1]}'] * 5_000),
    "json actuators": OWN % '"actuators": [%s]' % ", ".join(["{}"] * 2_000),
    "json loops": OWN % '"loops": [%s]' % ", ".join(["{}"] * 100),
    "json entries": OWN % '"loops": [], "frames": [%s]' % ", ".join(["{}"] * 60_000),
    "json cut": b'{"format": "kinloop-mechanism", "version": 2, "bodies": [',
}


def check(error: ModelFileError, path: Path) -> None:
    assert error.file == str(path) and error.line >= 1 and error.element and error.reason
    assert str(error).startswith(f"{path}:{error.line}: ")
    assert isinstance(error, ModelError)


@pytest.fixture(autouse=True, scope="module")
def libraries():
    """Import MuJoCo before any clock runs: the first import takes up to two seconds of a cold machine, whatever the file."""
    with contextlib.suppress(ImportError):
        import mujoco  # noqa: F401


def seconds() -> float:
    """What this process and those it started have computed so far [s]: others on the machine do not count."""
    return sum(os.times()[:4])


@pytest.mark.filterwarnings("ignore::kinloop.io.ModelWarning")
@pytest.mark.parametrize("name", sorted(CASES))
def test_hand_written_mistakes_are_named(tmp_path, name):
    text, reason, line = CASES[name]
    path = write(tmp_path, text, "model.xml")
    start = seconds()
    if reason is None:
        load(path)
    else:
        with pytest.raises(ModelFileError, match=reason) as error:
            load(path)
        check(error.value, path)
        assert line is None or error.value.line == line
    assert seconds() - start < 2.0


@pytest.mark.parametrize("name", sorted(BINARY))
def test_what_is_not_text_is_refused(tmp_path, name):
    path = tmp_path / "model.urdf"
    content = BINARY[name]
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    start = seconds()
    with pytest.raises(ModelFileError) as error:
        load(path)
    check(error.value, path)
    assert seconds() - start < 2.0


def test_utf_16_with_a_mark_is_read(tmp_path):
    path = tmp_path / "model.urdf"
    path.write_bytes(("<?xml version='1.0' encoding='utf-16'?>" + urdf(A)).encode("utf-16"))
    assert load(path).bodies[0].name == "a"


def test_places_that_are_not_files_are_refused(tmp_path):
    with pytest.raises(ModelFileError, match="cannot be read"):
        load(tmp_path / "nothing.urdf")
    with pytest.raises(ModelFileError, match=r"cannot be read|not a regular file"):
        load(tmp_path)
    if Path("/dev/zero").exists():
        with pytest.raises(ModelFileError, match="not a regular file"):
            load("/dev/zero")
    if hasattr(sys.modules["os"], "mkfifo"):
        import os

        os.mkfifo(tmp_path / "pipe.urdf")
        with pytest.raises(ModelFileError, match="not a regular file"):
            load(tmp_path / "pipe.urdf")
    with pytest.raises(ModelFileError):
        load("a\0b")


def large_models() -> dict[str, tuple[str, int]]:
    """Honest files of thousands of bodies, and how many: chains, stars, gears along a chain, four-bars on each other."""
    chain = [LINK.format(0), *(LINK.format(k) + HINGE.format(k, k - 1) for k in range(1, 5_000))]
    gears = [
        f'<coupling name="x{k}"><predecessor link="l{k}"/><successor link="l{k + 1}"/></coupling>'
        for k in range(1, 2_000)
    ]
    bars = [LINK.format(0)]
    for k in range(1, 3_000, 3):
        on = k - 1
        bars += [LINK.format(k), HINGE.format(k, on), LINK.format(k + 1), HINGE.format(k + 1, k), LINK.format(k + 2)]
        bars += [HINGE.format(k + 2, on)]
        bars += [f'<loop name="x{k}" type="revolute"><predecessor link="l{k + 1}"/><successor link="l{k + 2}"/></loop>']
    return {
        "chain": (urdf(*chain), 5_000),
        "star": (urdf(LINK.format(0), *(LINK.format(k) + HINGE.format(k, 0) for k in range(1, 5_000))), 5_000),
        "gears": (urdf(*chain[:4_000], *gears), 4_000),
        "four-bars": (urdf(*bars).replace("<joint", "<joint independent='false'", 3), 3_001),
        "mjcf": (mjcf(f"<replicate count='1000'>{BODY}</replicate>"), 1_000),
    }


@pytest.mark.filterwarnings("ignore::kinloop.io.ModelWarning")
@pytest.mark.parametrize("name", ["chain", "star", "gears", "four-bars", "mjcf"])
def test_thousands_of_bodies_are_read_in_time(tmp_path, name):
    text, bodies = large_models()[name]
    path = write(tmp_path, text, "model.xml")
    start = seconds()
    assert len(load(path).bodies) == bodies
    assert seconds() - start < 2.0


def test_caps_can_be_raised_and_lowered(tmp_path):
    path = write(tmp_path, urdf(A, B, J))
    with pytest.raises(ModelFileError, match="more than 10 bytes"):
        load(path, limits=Limits(file_bytes=10))
    with pytest.raises(ModelFileError, match="limits allow 1"):
        load(path, limits=Limits(bodies=1))


def outcome(path: Path) -> str:
    """How a mutated file ends: as a valid robot or as an error of ours; anything else is raised."""
    start = seconds()
    try:
        m = load(path)
    except ModelFileError as error:
        assert error.line >= 1 and error.element and error.reason and error.file
        result = "refused"
    else:
        for b in m.bodies:
            assert np.isfinite(b.mass) and b.mass >= 0 and np.all(np.isfinite(b.inertia)) and np.all(np.isfinite(b.com))
            assert np.linalg.eigvalsh(b.inertia)[0] >= -1e-9 * np.max(np.abs(b.inertia))
        result = "loaded"
    assert seconds() - start < 2.0
    return result


def run_mutations(tmp_path: Path, name: str, seeds: range) -> None:
    path = tmp_path / "model.xml"
    ends = {"refused": 0, "loaded": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        for seed in seeds:
            path.write_bytes(mutate(XML[name].encode(), seed))
            try:
                ends[outcome(path)] += 1
            except Exception as error:
                raise AssertionError(f"mutation {seed} of {name} ends in {type(error).__name__}: {error}") from error
    assert ends["refused"] and ends["loaded"]


@pytest.mark.parametrize("name", sorted(XML))
def test_mutated_files_load_or_are_refused(tmp_path, name):
    run_mutations(tmp_path, name, range(350))


@pytest.mark.filterwarnings("ignore::kinloop.io.ModelWarning")
@pytest.mark.parametrize("name", ["urdf_plus", "mjcf"])
def test_mutated_files_of_our_own_format_load_or_are_refused(tmp_path, name):
    from kinloop.io.own.write_own import dumps

    text = dumps(load(write(tmp_path, XML[name])))
    rng, path = np.random.default_rng(0), tmp_path / "m.json"
    ends = set()
    values = [None, -1, "x", [], {}, [[1]], True, 1e308, "inf", 10**400, [1, 2, 3], {"kind": "revolute"}]
    for _ in range(300):
        changed = json.loads(text)
        at = changed
        while isinstance(at, dict | list) and at:
            keys = list(at) if isinstance(at, dict) else list(range(len(at)))
            key = keys[int(rng.integers(len(keys)))]
            if rng.random() < 0.3 or not isinstance(at[key], dict | list) or not at[key]:
                at[key] = values[int(rng.integers(len(values)))]
                break
            at = at[key]
        path.write_text(json.dumps(changed))
        ends.add(outcome(path))
    assert ends == {"refused", "loaded"}


SPY = """
import json, os, resource, sys, warnings
warnings.simplefilter("ignore")
import mujoco
import kinloop.io
from kinloop.errors import ModelError
opened, slowest = [], 0.0
sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)
for path in json.loads(sys.argv[1]):
    start = sum(os.times()[:4])
    try:
        kinloop.io.load(path)
    except ModelError as error:
        pass
    slowest = max(slowest, sum(os.times()[:4]) - start)
try:  # this program's own peak; ru_maxrss would count the process it was forked from too
    peak = int(next(x for x in open("/proc/self/status") if x.startswith("VmHWM")).split()[1])
except OSError:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps([[x for x in opened if x != "/proc/self/status"], slowest, peak / 1024]))
"""


def spy(paths: list[Path]) -> tuple[list[str], float, float]:
    """Files opened, slowest load [s] and memory [MB] of loading files in a fresh process."""
    command = [sys.executable, "-c", SPY, json.dumps([str(p) for p in paths])]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    return tuple(json.loads(done.stdout.splitlines()[-1]))  # type: ignore[return-value]


def test_nothing_outside_the_roots_is_opened(tmp_path):
    pytest.importorskip("mujoco")
    outside, inside = tmp_path / "outside", tmp_path / "model"
    outside.mkdir()
    inside.mkdir()
    for name in ("canary.stl", "canary.xml", "canary.yaml"):
        (outside / name).write_text("<mujocoinclude/>" if name.endswith("xml") else "closed_loop: [[a, b]]")
    (inside / "link.stl").symlink_to(outside / "canary.stl")
    (inside / "link.xml").symlink_to(outside / "canary.xml")
    (inside / "folder").symlink_to(outside)
    ways = ["../outside/canary{}", str(outside / "canary{}"), "link{}", "folder/canary{}", "file://" + str(outside / "canary{}"),
            "package://../outside/canary{}", "package://model/../../outside/canary{}"]  # fmt: skip
    paths = []
    for k, way in enumerate(ways):
        mesh = f'<visual><geometry><mesh filename="{way.format(".stl")}"/></geometry></visual></link>'
        paths.append(write(inside, urdf(A.replace("</link>", mesh)), f"u{k}.urdf"))
        paths.append(write(inside, mjcf(BODY, f"<asset><mesh file='{way.format('.stl')}'/></asset>"), f"m{k}.xml"))
        paths.append(write(inside, mjcf(f"<include file='{way.format('.xml')}'/>{BODY}"), f"i{k}.xml"))
    paths.append(
        write(inside, mjcf(BODY, f"<compiler meshdir='{outside}'/><asset><mesh file='canary.stl'/></asset>"), "d.xml")
    )
    paths.append(write(inside, urdf(A, B, J), "y.urdf"))
    (inside / "y.yaml").symlink_to(outside / "canary.yaml")
    opened, _, _ = spy(paths)
    assert any(str(inside) in name for name in opened)
    assert not [
        name for name in opened if "canary" in name or str(outside) in name or name.endswith(("link.stl", "link.xml"))
    ]


def test_mujoco_is_given_bytes_and_no_paths(tmp_path):
    pytest.importorskip("mujoco")
    from kinloop.io.mjcf.brought_files import BroughtFiles
    from kinloop.io.mjcf.safe_source import Cleaner
    from kinloop.io.shared.file_errors import Notes
    from kinloop.io.shared.paths import Roots
    from kinloop.io.shared.reading_options import Options
    from kinloop.io.shared.safe_xml import parse_xml

    (tmp_path / "part.stl").write_bytes(b"solid")
    text = mjcf(
        BODY, "<compiler meshdir='.' texturedir='/'/><asset><mesh file='part.stl'/><texture file='/x.png'/></asset>"
    )
    root = parse_xml(text.encode(), "m.xml", Limits())
    files = BroughtFiles(Options().limits)
    source = Cleaner(tmp_path / "m.xml", Roots(tmp_path), Notes(), files).clean(root)
    assert files.assets == {"mesh0.stl": b"solid"} and 'file="mesh0.stl"' in source.text()
    assert "dir=" not in source.text() and "x.png" not in source.text()


def test_time_and_memory_stay_bounded(tmp_path):
    pytest.importorskip("mujoco")
    heavy = [name for name in CASES if name.startswith("mjcf")] + ["equal loops", "wide coupling"]
    heavy += ["entity bomb", "deep", "many", "many bodies", "many attributes", "long name", "long names"]
    heavy += ["far couplings", "far loops", "tangled clusters"]
    texts = [*(CASES[name][0] for name in heavy), *(text for text, _ in large_models().values())]
    paths = [write(tmp_path, text, f"{k}.xml") for k, text in enumerate(texts)]
    big = tmp_path / "big.urdf"
    big.write_bytes(b"<robot name='" + b"x" * 9_900_000 + b"'><link name='a'/></robot>")
    spaces = tmp_path / "spaces.urdf"
    spaces.write_bytes(b"<robot>" + b" " * 50_000_000)
    _, slowest, memory = spy([*paths, big, spaces])
    assert slowest < 2.0 and memory < 500


def test_included_files_are_spliced_and_blamed(tmp_path):
    (tmp_path / "parts.xml").write_text(
        f"<mujocoinclude>\n{BODY}\n<body name='c'><joint magic='1'/></body></mujocoinclude>"
    )
    path = write(tmp_path, mjcf("<include file='parts.xml'/>"))
    with pytest.raises(ModelFileError) as error:
        load(path)
    assert error.value.file.endswith("parts.xml") and error.value.line == 3
    (tmp_path / "parts.xml").write_text(f"<mujocoinclude>{BODY}</mujocoinclude>")
    assert [b.name for b in load(path).bodies] == ["b"]
    (tmp_path / "parts.xml").write_text("<mujocoinclude><include file='parts.xml'/></mujocoinclude>")
    with pytest.raises(ModelFileError, match="a second time"):
        load(path)
    assert load(write(tmp_path, MJCF)).name == "four_bar"
