"""Random mechanisms, the test bed of every law: all joint types, loops, couplings, and mixtures of them.

Loops are closed by construction: joints are drawn at a random position, the bodies' poses follow, and the
loop frames are placed on both bodies where they meet. That position is kept as the keyframe "drawn".
Equal seeds give equal mechanisms.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from kinloop import scalar as sc
from kinloop.errors import ModelError
from kinloop.model.frame import WORLD
from kinloop.model.joints import perpendicular
from kinloop.model.mechanism import Mechanism
from kinloop.model.sketch import LOOP_JOINTS, SINGLE, TREE_JOINTS, Sketch
from kinloop.scalar import Array
from kinloop.spatial import Transform, axis_rotation


def _tree(s: Sketch, parent: str) -> list[str]:
    out = [s.body(parent)]
    for _ in range(int(s.rng.integers(1, 4))):
        out.append(s.body(s.pick((parent, *out))))
    if s.chance(0.3):
        # a massless body between two joints of one freedom, e.g. the cross of a universal joint
        cross = s.body(s.pick(out), "revolute", inertial={})
        out.append(s.body(cross, "revolute"))
    return out


def _geared(s: Sketch, parent: str) -> list[str]:
    link = s.body(parent, s.pick(SINGLE))
    where = parent if s.chance(0.7) else s.body(parent)
    ratio = float(10 ** s.rng.uniform(-1, 2.5)) * s.pick((1.0, -1.0)) * (1e3 if s.chance(0.1) else 1.0)
    s.gear(s.rotor(where), link, ratio)
    return [link]


def _belt(s: Sketch, parent: str) -> list[str]:
    n = int(s.rng.integers(2, 4))
    links: list[str] = []
    rotors: list[str] = []
    for _ in range(n):
        links.append(s.body(links[-1] if links else parent, "revolute"))
        rotors.append(s.rotor(parent))
    matrix = np.tril(s.rng.uniform(-6.0, 6.0, (n, n)))
    x, y = [f"{r}_joint" for r in rotors], [f"{l}_joint" for l in links]
    offset = [s.q[a][0] - row @ [s.q[b][0] for b in y] for a, row in zip(x, matrix, strict=True)]
    s.b.linear(x, y, matrix, offset, name="~".join(x + y))
    return links


def _coupling(s: Sketch, parent: str) -> list[str]:
    first = s.body(parent, s.pick(SINGLE))
    second = s.body(s.pick((parent, first)), s.pick(SINGLE))
    s.couple(second, first)
    if s.chance(0.4):
        third = s.body(s.pick((parent, second)), s.pick(SINGLE))
        s.couple(third, s.pick((first, second)))
    return [first, second]


def _function(s: Sketch, parent: str) -> list[str]:
    """phi of joints of several coordinates: the height of a ball's pole against another joint."""
    a, b = s.body(parent, "spherical"), s.body(parent, s.pick(("universal", "revolute", "planar")))
    quat, other = s.q[f"{a}_joint"], s.q[f"{b}_joint"]

    def height(q: Any, u: Any) -> Any:
        first = u[0] if np.ndim(u) else u
        return 2.0 * (q[1] * q[3] - q[0] * q[2]) + 0.7 * first + 0.2 * sc.sin(first)

    rest = height(quat, other if len(other) > 1 else other[0])
    s.b.loop_function(f"{a}~{b}", [f"{a}_joint", f"{b}_joint"], lambda q, u: height(q, u) - rest)
    return [a, b]


def _planar(s: Sketch, parent: str, links: int | None = None, kind: str | None = None) -> list[str]:
    """A flat n-bar: two chains of parallel axes that meet; loop joints leave redundant rows."""
    n = links or s.pick((3, 3, 3, 4, 5))
    u, base = s.axis(), s.rotation()
    cut = int(s.rng.integers(1, n + 1))
    massless = int(s.rng.integers(n)) if n > 2 and s.chance(0.2) else -1
    bodies: list[str] = []
    for k in range(n):
        first = k in (0, cut)
        inertial: dict[str, Any] | None = {} if k == massless else None
        bodies.append(_bar(s, parent if first else bodies[-1], u, base if first else np.eye(3), inertial))
    kind = kind or s.pick(("revolute", "revolute", "spherical", "cylindrical"))
    # the loop frame starts on a moving body, where the axes are known to be u
    other = bodies[-1] if cut < n else parent
    s.close(bodies[cut - 1], other, s.joint(kind, u), _along(s, u))
    return bodies


def _along(s: Sketch, u: Array) -> Transform:
    """A frame that keeps the direction u."""
    return Transform(axis_rotation(u, s.rng.uniform(-np.pi, np.pi)), s.rng.uniform(-0.3, 0.3, 3))


def _bar(s: Sketch, parent: str, u: Array, base: Array, inertial: Any) -> str:
    """One link of a flat linkage: hinged about u, or now and then sliding across it."""
    t = perpendicular(u)[0]
    kind = s.joint("prismatic", t) if s.chance(0.1) else s.joint("revolute", u)
    at = _along(s, u)
    return s.body(parent, kind, Transform(base @ at.R, base @ at.p), inertial)


def _spatial(s: Sketch, parent: str, kind: str, mobility: int | None = None, ancestor: bool = False) -> list[str]:
    """A loop in space, closed by a joint of the given type, with enough freedom to be assembled anywhere."""
    need = 6 - s.joint(kind).nv + (int(s.rng.integers(1, 4)) if mobility is None else mobility)
    kinds = SINGLE if mobility == 0 else TREE_JOINTS[:-1]
    a = s.chain(parent, need if ancestor else int(s.rng.integers(1, need)), kinds)
    have = sum(j.type.nv for j in s.b.joints[-len(a) :])
    b = [] if ancestor else s.chain(parent, need - have, kinds)
    ends = (a[-1], b[-1] if b else parent)
    s.close(*(ends if s.chance(0.5) else ends[::-1]), kind)
    return a + b


def _rods(s: Sketch, parent: str) -> list[str]:
    a, b = s.chain(parent, int(s.rng.integers(2, 4))), s.chain(parent, 2)
    s.rod(a[-1], b[-1])
    if s.chance(0.5):
        s.rod(a[-1], b[-1] if s.chance(0.5) else parent)
    return a + b


def _several(s: Sketch, parent: str) -> list[str]:
    """Two loops that share bodies; flat ones (a six-bar) or in space."""
    if s.chance(0.4):
        bodies = _planar(s, parent, links=4, kind="revolute")
        u = np.array(getattr(s.b.loops[-1], "type").axis)  # noqa: B009
        link = _bar(s, bodies[0], u, np.eye(3), None)
        more = _bar(s, link, u, np.eye(3), None)
        s.close(more, bodies[-1], s.joint("revolute", u), _along(s, u))
        return [*bodies, link]
    bodies = _spatial(s, parent, s.pick(LOOP_JOINTS))
    kind = s.pick(("spherical", "universal", "planar", "cylindrical"))
    branch = s.chain(s.pick((parent, bodies[0])), 7 - s.joint(kind).nv)
    s.close(branch[-1], bodies[-1], kind)
    return bodies


def _mixture(s: Sketch, parent: str) -> list[str]:
    """A loop one of whose joints drives a rotor or is coupled to another."""
    bodies = _spatial(s, parent, s.pick(LOOP_JOINTS), mobility=3)
    single = [b for b in bodies if len(s.q[f"{b}_joint"]) == 1]
    if len(single) >= 2 and s.chance(0.6):
        s.couple(single[0], single[-1], s.pick(("mimic", "polynomial", "function", "implicit")))
    if single:
        s.gear(s.rotor(parent), s.pick(single), s.rng.uniform(2.0, 10.0))
    return bodies


def _multi_output(s: Sketch, parent: str) -> list[str]:
    """Figure 5 of [Chignoli2023]: a cluster that hangs on two bodies of its parent cluster, and again."""
    if s.chance(0.5):
        left, right = s.body(parent, s.pick(SINGLE)), s.body(parent, s.pick(SINGLE))
        s.couple(left, right)
    else:
        left, *_, right = _spatial(s, parent, s.pick(("spherical", "universal", "revolute")), mobility=2)
    for _ in range(int(s.rng.integers(1, 3))):
        a, b = s.body(left, s.pick(SINGLE)), s.body(right, s.pick(SINGLE))
        s.couple(a, b)
        if s.chance(0.4):
            s.couple(s.body(a, "revolute"), b, "mimic")
        left, right = a, b
    return [left, right]


def _locked(s: Sketch, parent: str) -> list[str]:
    """A loop without freedom: a truss in its plane or in space."""
    if s.chance(0.5):
        return _planar(s, parent, links=2, kind="revolute")
    return _spatial(s, parent, s.pick(("fixed", "revolute", "spherical")), mobility=0)


_FEATURES: dict[str, Callable[[Sketch, str], list[str]]] = {
    "tree": _tree, "geared": _geared, "belt": _belt, "coupling": _coupling, "function": _function,
    "planar": _planar, "rods": _rods, "several": _several, "mixture": _mixture, "multi_output": _multi_output,
    "locked": _locked, "ancestor": lambda s, parent: _spatial(s, parent, s.pick(LOOP_JOINTS), ancestor=True),
    **{f"loop_{kind}": partial(_spatial, kind=kind) for kind in LOOP_JOINTS},
}  # fmt: skip

KINDS = (*_FEATURES, "mixed")


def random_mechanism(
    rng: np.random.Generator, kind: str | None = None, floating: bool | None = None, branches: bool = True
) -> Mechanism:
    """A random mechanism of one of `KINDS` ("mixed" stacks two or three of them), closed at its one keyframe.

    `floating` puts it on a free base, or on the world; `branches` adds bodies of a plain tree here and there.
    """
    kind = KINDS[int(rng.integers(len(KINDS)))] if kind is None else kind
    if kind not in KINDS:
        raise ModelError(f"kind {kind!r} is not one of {', '.join(KINDS)}")
    s = Sketch(rng, kind)
    floating = s.chance(0.4) if floating is None else floating
    parent = s.body(WORLD, "free") if floating else s.body(WORLD) if s.chance(0.3) else WORLD
    features = [s.pick(KINDS[:-1]) for _ in range(int(rng.integers(2, 4)))] if kind == "mixed" else [kind]
    for feature in features:
        made = _FEATURES[feature](s, parent)
        if branches and s.chance(0.5):
            s.body(s.pick(made))
        parent = s.pick((parent, made[-1]))
    return s.finish()
