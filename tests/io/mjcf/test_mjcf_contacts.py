# ruff: noqa: E501  (model text)
"""What MJCF says about contact, against MuJoCo's own model and its own contacts."""

import struct
import warnings
import zlib

import mujoco
import numpy as np
import pytest
from io_samples import shared, write

from kinloop.io import ModelFileError, load
from kinloop.io.own.write_own import save
from kinloop.model import ContactRules, Surface, convex_hulls
from kinloop.sim import Collisions
from kinloop.sim.contact.scene import make_scene
from kinloop.spatial import apply_pose

SCENE = """<mujoco><asset>
<mesh name="wedge" vertex="0 0 0  1 0 0  0 1 0  0 0 1  0.1 0.1 0.1  0.2 0.1 0.1" scale="0.1 0.2 0.3" refpos="0.01 0 0"/>
<hfield name="hills" nrow="2" ncol="3" size="1 2 0.5 0.1" elevation="0 1 2  3 4 5"/></asset>
<worldbody>
<geom name="floor" type="plane" size="0 0 1" friction="0.7 0.01 0.002" euler="0 10 0" pos="0 0 -0.3"/>
<geom name="land" type="hfield" hfield="hills" pos="5 0 0"/>
<body name="a"><freejoint/><geom name="ball" size="0.1" condim="6" priority="2" contype="4" conaffinity="2" margin="0.01" gap="0.002" solref="0.01 0.9" solimp="0.8 0.9 0.01 0.5 2"/>
<body name="tip" pos="0 0 0.2"><geom name="egg" type="ellipsoid" size="0.1 0.2 0.3"/></body>
<body name="b" pos="1 0 0"><joint pos="0 0 0.1"/><geom name="wedge" type="mesh" mesh="wedge" pos="0.1 0 0" euler="20 0 0"/>
<geom name="ghost" type="box" size="0.1 0.1 0.1" contype="0" conaffinity="0"/><geom type="cylinder" size="0.1 0.2" contype="0" conaffinity="0"/></body></body>
</worldbody>
<contact><exclude body1="tip" body2="b"/><exclude body1="world" body2="a"/><pair name="p" geom1="floor" geom2="ghost" condim="4" friction="0.5 0.6 0.01 0.02 0.03" margin="0.1" gap="0.05" solref="0.03 1" solreffriction="0.04 1" solimp="0.7 0.8 0.02 0.4 3"/></contact>
</mujoco>"""


def scene(tmp_path, text=SCENE):
    path = write(tmp_path, text, "model.xml")
    m = load(path)
    return (
        m,
        mujoco.MjModel.from_xml_path(str(path)),
        {g.name: g for b in m.bodies for g in b.geometry} | {g.name: g for g in m.world_geometry},
    )


def test_surfaces_are_those_of_the_file(tmp_path):
    m, _, shapes = scene(tmp_path)
    assert shapes["floor"].surface == Surface((0.7, 0.01, 0.002))
    assert shapes["ball"].surface == Surface(
        (1.0, 0.005, 0.0001), 6, 4, 2, 2, 0.01, 0.002, (0.01, 0.9), (0.8, 0.9, 0.01, 0.5, 2.0)
    )
    assert (shapes["ghost"].role, shapes["geom6"].role) == ("collision", "visual"), (
        "a pair makes a shape one of contact"
    )
    assert shapes["geom6"].surface is None
    assert shapes["egg"].link == "tip" and shapes["ball"].link == ""
    assert np.allclose(shapes["floor"].placement.p, [0, 0, -0.3])
    (pair,) = m.contact_rules.pairs
    assert (pair.name, pair.shape1, pair.shape2, pair.condim) == ("p", "floor", "ghost", 4)
    assert pair.friction == (0.5, 0.6, 0.01, 0.02, 0.03) and (pair.margin, pair.gap) == (0.1, 0.05)
    assert (pair.solref, pair.solreffriction, pair.solimp) == ((0.03, 1.0), (0.04, 1.0), (0.7, 0.8, 0.02, 0.4, 3.0))
    excluded = set(map(frozenset, m.contact_rules.exclude))
    assert excluded == {frozenset(("tip", "b@b_joint")), frozenset(("world", "a"))}
    assert m.contact_rules.filter_parents and m.contact_rules.enabled


def test_flags_switch_contact_and_the_filter_of_parents_off(tmp_path):
    flags = '<option><flag contact="disable" filterparent="disable"/></option>'
    m, _, _ = scene(tmp_path, SCENE.replace("<asset>", flags + "<asset>", 1))
    assert (m.contact_rules.filter_parents, m.contact_rules.enabled) == (False, False)


def test_vertices_of_a_mesh_are_where_mujoco_has_them(tmp_path):
    _, model, shapes = scene(tmp_path)
    wedge = shapes["wedge"]
    ours = apply_pose(wedge.placement, np.zeros(3)) + wedge.vertices @ wedge.placement.R.T
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    geom = data.geom("wedge")
    theirs = model.mesh_vert @ geom.xmat.reshape(3, 3).T + geom.xpos
    body = data.body("b")
    theirs = (theirs - body.xpos) @ body.xmat.reshape(3, 3) - [0, 0, 0.1]
    assert len(ours) == 4, "points inside a hull are not its vertices"
    assert max(np.min(np.linalg.norm(theirs - x, axis=1)) for x in ours) < 1e-7
    assert convex_hulls([wedge])[0] is wedge.vertices


def test_heights_are_those_that_mujoco_measures_with_rays(tmp_path):
    _, model, shapes = scene(tmp_path)
    land = shapes["land"]
    assert land.kind == "heightfield" and land.size == (2.0, 4.0, 0.1) and land.heights.shape == (2, 3)
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    for i, j in np.ndindex(2, 3):
        at = np.array([5.0 + (j - 1) * 0.999999, (2 * i - 1) * 1.999999, 3.0])
        distance = mujoco.mj_rayHfield(model, data, 1, at, np.array([0.0, 0.0, -1.0]), None)
        assert 3.0 - distance == pytest.approx(land.heights[i, j], abs=1e-5)


def test_what_is_said_of_contact_survives_our_own_format(tmp_path):
    m, _, _ = scene(tmp_path)
    save(m, tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    assert again.contact_rules == m.contact_rules != ContactRules()
    for one, two in zip(
        [*m.world_geometry, *m.bodies[0].geometry, *m.bodies[1].geometry],
        [*again.world_geometry, *again.bodies[0].geometry, *again.bodies[1].geometry],
        strict=True,
    ):
        assert (one.surface, one.link, one.role) == (two.surface, two.link, two.role)
        for key in ("vertices", "heights"):
            assert np.array_equal(getattr(one, key), getattr(two, key))


def chunk(kind, content):
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def png(width, height, pixels, extra=b""):
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + extra
        + chunk(b"IDAT", zlib.compress(pixels))
        + chunk(b"IEND", b"")
    )


FILE = SCENE.replace('nrow="2" ncol="3"', 'file="hills.png"').replace(' elevation="0 1 2  3 4 5"', "")


def test_heights_of_pictures_and_of_binary_files(tmp_path):
    (tmp_path / "hills.png").write_bytes(png(3, 2, b"\0\0\x40\x80\0\xff\0\xff", chunk(b"tEXt", b"a\0b")))
    _, model, shapes = scene(tmp_path, FILE)
    assert np.allclose(shapes["land"].heights.ravel(), 0.5 * model.hfield_data, atol=1e-7) and model.nhfielddata == 6
    (tmp_path / "hills.png").write_bytes(struct.pack("<ii6f", 3, 2, *range(6)))
    _, _, shapes = scene(tmp_path, FILE.replace('hills.png"', 'hills.png" content_type="image/vnd.mujoco.hfield"'))
    assert np.allclose(shapes["land"].heights, [[0, 0.1], [0.2, 0.3], [0.4, 0.5]])


@pytest.mark.parametrize(
    "content, reason",
    [
        (png(3000, 3000, b""), "3000 x 3000 pixels; limits allow 1000000"),
        (png(3, 2, bytes(10_000_000)), "unpacks to more than its 3 x 2 pixels"),
        (png(3, 2, b"")[:40], "not whole"),
        (png(3, 2, b"").replace(b"IDAT", b"IDAx"), "not whole"),
        (b"\x89PNG\r\n\x1a\n", "not whole"),
        (png(3, 2, b"").replace(zlib.compress(b""), b"abcdefgh"), "cannot be unpacked"),
        (png(3, 2, b""), "MuJoCo refuses it"),
        (b"", "neither a PNG"),
        (struct.pack("<ii", 70_000, 70_000), "neither a PNG"),
        (struct.pack("<iif", -1, -1, 1.0), "neither a PNG"),
    ],
)
def test_pictures_that_are_none_are_refused(tmp_path, content, reason):
    (tmp_path / "hills.png").write_bytes(content)
    with pytest.raises(ModelFileError, match=reason):
        load(write(tmp_path, FILE, "model.xml"))


def test_an_unnamed_geom_has_a_name_of_its_own(tmp_path):
    _, _, shapes = scene(
        tmp_path, SCENE.replace('name="ghost"', 'name="geom6"').replace('geom2="ghost"', 'geom2="geom6"')
    )
    assert shapes["geom6"].kind == "box" and shapes["geom6_"].kind == "cylinder"


def test_shapes_of_real_robots_are_all_there():
    for name in ("agility_cassie/cassie.xml", "robotiq_2f85/2f85.xml"):
        path = shared(f"menagerie/{name}")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            m, model = load(path), mujoco.MjModel.from_xml_path(str(path))
        found = [*m.world_geometry, *(g for b in m.bodies for g in b.geometry)]
        touching = [g for g in found if g.surface is not None]
        assert len(found) == model.ngeom and len(touching) == np.sum((model.geom_contype | model.geom_conaffinity) != 0)
        assert all(g.vertices is not None for g in touching if g.kind == "mesh")
        assert len(m.contact_rules.exclude) == model.nexclude


@pytest.mark.parametrize("pair", ["", '<contact><pair geom1="floor" geom2="ball" margin="0.03" gap="0.01"/></contact>'])
def test_contacts_begin_where_mujocos_do(tmp_path, pair):
    """At the sum of both margins, or at that of a pair, whatever gaps there are."""
    if tuple(map(int, mujoco.__version__.split(".")[:2])) < (3, 9):
        pytest.skip("margins meant something else before")
    text = f"""<mujoco><worldbody><geom name="floor" type="plane" size="1 1 1" margin="0.01" gap="0.005"/>
    <body pos="0 0 0.101"><freejoint/><geom name="ball" size="0.1" margin="0.02" gap="0.004"/></body></worldbody>{pair}</mujoco>"""
    model, theirs, _ = scene(tmp_path, text)
    data = mujoco.MjData(theirs)
    mujoco.mj_forward(theirs, data)
    (touching,) = make_scene(model.build(), Collisions(), None).pairs
    assert touching.margin == pytest.approx(data.contact.includemargin[0], abs=1e-15)
