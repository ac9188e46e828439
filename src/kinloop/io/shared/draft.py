"""A robot as a file tells it: links, joints and loops with the places they were read from.

`Draft.finish` checks the tree, lumps links behind fixed joints into the body that carries them (their
names stay as frames), and makes the `Mechanism`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from kinloop.errors import unknown
from kinloop.io.shared.entries import Link, Options, PathCoupling
from kinloop.io.shared.failure import Notes, Where
from kinloop.io.shared.lumping import Lump, make_body
from kinloop.io.shared.remap_closures import remap_coupling, remap_loop, wanted
from kinloop.model import WORLD, Coupling, Frame, Joint, Loop, Mechanism
from kinloop.model.frame import composed
from kinloop.model.joints import Fixed, Free
from kinloop.spatial import Transform


@dataclass
class Draft:
    """Everything a file says, by the file's own names."""

    name: str
    where: Where
    options: Options
    notes: Notes
    links: dict[str, Link] = field(default_factory=dict)
    joints: dict[str, Joint] = field(default_factory=dict)
    places: dict[str, Where] = field(default_factory=dict)
    loops: list[tuple[Loop, Where]] = field(default_factory=list)
    couplings: list[tuple[Coupling | PathCoupling, Where]] = field(default_factory=list)
    frames: list[tuple[Frame, Where]] = field(default_factory=list)
    constraints: set[str] = field(default_factory=set)
    dependent: set[str] = field(default_factory=set)
    gravity: Any = (0.0, 0.0, -9.81)
    extras: dict = field(default_factory=dict)

    def add_link(self, link: Link) -> None:
        if link.name in self.links:
            raise link.where.error(f"a second link is named {link.name!r}; link names must be unique")
        if len(self.links) >= 4 * self.options.limits.bodies:
            raise link.where.error(f"is link number {len(self.links) + 1}, more than limits allow")
        self.links[link.name] = link

    def add_joint(self, joint: Joint, where: Where) -> None:
        if joint.name in self.joints:
            raise where.error(f"a second joint is named {joint.name!r}; joint names must be unique")
        self.joints[joint.name] = joint
        self.places[joint.name] = where

    def add_loop(self, loop: Loop, where: Where) -> None:
        self._new_constraint(loop.name, where)
        self.loops.append((loop, where))

    def add_coupling(self, coupling: Coupling | PathCoupling, where: Where) -> None:
        self._new_constraint(coupling.name, where)
        self.couplings.append((coupling, where))

    def _new_constraint(self, name: str, where: Where) -> None:
        if name in self.constraints:
            raise where.error(f"a second loop or coupling is named {name!r}; their names must be unique")
        if len(self.constraints) >= 4 * self.options.limits.bodies:
            raise where.error(f"is loop or coupling number {len(self.constraints) + 1}, more than limits allow")
        self.constraints.add(name)

    def known_link(self, name: str, where: Where, world: bool = True) -> str:
        """`name`, if the file has such a link (or it is the world)."""
        if name not in self.links and not (world and name == WORLD):
            raise where.error(f"refers to a missing link: {unknown('link', name, self.links)}")
        return name

    def finish(self) -> Mechanism:
        """The mechanism, checked."""
        if not self.links:
            raise self.where.error("has no links; a model needs at least one")
        carriers = self._carriers()
        self._root(carriers)
        order = self._order(carriers)
        lumps, of = self._lump(order, carriers)
        if not lumps:
            raise self.where.error("has no body besides the world; a robot needs at least one")
        if len(lumps) > self.options.limits.bodies:
            raise self.where.error(f"has {len(lumps)} bodies; limits allow {self.options.limits.bodies}")
        with self.where.blamed():
            return self._mechanism(lumps, of, carriers)

    def _carriers(self) -> dict[str, Joint]:
        """The joint that carries each link."""
        carriers: dict[str, Joint] = {}
        for j in self.joints.values():
            where = self.places[j.name]
            self.known_link(j.parent, where)
            self.known_link(j.child, where, world=False)
            if j.parent == j.child:
                raise where.error(f"has {j.child!r} as parent and child; a joint needs two different links")
            if j.child in carriers:
                raise where.error(
                    f"link {j.child!r} is already the child of joint {carriers[j.child].name!r}; "
                    "a link has one parent, write the other joint as a loop"
                )
            carriers[j.child] = j
        return carriers

    def _root(self, carriers: dict[str, Joint]) -> None:
        """Tie the root link to the world as the user wants; a link named world is the world."""
        if WORLD in carriers:
            raise self.places[carriers[WORLD].name].error("has the world as its child; turn the joint round")
        roots = [name for name in self.links if name not in carriers and name != WORLD]
        floating = self.options.floating_base
        if WORLD in self.links:
            self.extras.setdefault("world_geometry", self.links[WORLD].geometry)
            if roots:
                raise self.links[roots[0]].where.error(
                    f"link {roots[0]!r} hangs on nothing; add a joint that carries it"
                )
            self._root_joints(carriers, floating)
            return
        if not roots:
            if any(j.parent == WORLD for j in carriers.values()):
                self._root_joints(carriers, floating)
                return
            raise self.where.error("has no root link: its joints form a cycle; write one of them as a loop")
        if len(roots) > 1:
            raise self.links[roots[1]].where.error(
                f"link {roots[1]!r} hangs on nothing, as root {roots[0]!r} does; a model has one root, add a joint"
            )
        name = self._fresh("root_joint")
        joint = Joint(name, WORLD, roots[0], Free() if floating else Fixed())
        self.joints = {name: joint, **self.joints}
        self.places[name] = self.links[roots[0]].where
        carriers[roots[0]] = joint

    def _fresh(self, name: str) -> str:
        while name in self.joints:
            name += "_"
        return name

    def _root_joints(self, carriers: dict[str, Joint], floating: bool | None) -> None:
        """Free or fix what hangs on a link named world, where the user asks for it."""
        if floating is None:
            return
        bases = [j for j in carriers.values() if j.parent == WORLD]
        for j in bases:
            if not (j.type.nv == 0 if floating else j.type.is_free):
                continue
            if floating and len(bases) > 1:
                raise self.places[j.name].error(
                    f"floating_base=True needs one base, and {len(bases)} joints start at the world; use None"
                )
            new = replace(j, type=Free() if floating else Fixed(), home=None)
            self.joints[j.name] = carriers[j.child] = new

    def _order(self, carriers: dict[str, Joint]) -> list[str]:
        """Links, parents before children, in the order of their joints."""
        children: dict[str, list[str]] = {}
        for j in self.joints.values():
            children.setdefault(j.parent, []).append(j.child)
        order, waiting = [], [WORLD]
        while waiting:
            at = waiting.pop()
            order.append(at)
            waiting.extend(reversed(children.get(at, [])))
        reached = set(order)
        missing = [name for name in self.links if name not in reached and name != WORLD]
        if missing:
            where = self.places[carriers[missing[0]].name]
            raise where.error(f"tree joints form a cycle through link {missing[0]!r}; write one of them as a loop")
        return order[1:]

    def _lump(
        self, order: list[str], carriers: dict[str, Joint]
    ) -> tuple[list[Lump], dict[str, tuple[str, Transform]]]:
        """Bodies of links that move as one, and the place of every link in its body."""
        of: dict[str, tuple[str, Transform]] = {WORLD: (WORLD, Transform.identity())}
        lumps: dict[str, Lump] = {}
        for name in order:
            joint = carriers[name]
            body, T = of[joint.parent]
            if joint.type.nv == 0 and body != WORLD and not self.options.keep_fixed:
                of[name] = body, T.then(joint.placement)
            else:
                of[name] = name, Transform.identity()
                lumps[name] = Lump(name)
            lumps[of[name][0]].add(self.links[name], of[name][1])
        return list(lumps.values()), of

    def _mechanism(
        self, lumps: list[Lump], of: dict[str, tuple[str, Transform]], carriers: dict[str, Joint]
    ) -> Mechanism:
        joints = {}
        for j in self.joints.values():
            if of[j.child][0] == j.child:
                body, T = of[j.parent]
                joints[j.name] = replace(j, parent=body, placement=composed(T, j.placement))
        loops = tuple(remap_loop(loop, of, where) for loop, where in self.loops)
        couplings = tuple(remap_coupling(c, where, joints, carriers, self.dependent) for c, where in self.couplings)
        geared = {name for c in couplings for name in (*c.dependent, *c.independent)}
        accept = self.options.accept_inertia
        bodies = [make_body(lump, carriers, geared, accept, self.notes) for lump in lumps]
        frames = self._frames(of, {b.name for b in bodies})
        m = Mechanism(
            self.name,
            tuple(bodies),
            tuple(joints.values()),
            loops,
            couplings,
            frames,
            (),
            self.gravity,
            (),
            self.extras,
        )
        independent = wanted(m, self.dependent & set(joints), self.places, self.notes)
        self.extras["warnings"] = self.notes.lines
        return replace(m, independent=independent) if independent else m

    def _frames(self, of: dict[str, tuple[str, Transform]], bodies: set[str]) -> tuple[Frame, ...]:
        """Frames for the names of lumped links, and the file's own."""
        frames = {name: Frame(name, *place) for name, place in of.items() if name not in bodies and name != WORLD}
        for f, where in self.frames:
            if f.name in of or f.name in frames:
                raise where.error(f"frame {f.name!r} has the name of another frame or link; names must be unique")
            body, T = of[f.body]
            if body != WORLD:
                frames[f.name] = Frame(f.name, body, composed(T, f.placement))
        return tuple(frames.values())
