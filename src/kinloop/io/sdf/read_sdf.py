"""SDFormat, as much as robots use: links by their poses, joints, and loops where links have several parents.

A spanning tree is taken through the joints in the order of the file, each link on the first joint whose child
it is; joints left over close loops. A joint whose parent turns out to hang on its child is turned round.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kinloop.io.sdf.sdf_parts import SILENT, Poses, axis_of, gearbox, joint_figures, joint_kind, read_link, turned
from kinloop.io.shared.draft import Draft
from kinloop.io.shared.entries import Options
from kinloop.io.shared.failure import Notes
from kinloop.io.shared.parse_numbers import exact_pose
from kinloop.io.shared.paths import Roots
from kinloop.io.shared.safe_xml import Node
from kinloop.io.shared.shape_tags import Shapes
from kinloop.io.urdf.loop_tags import LOOP_TAGS, looks_like_a_loop, read_loop
from kinloop.model import WORLD, Frame, Joint, LoopJoint, Mechanism
from kinloop.model import joints as jt
from kinloop.spatial import Transform, rotation_quaternion


@dataclass(eq=False)
class _Joint:
    """A joint of the file: its ends and the pose of its frame in the model at rest."""

    node: Node
    name: str
    kind: str
    parent: str
    child: str
    at: Transform


def read_sdf(root: Node, path: Path, roots: Roots, options: Options, notes: Notes) -> Mechanism:
    """The mechanism of the one model in an `<sdf>`."""
    models = [n for n in root.walk() if n.tag == "model"]
    if len(models) != 1 or any(n.tag == "include" for n in root.walk()):
        raise root.error(f"holds {len(models)} models or includes; kinloop reads files with exactly one model")
    model = models[0]
    draft = Draft(model.get("name") or path.stem, model.where, options, notes)
    reader = _Reader(draft, model, Shapes(roots, notes, options.limits.shapes))
    reader.links()
    reader.joints()
    for node in model:
        if node.tag in LOOP_TAGS:
            read_loop(draft, node)
        elif node.tag not in SILENT:
            if looks_like_a_loop(node.tag):
                raise node.error("looks like a loop that kinloop does not know; write it as a joint, or remove it")
            notes.warn(node.where, "is not an element that kinloop knows; it is left out", dropped=True)
    reader.shapes.report()
    return draft.finish()


class _Reader:
    """Links and joints of one model put into a draft."""

    def __init__(self, draft: Draft, model: Node, shapes: Shapes) -> None:
        self.draft, self.model, self.shapes = draft, model, shapes
        self.poses = Poses(model)
        self.entry: dict[str, tuple[str, Transform]] = {WORLD: (WORLD, Transform.identity())}
        """The draft's link of every link of the file, and the pose of that link in the model at rest."""

    def links(self) -> None:
        names: set[str] = set()
        for node in self.model.all("link"):
            name = node.attribute("name")
            if name in names or name == WORLD:
                raise node.error(f"a second link is named {name!r}; link names must be unique")
            if len(names) >= 4 * self.draft.options.limits.bodies:
                raise node.error(f"is link number {len(names) + 1}, more than limits allow")
            names.add(name)

    def joints(self) -> None:
        nodes = {n.attribute("name"): n for n in self.model.all("link")}
        joints = [self._joint(n, nodes) for n in self.model.all("joint")]
        plain = [j for j in joints if j.kind != "gearbox"]
        order, rest = self._tree(plain, list(nodes))
        for name, joint, turn in order:
            self._place(nodes[name], name, joint, turn)
        place = {j.name: k for k, j in enumerate(joints)}
        in_file_order = sorted(self.draft.joints.values(), key=lambda j: place.get(j.name, -1))
        self.draft.joints = {j.name: j for j in in_file_order}
        for joint in rest:
            self._loop(joint)
        for joint in joints:
            if joint.kind == "gearbox":
                where = joint.node.where
                self.draft.add_coupling(gearbox(joint.node, joint.name, self.entry, self.draft, self.poses), where)

    def _joint(self, node: Node, links: dict[str, Node]) -> _Joint:
        name, kind = node.attribute("name"), node.attribute("type")
        ends = []
        for end in ("parent", "child"):
            link = node.need(end).text or node.need(end).get("link") or ""
            if link not in links and link != WORLD:
                raise node.error(f"has the {end} {link!r}, which is not a link of this model; name one of its links")
            ends.append(link)
        if ends[0] == ends[1]:
            raise node.error(f"has {ends[0]!r} as parent and child; a joint needs two different links")
        if kind != "gearbox":
            joint_kind(node, kind)
        return _Joint(node, name, kind, ends[0], ends[1], self.poses.joint(node, ends[1]))

    def _tree(
        self, joints: list[_Joint], links: list[str]
    ) -> tuple[list[tuple[str, _Joint | None, bool]], list[_Joint]]:
        """Links in order from the roots with the joint that carries each (turned?), and joints left over."""
        chosen = _spanning(joints, links)
        near: dict[str, list[_Joint]] = {}
        for j in chosen:
            near.setdefault(j.parent, []).append(j)
            near.setdefault(j.child, []).append(j)
        children = {j.child for j in chosen}
        out: list[tuple[str, _Joint | None, bool]] = []
        seen: set[str] = set()
        for root in (WORLD, *(name for name in links if name not in children), *links):
            if root in seen:
                continue
            seen.add(root)
            if root != WORLD:
                out.append((root, None, False))
            waiting = [root]
            while waiting:
                at = waiting.pop()
                for j in near.get(at, []):
                    other = j.child if j.parent == at else j.parent
                    if other not in seen:
                        seen.add(other)
                        out.append((other, j, j.child == at))
                        waiting.append(other)
        return out, [j for j in joints if j not in chosen]

    def _place(self, node: Node, name: str, joint: _Joint | None, turn: bool) -> None:
        """Add a link; its frame is put on the joint that carries it, and its own frame kept by name."""
        T_ML = self.poses.link(name)
        at = T_ML if joint is None else Transform(T_ML.R, joint.at.p)
        moved = joint is not None and not np.allclose(at.p, T_ML.p, rtol=0, atol=1e-12)
        at = at if moved else T_ML
        link = f"{name}@{joint.name}" if joint is not None and moved else name
        own = at.inverse().then(T_ML)
        self.draft.add_link(read_link(node, link, own if moved else Transform.identity(), self.shapes))
        self.entry[name] = link, at
        with node.where.blamed():
            if moved:
                self.draft.frames.append((Frame(name, link, exact_pose(own.p, own.R)), node.where))
            if joint is None:
                self._root(node, link, at)
                return
            above, T = self.entry[joint.child if turn else joint.parent]
            where = T.inverse().then(at)
            kind = joint_kind(joint.node, joint.kind)(axis_of(joint.node, joint.at, at, self.poses))
            kind = turned(kind) if turn else kind
            figures = joint_figures(joint.node, kind)
            self.draft.add_joint(
                Joint(joint.name, above, link, kind, exact_pose(where.p, where.R), **figures), joint.node.where
            )

    def _root(self, node: Node, link: str, at: Transform) -> None:
        """A root is free, as SDF says, unless the model is static or the user fixes the base."""
        static = self.model.first("static")
        fixed = self.draft.options.floating_base is False or (static is not None and static.text in ("1", "true"))
        name = self.draft._fresh("root_joint")
        if fixed:
            joint = Joint(name, WORLD, link, jt.Fixed(), exact_pose(at.p, at.R))
        else:
            home = (*map(float, at.p), *map(float, rotation_quaternion(at.R)))
            joint = Joint(name, WORLD, link, jt.Free(), home=home)
        self.draft.add_joint(joint, node.where)

    def _loop(self, joint: _Joint) -> None:
        """A joint that closes a loop; its frames coincide where the model is drawn."""
        (P, T_P), (S, T_S) = self.entry[joint.parent], self.entry[joint.child]
        frame = Transform(T_S.R, joint.at.p)
        with joint.node.where.blamed():
            kind = joint_kind(joint.node, joint.kind)(axis_of(joint.node, joint.at, frame, self.poses))
            at_P, at_S = T_P.inverse().then(frame), T_S.inverse().then(frame)
            ends = exact_pose(at_P.p, at_P.R), exact_pose(at_S.p, at_S.R)
            self.draft.add_loop(LoopJoint(joint.name, P, S, kind, *ends), joint.node.where)


def _spanning(joints: list[_Joint], links: list[str]) -> dict[_Joint, None]:
    """Joints of a spanning tree: first those whose child is not carried yet, then what else joins parts."""
    group = {name: name for name in (*links, WORLD)}

    def find(x: str) -> str:
        while group[x] != x:
            group[x] = group[group[x]]
            x = group[x]
        return x

    carried: set[str] = {WORLD}
    chosen: dict[_Joint, None] = {}
    for forward in (True, False):
        for j in joints:
            if j in chosen or (forward and j.child in carried):
                continue
            if find(j.parent) != find(j.child):
                group[find(j.parent)] = find(j.child)
                carried.add(j.child)
                chosen[j] = None
    return chosen
