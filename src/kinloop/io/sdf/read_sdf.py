"""SDFormat, as much as robots use: links by their poses, joints, and loops where links have several parents."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from kinloop.io.sdf.sdf_gearboxes import Gearboxes
from kinloop.io.sdf.sdf_joint_parameters import joint_parameters, read_mimics, warn_of_loop
from kinloop.io.sdf.sdf_joints import SdfJoint, turned_round, type_maker
from kinloop.io.sdf.sdf_links import read_link
from kinloop.io.sdf.sdf_poses import Poses
from kinloop.io.sdf.sdf_scopes import Scopes
from kinloop.io.sdf.sdf_shapes import SdfShapes
from kinloop.io.sdf.sdf_spanning_tree import Carried, spanning_tree
from kinloop.io.shared.exact_poses import exact_pose, free_position
from kinloop.io.shared.file_errors import Notes
from kinloop.io.shared.make_mechanism import make_mechanism
from kinloop.io.shared.parse_numbers import child_truth, child_vector
from kinloop.io.shared.paths import Roots
from kinloop.io.shared.reading_options import Options
from kinloop.io.shared.robot_description import RobotDescription
from kinloop.io.shared.safe_xml import Node
from kinloop.io.urdf.loop_tags import LOOP_TAGS, read_loop
from kinloop.model import WORLD, Frame, Joint, LoopJoint, Mechanism
from kinloop.model import joints as jt
from kinloop.spatial import Transform

WORLD_GRAVITY = (0.0, 0.0, -9.8)
"""Gravity of an SDF world that does not say another [m/s^2]."""
SAME_PLACE = 1e-12
"""A joint nearer than this to its link's origin lies on it [m]."""


def is_same(one: Transform, two: Transform) -> bool:
    """Whether two poses are the same, but for rounding."""
    return np.allclose(one.p, two.p, rtol=0, atol=1e-9) and np.allclose(one.R, two.R, rtol=0, atol=1e-9)


def read_sdf(root: Node, path: Path, roots: Roots, options: Options, notes: Notes) -> Mechanism:
    """The mechanism of the models in an `<sdf>`."""
    scopes = Scopes(roots, options.limits, notes)
    model = scopes.one_model(root)
    description = RobotDescription(model.get("name") or path.stem, model.where, options, notes)
    for world in root.all("world"):
        if world.all("model") or world.all("include"):
            description.gravity = np.array(child_vector(world, "gravity", WORLD_GRAVITY))
    shapes = SdfShapes(roots, notes, options.limits.shapes, Poses(model))
    _ModelReader(description, model, shapes, scopes.static).read()
    for node in model:
        if node.tag in LOOP_TAGS:
            read_loop(description, node)
    shapes.report()
    return make_mechanism(description)


class _ModelReader:
    """Links and joints of one model put into a description."""

    def __init__(self, description: RobotDescription, model: Node, shapes: SdfShapes, still: set[str]) -> None:
        self.description, self.model, self.shapes = description, model, shapes
        self.poses = shapes.poses
        self.placed: dict[str, tuple[str, Transform]] = {WORLD: (WORLD, self.poses.world())}
        """The description's link of every link of the file, and the pose of that link in the model at rest."""
        self.static = child_truth(model, "static")
        self.still = still
        """Links of static models beside others, whose shapes are the world's."""

    def read(self) -> None:
        links = self._links()
        if self.static and self.model.all("joint"):
            reason = "is static, which holds its joints still in SDF; here its base is fixed and its joints move"
            self.description.notes.warn(self.model.where, reason)
        for name in self.still & set(links):
            at = self.poses.in_world(self.poses.link(name))
            self.description.world_geometry += self.shapes.read(links.pop(name), at)
            self.placed[name] = self.placed[WORLD]
        joints = [self._joint(n, links) for n in self.model if n.tag in ("joint", "drake:joint")]
        carried, left_over = spanning_tree([j for j in joints if j.kind != "gearbox"], list(links))
        for entry in carried:
            self._place(links[entry.link], entry)
        number = {j.name: k for k, j in enumerate(joints)}
        in_file_order = sorted(self.description.joints.values(), key=lambda j: number.get(j.name, -1))
        self.description.joints = {j.name: j for j in in_file_order}
        for joint in left_over:
            self._loop(joint)
        gearboxes = Gearboxes(self.placed, self.description.joints, self.poses)
        for joint in joints:
            if joint.kind == "gearbox":
                coupling = gearboxes.read(joint.node, joint.name)
                self.description.add_coupling(coupling, joint.node.where)
                warn_of_loop(joint.node, self.description.notes)
            for mimic, node in read_mimics(joint.node, joint.name):
                self.description.add_coupling(mimic, node.where)

    def _links(self) -> dict[str, Node]:
        links: dict[str, Node] = {}
        for node in self.model.all("link"):
            name = node.attribute("name")
            if name in links or name == WORLD:
                raise node.error(f"a second link is named {name!r}; link names must be unique")
            if len(links) >= self.description.options.limits.links:
                raise node.error(f"is link number {len(links) + 1}, more than limits allow")
            links[name] = node
        return links

    def _joint(self, node: Node, links: dict[str, Node]) -> SdfJoint:
        name, kind = node.attribute("name"), node.attribute("type")
        drake = "drake:" if node.tag == "drake:joint" else ""
        if (kind == "planar") != bool(drake):
            raise node.error(f"has the type {kind!r}; joints of Drake are planar, and others are not")
        frames = [
            node.need(drake + end).text or node.need(drake + end).get("link") or "" for end in ("parent", "child")
        ]
        ends = [self._end(frame, node) for frame in frames]
        if ends[0] == ends[1]:
            raise node.error(f"has {ends[0]!r} as parent and child; a joint needs two different links")
        if kind != "gearbox":
            type_maker(node, kind)  # refuses types it does not know
        at = self.poses.joint(node, frames[1])
        if drake and not is_same(at, self.poses.frame(frames[0], node)):
            raise node.error(f"joins {frames[0]!r} and {frames[1]!r}, which lie apart at rest; let them coincide")
        return SdfJoint(node, name, kind, ends[0], ends[1], at)

    def _end(self, frame: str, node: Node) -> str:
        """The link at an end of a joint, which may be named by a frame fixed to it."""
        link = self.poses.link_below(frame, node)
        return WORLD if link in self.still else link

    def _place(self, node: Node, carried: Carried) -> None:
        """Add a link; its frame is put on the joint that carries it, and its own frame kept by name."""
        name, joint, turned = carried
        T_ML = self.poses.link(name)
        at, link = T_ML, name
        if joint is not None and not np.allclose(joint.at.p, T_ML.p, rtol=0, atol=SAME_PLACE):
            at, link = Transform(T_ML.R, joint.at.p), f"{name}@{joint.name}"
        own = Transform.identity() if link == name else at.inverse().then(T_ML)
        self.description.add_link(read_link(node, link, own, self.shapes, self.description.notes))
        self.placed[name] = link, at
        with node.blamed():
            if link != name:
                self.description.frames.append((Frame(name, link, exact_pose(own.p, own.R)), node.where))
            if joint is None:
                self._root(node, link, at)
            else:
                self._carry(joint, turned, link, at)

    def _carry(self, joint: SdfJoint, turned: bool, link: str, at: Transform) -> None:
        """Add the tree joint that carries a link, from the end that the tree reaches first."""
        above, T = self.placed[joint.child if turned else joint.parent]
        where = T.inverse().then(at)
        kind = joint.type_in(at, self.poses)
        kind = turned_round(kind) if turned else kind
        parameters = joint_parameters(joint.node, kind, self.description.notes)
        made = Joint(joint.name, above, link, kind, exact_pose(where.p, where.R), **parameters)
        self.description.add_joint(made, joint.node.where)

    def _root(self, node: Node, link: str, at: Transform) -> None:
        """A root is free, as SDF says, unless the model is static or the user fixes the base."""
        fixed = self.description.options.floating_base is False or self.static
        at = self.poses.in_world(at)
        name = self.description.unused_joint_name("root_joint")
        if fixed:
            joint = Joint(name, WORLD, link, jt.Fixed(), exact_pose(at.p, at.R))
        else:
            joint = Joint(name, WORLD, link, jt.Free(), home=free_position(at))
        self.description.add_joint(joint, node.where)

    def _loop(self, joint: SdfJoint) -> None:
        """A joint that closes a loop; its frames coincide where the model is drawn."""
        (P, T_P), (S, T_S) = self.placed[joint.parent], self.placed[joint.child]
        frame = Transform(T_S.R, joint.at.p)
        with joint.node.blamed():
            at_P, at_S = T_P.inverse().then(frame), T_S.inverse().then(frame)
            ends = exact_pose(at_P.p, at_P.R), exact_pose(at_S.p, at_S.R)
            loop = LoopJoint(joint.name, P, S, joint.type_in(frame, self.poses), *ends)
            self.description.add_loop(loop, joint.node.where)
            warn_of_loop(joint.node, self.description.notes)
