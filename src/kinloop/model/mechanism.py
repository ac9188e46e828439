"""A mechanism: the rigid-body connectivity graph, checked when it is made."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from kinloop.errors import ModelError, unknown
from kinloop.model.annotations import Actuator, Keyframe
from kinloop.model.parts import (
    WORLD,
    Body,
    Coupling,
    Frame,
    Geometry,
    Joint,
    Loop,
    LoopFunction,
    LoopJoint,
    Rod,
    frozen,
)

if TYPE_CHECKING:
    from kinloop.robot import Robot

GRAVITY = (0.0, 0.0, -9.81)
SEQUENCES = (
    "bodies", "joints", "loops", "couplings", "frames", "independent", "constrained",
    "actuators", "keyframes", "motors", "end_effectors", "world_geometry", "inactive", "warnings",
)  # fmt: skip
"""Fields of a mechanism that are sequences: any iterable is taken and kept as a tuple."""


@dataclass(frozen=True, eq=False)
class Mechanism:
    """Bodies, tree joints, loops and couplings. The order of `joints` is the order of q.

    `independent` names joints whose velocities the user wants in v (their clusters' others follow);
    clusters it does not touch choose by conditioning. `"joint[1]"` names one coordinate of a joint.
    `constrained` names loops that are not embedded in clusters but held as motion constraints.

    What follows `constrained` is kept for users, the simulator and the viewer; dynamics never looks at it. `motors`
    names joints that motors drive, `end_effectors` frames, `inactive` loops that the file has and does not close.
    `warnings` say what of the file was taken with reservations or left out, `source` is the file's path.
    """

    name: str = "mechanism"
    bodies: tuple[Body, ...] = ()
    joints: tuple[Joint, ...] = ()
    loops: tuple[Loop, ...] = ()
    couplings: tuple[Coupling, ...] = ()
    frames: tuple[Frame, ...] = ()
    independent: tuple[str, ...] = ()
    gravity: Any = GRAVITY
    constrained: tuple[str, ...] = ()
    actuators: tuple[Actuator, ...] = ()
    keyframes: tuple[Keyframe, ...] = ()
    motors: tuple[str, ...] = ()
    end_effectors: tuple[str, ...] = ()
    world_geometry: tuple[Geometry, ...] = ()
    inactive: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    source: str | None = None

    def __post_init__(self) -> None:
        for parts in SEQUENCES:
            object.__setattr__(self, parts, tuple(getattr(self, parts)))
        object.__setattr__(self, "gravity", frozen(self.gravity, (3,), f"gravity of {self.name!r}"))
        validate(self)
        object.__setattr__(self, "joints", _regular_order(self))
        order = {j.child: k for k, j in enumerate(self.joints)}
        object.__setattr__(self, "bodies", tuple(sorted(self.bodies, key=lambda b: order[b.name])))

    @cached_property
    def body_names(self) -> frozenset[str]:
        return frozenset(b.name for b in self.bodies)

    @property
    def closures(self) -> tuple[Loop | Coupling, ...]:
        """Everything that closes a loop: loops, then couplings."""
        return (*self.loops, *self.couplings)

    def build(self, **options: Any) -> Robot:
        """The robot: clusters, coordinates, algorithms. Options as for `kinloop.Robot`."""
        from kinloop.robot import Robot  # the one import against the layers: the front door's front step

        return Robot(self, **options)


def _regular_order(m: Mechanism) -> tuple[Joint, ...]:
    """Joints as given, moved only where a child came before its parent."""
    carrier = {j.child: j for j in m.joints}
    done, out = {WORLD}, []
    for joint in m.joints:
        chain = []
        while joint.child not in done:
            chain.append(joint)
            done.add(joint.child)
            if joint.parent in done:
                break
            joint = carrier[joint.parent]
        out += chain[::-1]
    return tuple(out)


def validate(m: Mechanism) -> None:
    """Raise a `ModelError` naming the first part that makes the mechanism impossible."""
    if not m.bodies:
        raise ModelError(f"mechanism {m.name!r} has no bodies; add at least one body and its joint")
    _unique("body", (b.name for b in m.bodies))
    _unique("joint", (j.name for j in m.joints))
    _unique("loop or coupling", [c.name for c in m.closures])
    _unique("frame", [*(b.name for b in m.bodies), *(f.name for f in m.frames)])
    for body in m.bodies:
        _check_inertia(body)
    _check_tree(m)
    _check_loops(m)
    for f in m.frames:
        _known_body(m, f.body, f"frame {f.name!r}")


def _unique(kind: str, names: Iterable[str]) -> None:
    seen = set()
    for name in names:
        if not isinstance(name, str) or not name:
            raise ModelError(f"a {kind} has the name {name!r}; give every {kind} a non-empty string")
        if name == WORLD and kind != "joint":
            raise ModelError(f"a {kind} is named {WORLD!r}, which is kept for the fixed world; choose another name")
        if name in seen:
            raise ModelError(f"two of kind {kind} are named {name!r}; names must be unique")
        seen.add(name)


def _check_inertia(b: Body) -> None:
    if b.mass < 0:
        raise ModelError(f"body {b.name!r} has mass {b.mass} kg; mass must not be negative")
    I = b.inertia
    scale = max(float(np.max(np.abs(I))), 1e-300)
    if np.max(np.abs(I - I.T)) > 1e-9 * scale:
        raise ModelError(f"inertia of body {b.name!r} is not symmetric; give a symmetric 3x3 matrix about the com")
    moments = np.linalg.eigvalsh(0.5 * (I + I.T))
    if moments[0] < -1e-9 * scale:
        raise ModelError(
            f"body {b.name!r} has a negative principal moment {moments[0]:.3g} kg m^2; "
            "an inertia about the centre of mass must be positive semidefinite"
        )
    if not b.accept_inertia and moments[2] > (moments[0] + moments[1]) * (1 + 1e-6) + 1e-15:
        raise ModelError(
            f"body {b.name!r} has principal moments {moments.tolist()}, the largest above the sum of the others; "
            "no distribution of mass has these: correct them, or pass accept_inertia=True to use them all the same"
        )


def _known_body(m: Mechanism, name: str, user: str, world: bool = False) -> None:
    if name not in m.body_names and not (world and name == WORLD):
        names = [b.name for b in m.bodies]
        error = unknown("body", name, [*names, WORLD] if world else names)
        raise ModelError(f"{user} refers to a missing body: {error}")


def _check_tree(m: Mechanism) -> None:
    parents: dict[str, Joint] = {}
    for j in m.joints:
        _known_body(m, j.parent, f"joint {j.name!r}", world=True)
        _known_body(m, j.child, f"joint {j.name!r}")
        if j.child in parents:
            raise ModelError(
                f"body {j.child!r} is the child of two joints, {parents[j.child].name!r} and {j.name!r}; "
                "make one of them a loop joint"
            )
        parents[j.child] = j
    grounded = {WORLD}
    for b in m.bodies:
        path: dict[str, None] = {}
        at = b.name
        while at not in grounded:
            if at not in parents:
                raise ModelError(
                    f"body {at!r} is not connected to the world; add a joint with child {at!r} "
                    "(type free for a floating base)"
                )
            if at in path:
                raise ModelError(f"tree joints form a cycle through body {at!r}; make one of them a loop joint")
            path[at] = None
            at = parents[at].parent
        grounded |= path.keys()


def _check_loops(m: Mechanism) -> None:
    joints = {j.name: j for j in m.joints}
    for loop in m.loops:
        what = f"loop {loop.name!r}"
        if isinstance(loop, LoopJoint | Rod):
            _known_body(m, loop.predecessor, what, world=True)
            _known_body(m, loop.successor, what, world=True)
            if loop.predecessor == loop.successor:
                raise ModelError(f"{what} joins body {loop.predecessor!r} to itself; give two different bodies")
        elif isinstance(loop, LoopFunction):
            _known_joints(joints, loop.joints, what)
    for c in m.couplings:
        _known_joints(joints, (*c.dependent, *c.independent), f"coupling {c.name!r}")
        _check_coupling(joints, c)
    coordinates = [n for j in m.joints for n in coordinate_names(j)]
    for name in m.independent:
        if name not in joints and name not in coordinates:
            raise ModelError(f"independent coordinate: {unknown('joint', name, joints)}")
    for name in m.constrained:
        if name not in [loop.name for loop in m.loops]:
            raise ModelError(f"constrained loop: {unknown('loop', name, [l.name for l in m.loops])}")


def _known_joints(joints: dict[str, Joint], names: tuple[str, ...], what: str) -> None:
    if not names:
        raise ModelError(f"{what} names no joints; name at least one")
    for name in names:
        if name not in joints:
            raise ModelError(f"{what} refers to a missing joint: {unknown('joint', name, joints)}")


def _check_coupling(joints: dict[str, Joint], c: Coupling) -> None:
    twice = set(c.dependent) & set(c.independent)
    if twice:
        raise ModelError(f"coupling {c.name!r} has {sorted(twice)} on both sides; a joint is dependent or independent")
    for name in (*c.dependent, *c.independent):
        if joints[name].type.nq != 1:
            raise ModelError(
                f"coupling {c.name!r} uses joint {name!r} of type {joints[name].type.name}, which has "
                f"{joints[name].type.nq} coordinates; couplings take joints of one coordinate (use a LoopFunction)"
            )


def coordinate_names(j: Joint) -> list[str]:
    """Names of the velocity coordinates of a joint: its own name, or name[0], name[1], ..."""
    return [j.name] if j.type.nv == 1 else [f"{j.name}[{k}]" for k in range(j.type.nv)]
