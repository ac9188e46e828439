"""A mechanism as plain nested data: what its kernels are keyed by."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from kinloop.model.joints import JointType
from kinloop.model.mechanism import Mechanism
from kinloop.model.parts import Body, Coupling, Frame, FunctionCoupling, Joint, Loop, LoopFunction
from kinloop.spatial import Transform


def facts(mechanism: Mechanism) -> tuple:
    """Everything dynamics depends on, as tuples of names and numbers; user functions are left out.

    What a function contributes is its trace, which the caller knows.
    """
    parts = (*mechanism.bodies, *mechanism.joints, *mechanism.loops, *mechanism.couplings, *mechanism.frames)
    return (mechanism.name, tuple(map(float, mechanism.gravity)), mechanism.constrained, tuple(map(_plain, parts)))


def functions(mechanism: Mechanism) -> list[LoopFunction | FunctionCoupling]:
    """The parts whose mathematics is a user's Python function."""
    return [p for p in (*mechanism.loops, *mechanism.couplings) if isinstance(p, LoopFunction | FunctionCoupling)]


def _plain(x: Any) -> Any:
    if isinstance(x, Body | Joint | Frame | Loop | Coupling | JointType):
        skip = ("geometry", "phi", "gamma")
        return (type(x).__name__, *(_plain(getattr(x, f.name)) for f in fields(x) if f.name not in skip))
    if isinstance(x, Transform):
        return (_plain(x.R), _plain(x.p))
    if isinstance(x, np.ndarray):
        return tuple(map(float, x.ravel()))
    if isinstance(x, tuple | list):
        return tuple(map(_plain, x))
    return x
