"""The mechanism of a robot's description: links that move as one become one body, their names stay as frames."""

from __future__ import annotations

from dataclasses import replace

from kinloop.io.shared.exact_poses import composed
from kinloop.io.shared.link_tree import LinkTree, span_links
from kinloop.io.shared.lumping import Lump, make_bodies
from kinloop.io.shared.remap_annotations import carried_weights, remap_actuator, remap_sensor, remap_tendon
from kinloop.io.shared.remap_closures import Places, independent_joints, remap_coupling, remap_loop
from kinloop.io.shared.robot_description import PathCoupling, RobotDescription
from kinloop.model import WORLD, Frame, Mechanism
from kinloop.spatial import Transform


def make_mechanism(d: RobotDescription) -> Mechanism:
    """The mechanism, checked."""
    if not d.links:
        raise d.where.error("has no links; a model needs at least one")
    most = d.options.limits.closures(len(d.links))
    if len(d.closures) > most:
        where = [w for _, w in (*d.loops, *d.couplings)][most]
        raise where.error(f"is one of {len(d.closures)} loops and couplings; {len(d.links)} links may have {most}")
    places = {c.name: where for c, where in (*d.loops, *d.couplings)}
    d.notes.places = {link.name: link.where for link in d.links.values()} | d.places | places
    tree = span_links(d)
    _check_reach(d, tree)
    lumps, of = _lump(d, tree)
    if not lumps:
        raise d.where.error("has no body besides the world; a robot needs at least one")
    if len(lumps) > d.options.limits.bodies:
        raise d.where.error(f"has {len(lumps)} bodies; limits allow {d.options.limits.bodies}")
    with d.where.blamed():
        return _mechanism(d, tree, lumps, of)


def _check_reach(d: RobotDescription, tree: LinkTree) -> None:
    """Refuse loops and couplings with too many joints between their ends: the work on each grows with them."""
    left = d.options.limits.reach
    for closure, where in (*d.loops, *d.couplings):
        ends = (closure.predecessor, closure.successor) if isinstance(closure, PathCoupling) else closure.ends
        if ends is None or not all(end in tree.depth for end in ends):
            continue
        left -= sum(map(len, tree.between(*ends, most=left)))
        if left < 0:
            most = d.options.limits.reach
            raise where.error(f"brings the joints between the ends of loops and couplings above {most}; raise limits")


def _lump(d: RobotDescription, tree: LinkTree) -> tuple[list[Lump], Places]:
    """Bodies of links that move as one, and the place of every link in its body.

    A link whose sensors feel what holds it stays a body.
    """
    of: dict[str, tuple[str, Transform]] = {WORLD: (WORLD, Transform.identity())}
    lumps: dict[str, Lump] = {}
    held = {s.frame.body for s in d.sensors if s.frame is not None and s.kind in ("force", "torque")}
    for name in tree.order:
        joint = tree.carriers[name]
        body, T = of[joint.parent]
        if joint.type.nv == 0 and body != WORLD and not d.options.keep_fixed and name not in held:
            of[name] = body, T.then(joint.placement)
        else:
            of[name] = name, Transform.identity()
            lumps[name] = Lump(name)
        lumps[of[name][0]].add(d.links[name], of[name][1])
    return list(lumps.values()), of


def _mechanism(d: RobotDescription, tree: LinkTree, lumps: list[Lump], of: Places) -> Mechanism:
    joints = {}
    for j in tree.joints.values():
        if of[j.child][0] == j.child:
            body, T = of[j.parent]
            placement = composed(T, j.placement)
            same = body == j.parent and placement is j.placement
            joints[j.name] = j if same else replace(j, parent=body, placement=placement)
    loops = tuple(remap_loop(loop, of, where) for loop, where in d.loops)
    couplings = tuple(remap_coupling(c, where, joints, tree, d.dependent) for c, where in d.couplings)
    geared = {name for c in couplings for name in (*c.dependent, *c.independent)}
    accept = d.options.accept_inertia
    bodies = make_bodies(lumps, tree.carriers, geared, accept, d.notes)
    shapes = d.world_geometry or (d.links[WORLD].geometry if WORLD in d.links else ())
    m = Mechanism(
        d.name, bodies, tuple(joints.values()), loops, couplings, _frames(d, of, {b.name for b in bodies}),
        gravity=d.gravity, actuators=tuple(remap_actuator(a, of) for a in d.actuators), keyframes=tuple(d.keyframes),
        motors=tuple(d.motors), world_geometry=tuple(shapes), contact_rules=d.contact_rules, inactive=tuple(d.inactive),
        warnings=tuple(d.notes.lines), source=d.where.file,
        tendons=tuple(remap_tendon(t, of) for t in d.tendons), carried=carried_weights(d.carried, of),
        sensors=tuple(remap_sensor(s, of) for s in d.sensors),
    )  # fmt: skip
    marked = d.dependent & set(joints)
    if not marked:
        return m
    independent = independent_joints(m, marked, tree.places, d.notes, d.options.limits.reach // 2)
    return replace(m, independent=independent, warnings=tuple(d.notes.lines))


def _frames(d: RobotDescription, of: Places, bodies: set[str]) -> tuple[Frame, ...]:
    """Frames for the names of lumped links, and the file's own."""
    frames = {name: Frame(name, *place) for name, place in of.items() if name not in bodies and name != WORLD}
    for f, where in d.frames:
        if f.name in of or f.name in frames:
            raise where.error(f"frame {f.name!r} has the name of another frame or link; names must be unique")
        body, T = of[f.body]
        if body != WORLD:
            frames[f.name] = Frame(f.name, body, composed(T, f.placement))
    return tuple(frames.values())
