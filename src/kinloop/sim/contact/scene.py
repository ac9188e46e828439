"""The shapes of a scene that may touch: those of all bodies and of the world, and the pairs of them that count.

Which pairs count, and how rough they are, is what the model says, by MuJoCo's rules: a bit of the `contype` of one
shape is set in the `conaffinity` of the other; neither body carries the other, unless the world does; the pair is not
excluded; of two surfaces the one of higher priority says friction, of equal ones the larger counts; pairs that are
listed may touch whatever else is said. What nothing here knows is named in a warning.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from kinloop.errors import MethodError
from kinloop.inputs import checked_count, checked_number
from kinloop.model import ContactPair, Geometry, Surface, Topology
from kinloop.robot import Robot
from kinloop.sim.contact.candidates import can_move
from kinloop.sim.contact.ground import Ground
from kinloop.sim.contact.scene_shapes import WORLD, Shape, ground_shape, is_large, listed_shapes, with_hulls
from kinloop.sim.contact.shapes import FORMULAS

CONVEX = {"sphere", "capsule", "box", "cylinder", "ellipsoid", "mesh"}
"""Kinds of which any two that have no formula are searched for (`searched_pairs`)."""

FIELDS = ("heightfield", "terrain")
"""Kinds over which any convex one is searched for."""

USUAL = 16
"""Contacts, and pairs of shapes of the same two kinds, that there is room for besides those of a robot at rest."""
SHOWN = 3
"""Names that a warning lists."""


@dataclass(frozen=True)
class Collisions:
    """Contact of all shapes of a scene with each other, as `Simulator(robot, collisions=...)` takes it.

    `friction` is that of shapes of which the model says nothing, `restitution` the part of the normal velocity that
    returns. In every step at most `contacts` points touch, and at most `pairs` pairs of shapes of the same two kinds
    are looked at, or as many as `room` finds fitting; of more the nearest count, and the row says so by its status.
    Shapes of two bodies in `exclude`, given by name, never touch.
    """

    friction: float = 1.0
    restitution: float = 0.0
    contacts: int | None = None
    pairs: int | None = None
    exclude: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        checked_number("friction", self.friction, "be a number not below zero", 0.0)
        checked_number("restitution", self.restitution, "lie between 0 and 1", 0.0, 1.0)
        for name in ("contacts", "pairs"):
            if getattr(self, name) is not None:
                checked_count(name, getattr(self, name))
        object.__setattr__(self, "exclude", tuple((str(a), str(b)) for a, b in self.exclude))


class Touching(NamedTuple):
    """Two shapes that may touch, by their places among all: friction along the surface, and where contact begins [m].

    `torsion` and `rolling` are friction about the normal and against rolling [m].
    """

    a: int
    b: int
    friction: float
    margin: float
    torsion: float = 0.0
    rolling: float = 0.0

    def exchanged(self) -> Touching:
        """The same, the second shape first."""
        return self._replace(a=self.b, b=self.a)


@dataclass(frozen=True)
class PairClass:
    """Pairs of shapes of the same two kinds."""

    kinds: tuple[str, str]
    pairs: tuple[Touching, ...]


class Room(NamedTuple):
    """Points of contact, and pairs of shapes of the same two kinds, that a step has room for."""

    contacts: int
    pairs: int


@dataclass(frozen=True)
class Scene:
    """All shapes, the pairs of them that have a formula, by kind, and convex pairs without one that are `searched`."""

    shapes: list[Shape]
    classes: list[PairClass]
    searched: tuple[Touching, ...]
    options: Collisions

    @property
    def pairs(self) -> list[Touching]:
        """All pairs, in the order in which they are numbered: those with a formula by kind, then those searched for."""
        return [*(pair for c in self.classes for pair in c.pairs), *self.searched]

    @property
    def rows(self) -> int:
        """Rows of a contact: three of forces, and where any has them one of torsion and two of rolling."""
        rolls, turns = (any(getattr(x, name) > 0.0 for x in self.pairs) for name in ("rolling", "torsion"))
        return 6 if rolls else 4 if turns else 3

    @property
    def room(self) -> Room:
        """What a step has room for."""
        return Room(self.options.contacts or USUAL, self.options.pairs or USUAL)

    @property
    def pair_names(self) -> list[tuple[str, str]]:
        """The names of the two shapes of every pair, by the number that a rollout records of it."""
        return [(self.shapes[x.a].name, self.shapes[x.b].name) for x in self.pairs]

    @property
    def key(self) -> tuple[Any, ...]:
        """What kernels depend on."""
        o = self.options
        pairs = tuple((c.kinds, tuple(map(tuple, c.pairs))) for c in self.classes)
        searched = (tuple(map(tuple, self.searched)),) if self.searched else ()
        return tuple(s.key for s in self.shapes), pairs, o.restitution, *self.room, *searched


def make_scene(robot: Robot, options: Collisions, ground: Ground | None) -> Scene:
    """The scene of a robot: its collision shapes, those of the world, and a plane as the ground if one is given."""
    known = {*robot.body_names, "world"}
    for name in (name for names in options.exclude for name in names):
        if name not in known:
            raise MethodError(f"collisions exclude {name!r}, which is no body; bodies are {', '.join(sorted(known))}")
    shapes, geometry = _all_shapes(robot, options, ground)
    allowed = _allowed(robot, shapes, options)
    hulls = {k: geometry[k] for k in sorted({k for x in allowed for k in (x.a, x.b)}) if shapes[k].kind == "mesh"}
    bare = {k for k, g in hulls.items() if g.vertices is None and g.path is None}
    shapes = with_hulls(shapes, {k: g for k, g in hulls.items() if k not in bare})
    found: dict[Any, list[Touching]] = {}
    for pair in allowed:
        kinds = shapes[pair.a].kind, shapes[pair.b].kind
        turned = kinds[::-1] in FORMULAS or kinds[0] in FIELDS or (kinds[1] not in FIELDS and kinds[0] > kinds[1])
        if kinds not in FORMULAS and turned:
            kinds, pair = (kinds[1], kinds[0]), pair.exchanged()
        way = "nothing" if {pair.a, pair.b} & bare else _way(shapes, pair)
        found.setdefault((way, *kinds, pair.b if kinds[1] == "heightfield" else WORLD), []).append(pair)
    _announce(shapes, found)
    order = {kinds: k for k, kinds in enumerate(FORMULAS)}
    with_formula = sorted((key for key in found if key[0] == "formula"), key=lambda key: (order[key[1:3]], key[3]))
    searched = tuple(pair for key, pairs in found.items() if key[0] == "search" for pair in pairs)
    if not with_formula and not searched:
        raise MethodError(f"no two shapes of {robot.name!r} and its world can touch; give it collision shapes")
    return Scene(shapes, [PairClass(key[1:3], tuple(found[key])) for key in with_formula], searched, options)


def _all_shapes(robot: Robot, options: Collisions, ground: Ground | None) -> tuple[list[Shape], list[Geometry]]:
    """Shapes of bodies and of the world with what they are made of, and the ground, of which there is no more."""
    mechanism, friction = robot.mechanism, options.friction
    found = [x for i, b in enumerate(mechanism.bodies) for x in listed_shapes(b.name, i, b.geometry, friction)]
    found += listed_shapes("world", WORLD, mechanism.world_geometry, friction)
    shapes = [shape for shape, _ in found] + ([] if ground is None else [ground_shape(ground)])
    return shapes, [g for _, g in found]


def _way(shapes: list[Shape], pair: Touching) -> str:
    """How a pair is computed: by a formula, by a search, or by nothing."""
    a, b = shapes[pair.a], shapes[pair.b]
    if (a.kind, b.kind) in FORMULAS and not (b.kind == "heightfield" and is_large(a, b)):
        return "formula"
    return "search" if a.kind in CONVEX and b.kind in (*CONVEX, *FIELDS) else "nothing"


def _allowed(robot: Robot, shapes: list[Shape], options: Collisions) -> list[Touching]:
    """The pairs that may touch, as the model says."""
    rules, tree = robot.mechanism.contact_rules, robot.tree
    if not rules.enabled:
        raise MethodError(f"the model of {robot.name!r} switches contact off, and collisions are asked for")
    never = [{*pair} for pair in rules.exclude] + [{*pair} for pair in options.exclude]
    listed = {frozenset((p.shape1, p.shape2)): p for p in rules.pairs}
    moves = [s.body >= 0 and can_move(tree, s.body) for s in shapes]
    carriers, out = _carriers(tree.top), []
    for i, a in enumerate(shapes):
        for j, b in enumerate(shapes[:i]):
            (one, under_one), (other, under_other) = carriers[a.body], carriers[b.body]
            if one == other or not (moves[i] or moves[j]):
                continue
            own = listed.get(frozenset((a.name, b.name)))
            if own is not None:
                out.append(_touching(j, i, _coefficients(own), own.condim, own.margin))
                continue
            x, y = a.surface, b.surface
            carried = min(one, other) >= 0 and (under_one == other or under_other == one)
            if not (x.contype & y.conaffinity or y.contype & x.conaffinity) or (carried and rules.filter_parents):
                continue
            if not any(_names_both(names, a, b) for names in never):
                out.append(_combined(j, i, y, x))
    return out


def _carriers(top: Topology) -> dict[int, tuple[int, int]]:
    """For every body and the world the one that it is fixed to, or itself, and the one that carries that.

    Bodies without mass and shapes between the joints of one link carry nothing themselves.
    """
    found = {WORLD: (WORLD, WORLD)}
    for i, parent in enumerate(top.parent):
        body = top.mechanism.bodies[parent]
        between = parent >= 0 and not body.mass and not body.geometry and top.types[parent].nv > 0
        found[i] = found[parent] if top.types[i].nv == 0 else (i, found[parent][1 if between else 0])
    return found


def _coefficients(pair: ContactPair) -> tuple[float, float, float]:
    """Friction of a listed pair along the surface, about its normal, against rolling."""
    sliding, across, torsion, rolling, askew = pair.friction
    if (sliding != across and pair.condim >= 3) or (rolling != askew and pair.condim >= 6):
        warnings.warn(
            f"friction of the pair {pair.shape1!r} and {pair.shape2!r} differs by direction ({pair.friction}); "
            "the first of two numbers is taken for both",
            stacklevel=6,
        )
    return sliding, torsion, rolling


def _names_both(names: set[str], a: Shape, b: Shape) -> bool:
    """Whether one of two names belongs to one shape and the other to the other."""
    first, second = (names & s.links for s in (a, b))
    return bool(first and second) and len(first | second) == len(names)


def _combined(i: int, j: int, a: Surface, b: Surface) -> Touching:
    """What two surfaces say of their contact."""
    if a.priority != b.priority:
        one = a if a.priority > b.priority else b
        friction, condim = one.friction, one.condim
    else:
        friction, condim = tuple(map(max, zip(a.friction, b.friction, strict=True))), max(a.condim, b.condim)
    return _touching(i, j, friction, condim, a.margin + b.margin)


def _touching(i: int, j: int, friction: tuple[float, ...], condim: int, margin: float) -> Touching:
    """A pair with those coefficients of friction that its condim lets act."""
    sliding, torsion, rolling = (x if condim >= least else 0.0 for x, least in zip(friction, (3, 4, 6), strict=True))
    return Touching(i, j, sliding, margin, torsion, rolling)


def _announce(shapes: list[Shape], found: dict[Any, list[Touching]]) -> None:
    """Warn of pairs that nothing here knows."""
    said = [f"{a} and {b} ({named_pairs(shapes, x)})" for (way, a, b, _), x in found.items() if way == "nothing"]
    if said:
        warnings.warn(f"contact of these shapes is not computed: {'; '.join(said)}", stacklevel=5)


def named_pairs(shapes: list[Shape], pairs: Sequence[Touching]) -> str:
    """A few pairs by name, and how many more there are."""
    said = ", ".join(f"{shapes[x.a].name!r} and {shapes[x.b].name!r}" for x in pairs[:SHOWN])
    return said + (f" and {len(pairs) - SHOWN} more pairs" if len(pairs) > SHOWN else "")
