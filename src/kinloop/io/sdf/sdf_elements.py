"""Every element of SDFormat 1.6 to 1.11 that a model meets, and what becomes of it.

An element is read, means nothing to the motion of a robot, is listed in the mechanism's warnings, or is refused by
name. Nothing else happens to it: an element that stands in no table is listed too, and refused where it looks like a
loop.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kinloop.io.shared.file_errors import Notes
from kinloop.io.shared.safe_xml import Node
from kinloop.io.urdf.loop_tags import LOOP_TAGS, looks_like_a_loop


@dataclass(frozen=True)
class Treatment:
    """What becomes of an element: "read", "silent", "listed" (in warnings), "dropped" (announced too), "refused".

    `reason` is what the warning or error says; an element whose text is one of `harmless` has no effect anyway.
    """

    kind: str
    reason: str = ""
    harmless: tuple[str, ...] = ()


READ, SILENT = Treatment("read"), Treatment("silent")
FALSE, TRUE, ZERO = ("", "0", "false"), ("", "1", "true"), ("", "0", "0.0", "0.")
PLUGIN = Treatment("listed", "is a program of a simulator, which kinloop does not run")
CONTACT = Treatment("listed", "says how contacts feel; give the simulator's ground what you need")
DRAKE_SOFTNESS = (
    "drake:mesh_resolution_hint drake:hydroelastic_modulus drake:hunt_crossley_dissipation drake:rigid_hydroelastic "
    "drake:compliant_hydroelastic drake:relaxation_time drake:point_contact_stiffness drake:hydroelastic_margin"
)
WIND = Treatment("dropped", "asks for wind, which kinloop does not model", FALSE)
DENSITY = Treatment("listed", "is used by automatic inertia only; mass and inertia are taken as written")
OLD_FRAME = Treatment("dropped", "is a frame of SDF 1.5, which nothing here is relative to")


def _table(read: str = "", silent: str = "", **others: Treatment) -> dict[str, Treatment]:
    return {**dict.fromkeys(read.split(), READ), **dict.fromkeys(silent.split(), SILENT), **others}


_AXIS = _table(
    "xyz dynamics limit use_parent_model_frame mimic drake:rotor_inertia drake:gear_ratio",
    initial_position=Treatment("dropped", "gives a joint a first position; start the robot there instead", ZERO),
)  # fmt: skip

ELEMENTS: Mapping[str, Mapping[str, Treatment]] = {
    "sdf": _table("model world", "light", actor=Treatment("dropped", "is an actor, moved by a script; it is left out")),
    "world": _table(
        "model include frame joint gravity", "audio magnetic_field gui scene light road spherical_coordinates name",
        wind=Treatment("dropped", "asks for wind, which kinloop does not model"),
        atmosphere=Treatment("listed", "describes air, which kinloop does not model"),
        physics=Treatment("listed", "sets up another simulator; give kinloop's simulator its step and integrator"),
        actor=Treatment("dropped", "is an actor, moved by a script; it is left out"),
        plugin=PLUGIN,
        state=Treatment("dropped", "gives a state of the world; start the robot there instead"),
        population=Treatment("refused", "multiplies models; write them out"),
    ),
    "model": _table(
        "static frame pose link joint include model drake:joint", "self_collide allow_auto_disable",
        **dict.fromkeys(LOOP_TAGS, READ),
        enable_wind=WIND, plugin=PLUGIN,
        gripper=Treatment("listed", "lets a simulator grasp by itself, which kinloop does not"),
    ),
    "include": _table("uri name pose static placement_frame", plugin=PLUGIN),
    "drake:joint": _table("drake:parent drake:child drake:damping"),
    "link": _table(
        "pose inertial collision visual",
        "self_collide sensor projector audio_sink audio_source battery light particle_emitter",
        gravity=Treatment("dropped", "exempts a link from gravity, which acts on every body here", TRUE),
        enable_wind=WIND, plugin=PLUGIN, frame=OLD_FRAME,
        kinematic=Treatment("refused", "is moved by a script and not by forces; remove it, or the link", FALSE),
        must_be_base_link=Treatment(
            "refused", "asks for a free joint besides those of the model; remove it", FALSE),
        velocity_decay=Treatment("dropped", "damps a link by itself, which kinloop does not model"),
    ),
    "inertial": _table(
        "mass pose inertia", density=DENSITY, auto_inertia_params=DENSITY, frame=OLD_FRAME,
        fluid_added_mass=Treatment("dropped", "adds the mass of a fluid, which kinloop does not model"),
    ),
    "inertia": _table("ixx iyy izz ixy ixz iyz"),
    "frame": _table("pose"),
    "joint": _table(
        "parent child pose axis axis2 gearbox_ratio gearbox_reference_body thread_pitch screw_thread_pitch "
        "drake:rotor_inertia drake:gear_ratio drake:mimic",
        "sensor", frame=OLD_FRAME, plugin=PLUGIN,
        physics=Treatment("listed", "sets up a joint of another simulator"),
    ),
    "axis": _AXIS,
    "axis2": _AXIS,
    "dynamics": _table("damping friction spring_reference spring_stiffness"),
    "limit": _table(
        "lower upper effort velocity",
        stiffness=Treatment("listed", "makes a joint stop soft; stops are rigid here", ("", "1e8", "1e+08")),
        dissipation=Treatment("listed", "makes a joint stop soft; stops are rigid here", ("", "1", "1.0")),
    ),
    "mimic": _table("multiplier offset reference"),
    "collision": _table(
        "pose geometry surface drake:proximity_properties", "laser_retro max_contacts", density=DENSITY,
        auto_inertia_params=DENSITY, frame=OLD_FRAME,
    ),
    "surface": _table("friction contact", bounce=CONTACT, soft_contact=CONTACT),
    "friction": _table("ode torsional", bullet=CONTACT),
    "ode": _table("mu mu2 fdir1", slip1=CONTACT, slip2=CONTACT),
    "torsional": _table("coefficient use_patch_radius patch_radius", surface_radius=CONTACT, ode=CONTACT),
    "contact": _table(
        "collide_bitmask", ode=CONTACT, bullet=CONTACT, collide_without_contact=CONTACT,
        collide_without_contact_bitmask=CONTACT, category_bitmask=CONTACT,
        poissons_ratio=CONTACT, elastic_modulus=CONTACT,
    ),
    "drake:proximity_properties": _table(
        "drake:mu_static", "drake:mu_dynamic", **dict.fromkeys(DRAKE_SOFTNESS.split(), CONTACT),
    ),
    "visual": _table(
        "pose geometry", "cast_shadows laser_retro transparency visibility_flags meta material", plugin=PLUGIN,
        frame=OLD_FRAME,
    ),
    "geometry": _table(
        "box sphere cylinder capsule ellipsoid plane mesh empty cone heightmap image polyline"  # noted by ShapeReader
    ),
    "box": _table("size"),
    "sphere": _table("radius"),
    "cylinder": _table("radius length"),
    "capsule": _table("radius length"),
    "ellipsoid": _table("radii"),
    "plane": _table("size", normal=Treatment("dropped", "tilts a plane; planes here face along z of their pose",
                                             ("", "0 0 1", "0 0 1.0", "0.0 0.0 1.0"))),
    "mesh": _table(
        "uri scale", "convex_decomposition",
        submesh=Treatment("dropped", "chooses a part of a mesh; the whole mesh is shown"),
    ),
}  # fmt: skip
"""By the tag of an element that is read: what becomes of each of its children."""

UNKNOWN = Treatment("dropped", "is not an element that kinloop knows; it is left out")


def treatment(parent: str, tag: str) -> Treatment:
    """What becomes of an element inside another that is read."""
    return ELEMENTS.get(parent, {}).get(tag, UNKNOWN)


def check_elements(root: Node, notes: Notes) -> None:
    """Refuse or list what is not read; elements of one kind are listed together."""
    listed: dict[tuple[str, str], list[Node]] = {}
    waiting = [root]
    while waiting:
        node = waiting.pop()
        for child in node:
            found = treatment(node.tag, child.tag)
            if found.kind == "refused" and child.text.lower() not in found.harmless:
                raise child.error(found.reason)
            if found is UNKNOWN and looks_like_a_loop(child.tag):
                raise child.error("looks like a loop that kinloop does not know; write it as a joint, or remove it")
            if found.kind in ("listed", "dropped") and child.text.lower() not in found.harmless:
                listed.setdefault((node.tag, child.tag), []).append(child)
        waiting.extend(reversed([c for c in node if treatment(node.tag, c.tag) is READ and c.tag in ELEMENTS]))
    for (parent, tag), nodes in listed.items():
        found, more = treatment(parent, tag), f" (and {len(nodes) - 1} more)" if len(nodes) > 1 else ""
        notes.warn(nodes[0].where, f"{found.reason}{more}", dropped=found.kind == "dropped")
