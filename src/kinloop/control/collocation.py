"""What a direct collocation needs of a robot with loops, as CasADi functions. Needs the extra `casadi`.

Unknowns are positions q of all spanning-tree joints, independent velocities v and forces u at nodes. Loops are
equations of their own, phi(q) = 0 at every node, and only independent positions are collocated:

    y = q[independent],   dy/dt = v,   dv/dt = a(q, v, G(q)^T S u),   phi(q) = 0.                                  (1)

So nothing is integrated twice, and no loop drifts open. Every function is differentiated by CasADi itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinloop import scalar as sc
from kinloop.compiler.export.casadi_graph import to_casadi
from kinloop.control.smooth_dynamics import SmoothDynamics
from kinloop.errors import MethodError
from kinloop.robot import Robot


@dataclass(frozen=True)
class Collocation:
    """CasADi functions of column vectors: (1) of the module.

    `acceleration(q, v, u)` is a, `loops(q)` is phi with only as many rows as are independent, `independent(q)` is y,
    `energy(q, v)` kinetic and potential energy, and `positions[frame](q)` where a frame is in the world.
    """

    acceleration: Any
    loops: Any
    independent: Any
    energy: Any
    positions: dict[str, Any]


def collocation(robot: Robot, motors: Sequence[str] | None = None, frames: Sequence[str] = ()) -> Collocation:
    """The functions for a robot whose joints have a velocity for every position, with controls u on `motors`."""
    tree = robot.tree
    if any(kind.nq != kind.nv for kind in tree.top.types):
        names = [j.name for j, t in zip(tree.top.joints, tree.top.types, strict=True) if t.nq != t.nv]
        raise MethodError(f"joints {names} have quaternions, which a collocation cannot vary; replace them by hinges")
    dynamics = SmoothDynamics(robot, 1.0, motors)
    q, v, u = {"q": robot.nq}, {"v": robot.nv}, {"u": dynamics.nu}

    def made(name: str, call: Any, sizes: dict[str, int]) -> Any:
        return to_casadi(sc.trace(call, sizes), name)

    return Collocation(
        made("acceleration", dynamics.acceleration, q | v | u),
        made("loops", lambda q: tree.constraint_rows(q).phi, q),
        made("independent", lambda q: q[tree.independent_dofs], q),
        made("energy", lambda q, v: np.array([robot.kinetic_energy(q, v), robot.potential_energy(q)]), q | v),
        {name: made(name, lambda q, name=name: robot.frame_pose(q, name)[:3, 3], q) for name in frames},
    )
