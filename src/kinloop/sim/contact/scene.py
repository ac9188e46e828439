"""The shapes of a scene that may touch: those of all bodies and of the world, and the pairs of them that count.

Which pairs count, and how rough they are, is what the model says, by MuJoCo's rules: a bit of the `contype` of one
shape is set in the `conaffinity` of the other; neither body carries the other, unless the world does; the pair is not
excluded; of two surfaces the one of higher priority says friction, of equal ones the larger counts; pairs that are
listed may touch whatever else is said. What nothing here knows is named in a warning.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from kinloop.errors import MethodError
from kinloop.inputs import checked_count, checked_number
from kinloop.model import ContactPair, Geometry, Surface
from kinloop.model.joints import perpendicular
from kinloop.robot import Robot
from kinloop.sim.contact.candidates import can_move
from kinloop.sim.contact.ground import Ground, Plane
from kinloop.sim.contact.shapes import PAIRS
from kinloop.spatial import Transform

WORLD = -1
SHOWN = 3
"""Names that a warning lists."""


@dataclass(frozen=True)
class Collisions:
    """Contact of all shapes of a scene with each other, as `Simulator(robot, collisions=...)` takes it.

    `friction` is that of shapes of which the model says nothing, `restitution` the part of the normal velocity that
    returns. In every step at most `contacts` points touch, and at most `pairs` pairs of shapes of the same two kinds
    are looked at; of more the nearest count, and the row says so by its status. Shapes of two bodies in `exclude`,
    given by name, never touch.
    """

    friction: float = 1.0
    restitution: float = 0.0
    contacts: int = 16
    pairs: int = 16
    exclude: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        checked_number("friction", self.friction, "be a number not below zero", 0.0)
        checked_number("restitution", self.restitution, "lie between 0 and 1", 0.0, 1.0)
        checked_count("contacts", self.contacts)
        checked_count("pairs", self.pairs)
        object.__setattr__(self, "exclude", tuple((str(a), str(b)) for a, b in self.exclude))


@dataclass(frozen=True)
class Shape:
    """A shape by numbers: on which body (-1: the world), where, and how its surface is."""

    name: str
    kind: str
    size: tuple[float, ...]
    body: int
    placement: Transform
    surface: Surface
    links: frozenset[str]

    @property
    def bound(self) -> float:
        """The radius of a sphere about its centre that holds it [m]; of a plane nothing is asked."""
        size = self.size
        match self.kind:
            case "sphere":
                return size[0]
            case "capsule":
                return size[0] + 0.5 * size[1]
            case "cylinder":
                return float(np.hypot(size[0], 0.5 * size[1]))
            case "box":
                return 0.5 * float(np.linalg.norm(size))
        return float(max(size))

    @property
    def rounding(self) -> float:
        """How far its surface is from the points or lines that it is swept about [m]."""
        return self.size[0] if self.kind in ("sphere", "capsule") else 0.0

    @property
    def key(self) -> tuple[Any, ...]:
        """What kernels depend on."""
        return self.kind, self.size, self.body, *map(float, (*self.placement.R.flat, *self.placement.p))


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


@dataclass(frozen=True)
class Scene:
    """All shapes that may touch something, and the pairs of them by kind."""

    shapes: list[Shape]
    classes: list[PairClass]
    options: Collisions

    @property
    def pairs(self) -> list[Touching]:
        """All pairs, in the order in which they are numbered."""
        return [pair for c in self.classes for pair in c.pairs]

    @property
    def rows(self) -> int:
        """Rows of a contact: three of forces, and where any has them one of torsion and two of rolling."""
        rolls, turns = (any(getattr(x, name) > 0.0 for x in self.pairs) for name in ("rolling", "torsion"))
        return 6 if rolls else 4 if turns else 3

    @property
    def pair_names(self) -> list[tuple[str, str]]:
        """The names of the two shapes of every pair, by the number that a rollout records of it."""
        return [(self.shapes[x.a].name, self.shapes[x.b].name) for x in self.pairs]

    @property
    def key(self) -> tuple[Any, ...]:
        """What kernels depend on."""
        o = self.options
        pairs = tuple((c.kinds, tuple(map(tuple, c.pairs))) for c in self.classes)
        return tuple(s.key for s in self.shapes), pairs, o.restitution, o.contacts, o.pairs


def make_scene(robot: Robot, options: Collisions, ground: Ground | None) -> Scene:
    """The scene of a robot: its collision shapes, those of the world, and a plane as the ground if one is given."""
    known = {*robot.body_names, "world"}
    for name in (name for names in options.exclude for name in names):
        if name not in known:
            raise MethodError(f"collisions exclude {name!r}, which is no body; bodies are {', '.join(sorted(known))}")
    mechanism = robot.mechanism
    shapes = [s for i, b in enumerate(mechanism.bodies) for s in _shapes(b.name, i, b.geometry, options)]
    shapes += _shapes("world", WORLD, mechanism.world_geometry, options)
    if ground is not None:
        shapes.append(_plane(ground))
    found: dict[tuple[str, str], list[Touching]] = {}
    for pair in _allowed(robot, shapes, options):
        kinds = shapes[pair.a].kind, shapes[pair.b].kind
        if kinds not in PAIRS and (kinds[::-1] in PAIRS or kinds[0] > kinds[1]):
            kinds, pair = (kinds[1], kinds[0]), pair.exchanged()
        found.setdefault(kinds, []).append(pair)
    _announce(shapes, found)
    classes = [PairClass(kinds, tuple(found[kinds])) for kinds in PAIRS if kinds in found]
    if not classes:
        raise MethodError(f"no two shapes of {robot.name!r} and its world can touch; give it collision shapes")
    return Scene(shapes, classes, options)


def _shapes(owner: str, body: int, geometry: Iterable[Geometry], options: Collisions) -> list[Shape]:
    plain = Surface(friction=(options.friction, 0.0, 0.0))
    out = []
    for k, g in enumerate(geometry):
        if g.role in ("collision", "both"):
            links = frozenset((owner, g.link or owner))
            name, size = g.name or f"{owner}.{k}", tuple(g.size)
            out.append(Shape(name, g.kind, size, body, g.placement, g.surface or plain, links))
    return out


def _plane(ground: Ground) -> Shape:
    if not isinstance(ground, Plane):
        raise MethodError(f"collisions go with a Plane as ground, received a {type(ground).__name__}")
    n = np.array(ground.normal)
    t1, t2 = perpendicular(n)
    placement = Transform(np.stack([t1, t2, n], axis=1), ground.height * n)
    surface = Surface(friction=(float(ground.friction), 0.0, 0.0), contype=-1, conaffinity=-1)
    return Shape("ground", "plane", (0.0, 0.0), WORLD, placement, surface, frozenset(("world",)))


def _allowed(robot: Robot, shapes: list[Shape], options: Collisions) -> list[Touching]:
    """The pairs that may touch, as the model says."""
    rules, tree = robot.mechanism.contact_rules, robot.tree
    if not rules.enabled:
        raise MethodError(f"the model of {robot.name!r} switches contact off, and collisions are asked for")
    never = [{*pair} for pair in rules.exclude] + [{*pair} for pair in options.exclude]
    listed = {frozenset((p.shape1, p.shape2)): p for p in rules.pairs}
    moves = [s.body >= 0 and can_move(tree, s.body) for s in shapes]
    parent, out = tree.top.parent, []
    for i, a in enumerate(shapes):
        for j, b in enumerate(shapes[:i]):
            if a.body == b.body or not (moves[i] or moves[j]):
                continue
            own = listed.get(frozenset((a.name, b.name)))
            if own is not None:
                out.append(_touching(j, i, _coefficients(own), own.condim, own.margin - own.gap))
                continue
            x, y = a.surface, b.surface
            carried = min(a.body, b.body) >= 0 and (parent[a.body] == b.body or parent[b.body] == a.body)
            if not (x.contype & y.conaffinity or y.contype & x.conaffinity) or (carried and rules.filter_parents):
                continue
            if not any(_names_both(names, a, b) for names in never):
                out.append(_combined(j, i, y, x))
    return out


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
    return _touching(i, j, friction, condim, max(a.margin, b.margin) - max(a.gap, b.gap))


def _touching(i: int, j: int, friction: tuple[float, ...], condim: int, margin: float) -> Touching:
    """A pair with those coefficients of friction that its condim lets act."""
    sliding, torsion, rolling = (x if condim >= least else 0.0 for x, least in zip(friction, (3, 4, 6), strict=True))
    return Touching(i, j, sliding, margin, torsion, rolling)


def _announce(shapes: list[Shape], found: dict[tuple[str, str], list[Touching]]) -> None:
    """Warn of pairs that nothing here knows."""
    said = [f"{a} and {b} ({_named(shapes, pairs)})" for (a, b), pairs in found.items() if (a, b) not in PAIRS]
    if said:
        warnings.warn(f"contact of these shapes is not computed: {'; '.join(said)}", stacklevel=5)


def _named(shapes: list[Shape], pairs: list[Touching]) -> str:
    """A few pairs by name, and how many more there are."""
    said = ", ".join(f"{shapes[x.a].name!r} and {shapes[x.b].name!r}" for x in pairs[:SHOWN])
    return said + (f" and {len(pairs) - SHOWN} more pairs" if len(pairs) > SHOWN else "")
