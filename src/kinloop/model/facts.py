"""A mechanism as plain nested data, and the traces of what others wrote: what kernels are keyed by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kinloop import scalar as sc
from kinloop.scalar import Array
from kinloop.spatial import Transform

if TYPE_CHECKING:
    from kinloop.model.joints import JointType
    from kinloop.model.mechanism import Mechanism
    from kinloop.model.topology import Topology

NO_DYNAMICS: Mapping[str, Any] = {"dynamics": False}
"""Metadata of a dataclass field that no kernel depends on."""


def facts(mechanism: Mechanism) -> tuple[Any, ...]:
    """Everything dynamics depends on, as tuples of names and numbers; functions are left out.

    What a function contributes is its trace: see `own_functions`.
    """
    parts = (*mechanism.bodies, *mechanism.joints, *mechanism.loops, *mechanism.couplings, *mechanism.frames)
    return (mechanism.name, tuple(map(float, mechanism.gravity)), mechanism.constrained, tuple(map(plain, parts)))


def plain(x: Any) -> Any:
    """A part of a mechanism as its class name and the values of its fields, arrays flattened to tuples of numbers."""
    if isinstance(x, Transform):
        return (plain(x.R), plain(x.p))
    if is_dataclass(x):
        kept = (getattr(x, f.name) for f in fields(x) if f.metadata.get("dynamics", True))
        return (type(x).__name__, *(plain(value) for value in kept if not callable(value)))
    if isinstance(x, np.ndarray):
        return tuple(map(float, x.ravel()))
    if isinstance(x, tuple | list):
        return tuple(map(plain, x))
    return x


def own_functions(top: Topology) -> list[sc.Function]:
    """Traces of the mathematics that is not in this package's sources: users' functions, joint types and loop kinds.

    A kernel's key needs them, because a class name and numbers do not tell what a user's code computes.
    """
    types = {id(t): t for t in top.types if not written_here(t)}.values()
    closures = [f for closure in top.mechanism.closures for f in closure.own_functions(top)]
    return [*map(_traced_type, types), *closures]


def written_here(x: object) -> bool:
    """Whether the class of x belongs to this package, whose sources are in the key of every kernel."""
    return type(x).__module__.partition(".")[0] == __name__.partition(".")[0]


def _traced_type(kind: JointType) -> sc.Function:
    """Everything dynamics asks of a joint type, as one graph of (q, qd)."""

    def motion(q: Array, qd: Array) -> dict[str, Array]:
        T = kind.pose(q)
        return {
            "R": T.R, "p": T.p, "columns": kind.columns(q), "columns_bias": kind.columns_bias(q, qd),
            "subspace": kind.subspace(q), "subspace_bias": kind.subspace_bias(q, qd), "rate": kind.rate(q, qd),
            "integrate": kind.integrate(q, qd), "normalized": kind.normalized(q),
        }  # fmt: skip

    return sc.trace(motion, {"q": kind.nq, "qd": kind.nv})
