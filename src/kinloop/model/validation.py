"""Checks of a mechanism: the first part that makes it impossible is named."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from kinloop.errors import ModelError, unknown
from kinloop.model.body import Body
from kinloop.model.frame import WORLD
from kinloop.model.joint import Joint, coordinate_names
from kinloop.model.known_names import known_body
from kinloop.model.loops import Coupling, Loop

if TYPE_CHECKING:
    from kinloop.model.mechanism import Mechanism

SYMMETRIC = 1e-9
"""Relative difference of an inertia's two triangles, and relative size of a negative moment, that is rounding."""

SMALLEST = 1e-50
"""Masses and moments of inertia below this, and not zero, are slips: no atom is as light."""

TRIANGLE = 1e-6
"""How far, relatively, the largest moment may exceed the sum of the others: files print six digits or more."""


def validate(m: Mechanism) -> None:
    """Raise a `ModelError` naming the first part that makes the mechanism impossible."""
    _check_kinds("loop", m.loops, Loop)
    _check_kinds("coupling", m.couplings, Coupling)
    if not m.bodies:
        raise ModelError(f"mechanism {m.name!r} has no bodies; add at least one body and its joint")
    _unique("body", (b.name for b in m.bodies))
    _unique("joint", (j.name for j in m.joints))
    _unique("loop or coupling", [c.name for c in m.closures])
    _unique("frame", [*(b.name for b in m.bodies), *(f.name for f in m.frames)])
    for body in _doubtful(m.bodies):
        _check_inertia(body)
    _check_tree(m)
    for closure in m.closures:
        closure.check(m)
    _check_choices(m)
    for f in m.frames:
        known_body(m, f.body, f"frame {f.name!r}")
    _check_annotations(m)


def _check_annotations(m: Mechanism) -> None:
    """Actuators, tendons, sensors and carried weights speak of parts that there are."""
    known: dict[str, Iterable[str]] = {"joint": m.joint_types, "ball": m.joint_types}
    known |= {"tendon": {t.name for t in m.tendons}, "actuator": {a.name for a in m.actuators}}
    known["contact"] = _touchable(m) if any(s.kind == "contact_force" for s in m.sensors) else ()
    known["subtree"] = {WORLD, *(b.name for b in m.bodies)}
    _unique("tendon", [t.name for t in m.tendons])
    _unique("sensor", [s.name for s in m.sensors])
    frames = [(f, f"actuator {a.name!r}") for a in m.actuators for f in (a.site, a.reference)]
    frames += [(f, f"tendon {t.name!r}") for t in m.tendons for f in t.frames]
    frames += [(f, f"sensor {s.name!r}") for s in m.sensors for f in (s.frame, s.reference)]
    for f, user in frames:
        if f is not None:
            known_body(m, f.body, user, world=True)
    for w in m.carried:
        known_body(m, w.body, "a carried weight")
    for a in m.actuators:
        if a.tendon and a.tendon not in known["tendon"]:
            raise ModelError(
                f"actuator {a.name!r} pulls a missing tendon: {unknown('tendon', a.tendon, known['tendon'])}"
            )
    for t in m.tendons:
        for joint, gear in t.joints:
            if joint not in m.joint_types or m.joint_types[joint].nv != len(gear):
                raise ModelError(f"tendon {t.name!r} has {len(gear)} gears on joint {joint!r}; give one per coordinate")
    for s in m.sensors:
        noun = s.kind.partition("_")[0]
        for part in (s.part, s.against) if s.against else (s.part,):
            if noun in known and part not in known[noun]:
                raise ModelError(f"sensor {s.name!r} is of a missing {noun}: {unknown(noun, part, known[noun])}")


def _touchable(m: Mechanism) -> set[str]:
    """Names of what may touch: bodies, links, shapes and the world."""
    names = {WORLD}
    for owner, shapes in ((WORLD, m.world_geometry), *((b.name, b.geometry) for b in m.bodies)):
        names |= {owner, *(g.link for g in shapes if g.link), *(g.name for g in shapes if g.name)}
    return names


def _check_kinds(noun: str, closures: tuple[object, ...], base: type) -> None:
    for closure in closures:
        if not isinstance(closure, base):
            raise ModelError(
                f"{closure!r} of kind {type(closure).__name__} is not a {noun}; give one of the kinds of "
                f"kinloop.model.loops, or a subclass of {base.__name__}"
            )


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


def _doubtful(bodies: Sequence[Body]) -> list[Body]:
    """Bodies whose inertia is looked at more closely; all others are beyond doubt, which is seen of all at once."""
    mass, I = np.array([b.mass for b in bodies]), np.array([b.inertia for b in bodies])
    sizes = np.max(np.abs(I), axis=(1, 2))
    skewed = np.max(np.abs(I - I.transpose(0, 2, 1)), axis=(1, 2))
    moments = np.linalg.eigvalsh(I)
    clear = (mass >= SMALLEST) & (sizes >= SMALLEST) & (skewed == 0) & (moments[:, 0] >= 0)
    clear &= moments[:, 2] <= moments[:, 0] + moments[:, 1]
    return [body for body, fine in zip(bodies, clear, strict=True) if not fine]


def _check_inertia(b: Body) -> None:
    if b.mass < 0:
        raise ModelError(f"body {b.name!r} has mass {b.mass} kg; mass must not be negative")
    I = b.inertia
    for what, size in (("mass [kg]", b.mass), ("moments of inertia [kg m^2]", float(np.max(np.abs(I))))):
        if 0 < size < SMALLEST:
            raise ModelError(
                f"{what} of body {b.name!r} of {size:.3g} at most are below {SMALLEST:.0e}, too small to divide by; "
                "give zero, or the number that is meant"
            )
    scale = max(float(np.max(np.abs(I))), 1e-300)
    if np.max(np.abs(I - I.T)) > SYMMETRIC * scale:
        raise ModelError(f"inertia of body {b.name!r} is not symmetric; give a symmetric 3x3 matrix about the com")
    moments = np.linalg.eigvalsh(0.5 * (I + I.T))
    if moments[0] < -SYMMETRIC * scale:
        raise ModelError(
            f"body {b.name!r} has a negative principal moment {moments[0]:.3g} kg m^2; "
            "an inertia about the centre of mass must be positive semidefinite"
        )
    if not b.accept_inertia and moments[2] > (moments[0] + moments[1]) * (1 + TRIANGLE) + 1e-15:
        raise ModelError(
            f"body {b.name!r} has principal moments {moments.tolist()}, the largest above the sum of the others; "
            "no distribution of mass has these: correct them, or pass accept_inertia=True to use them all the same"
        )


def _check_tree(m: Mechanism) -> None:
    parents: dict[str, Joint] = {}
    for j in m.joints:
        known_body(m, j.parent, f"joint {j.name!r}", world=True)
        known_body(m, j.child, f"joint {j.name!r}")
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
        grounded.update(path)


def _check_choices(m: Mechanism) -> None:
    """Names of independent coordinates and of constrained loops."""
    coordinates = {n for j in m.joints for n in coordinate_names(j)}
    for name in m.independent:
        if name not in m.joint_types and name not in coordinates:
            raise ModelError(f"independent coordinate: {unknown('joint', name, [j.name for j in m.joints])}")
    loops = {loop.name: None for loop in m.loops}
    for name in m.constrained:
        if name not in loops:
            raise ModelError(f"constrained loop: {unknown('loop', name, loops)}")
