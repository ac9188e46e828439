"""What a step does joint by joint, and its slopes: the ways to its middle and from there to its end, forces at joints.

Between the two lies the dynamics, which gives the velocities y at the end in the axes of the middle. Each of these maps
is traced by itself and differentiated by the graph along the coordinates of one cluster after the other: its slopes are
block diagonal. For trees, gears and belts included; loops that bend are not joint by joint.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kinloop import scalar as sc
from kinloop.algorithms.trees.kinematics import independent_change
from kinloop.clusters import ClusterTree
from kinloop.scalar import Array, Function
from kinloop.sim.actuators import joint_forces
from kinloop.sim.integrators.history import coasted, over_the_step
from kinloop.sim.linearization.step_map import position_change, spanning_velocity
from kinloop.sim.on_loops import closed
from kinloop.sim.stepper import System
from kinloop.sim.turning_axes import transport, turned_by


def middle_of(tree: ClusterTree, q: Array, v: Array, h: Any) -> tuple[Array, Array]:
    """The configuration at the middle of a step without memory, and v in the axes of the middle."""
    middle = closed(tree, tree.top.integrate(q, (0.5 * h) * spanning_velocity(tree, q, v)))[0]
    return middle, turned_by(tree, v, (0.5 * h) * v)


def to_the_middle(system: System) -> Function:
    """(q, v, h) -> the middle, v there (`here`), `moved` = here + h w x v, and how these change with q and v."""
    tree = system.tree

    def call(q: Array, v: Array, h: Array) -> dict[str, Array]:
        middle, here = middle_of(tree, q, v, h[0])
        moved = here + h[0] * transport(tree, v)
        steps = _steps(tree, q)
        out = {"middle": middle, "here": here, "moved": moved}
        out["middle_q"] = _blocks(tree, middle, q, steps, middle)
        out["middle_v"] = _blocks(tree, middle, v, np.eye(tree.nv), middle)
        out["here_v"] = _blocks(tree, here, v, np.eye(tree.nv))
        out["moved_v"] = _blocks(tree, moved, v, np.eye(tree.nv))
        return out

    return sc.trace(call, {"q": tree.top.nq, "v": tree.nv, "h": 1})


def to_the_end(system: System) -> Function:
    """(q, v, y, whether nothing touches, h) -> how (q', v') change with q, v and y."""
    tree, one = system.tree, np.eye(system.tree.nv)

    def call(q: Array, v: Array, y: Array, flies: Array, h: Array) -> dict[str, Array]:
        q_next, v_next = _end(system, q, v, y, flies[0] > 0.5, h[0])
        out = {}
        for name, inputs, steps in (("q", q, _steps(tree, q)), ("v", v, one), ("y", y, one)):
            out[f"q_{name}"] = _blocks(tree, q_next, inputs, steps, q_next)
            out[f"v_{name}"] = _blocks(tree, v_next, inputs, steps)
        return out

    return sc.trace(call, {"q": tree.top.nq, "v": tree.nv, "y": tree.nv, "flies": 1, "h": 1})


def _end(system: System, q: Array, v: Array, y: Array, flying: Any, h: Any) -> tuple[Array, Array]:
    """(q', v') of `semi_implicit` for velocities y at the end in the axes of the middle."""
    tree, top = system.tree, system.tree.top
    middle, here = middle_of(tree, q, v, h)
    gone = h * y - (0.5 * h) * here
    v_next = turned_by(tree, y, sc.where(flying, (0.5 * h) * y, gone))
    travel = sc.where(flying, (0.5 * h) * v_next, gone)
    q_next = top.integrate(middle, spanning_velocity(tree, middle, travel))
    if system.is_smooth:
        a = spanning_velocity(tree, middle, (y - here) / h - transport(tree, v))[system.drivers]
        qd = spanning_velocity(tree, q, v)
        q_smooth, qd_smooth = coasted(tree, q, qd, [a], 1.0, over_the_step(1), h)
        q_next = sc.where(flying, q_smooth, q_next)
        v_next = sc.where(flying, qd_smooth[tree.independent_dofs], v_next)
    return closed(tree, q_next)[0], v_next


def force_slopes(system: System) -> Function:
    """(q, qd, u, h) -> forces f on spanning coordinates, and how each changes with its own position, rate, and with u.

    They are those of an implicit step of length h.
    """
    top, drive = system.tree.top, system.drive

    def call(q: Array, qd: Array, u: Array, h: Array) -> dict[str, Array]:
        f = joint_forces(drive, q, qd, u, h=h[0]).astype(object)
        along_u = np.stack([sc.jvp(f, [x], [1.0]) for x in u], axis=1) if len(u) else np.zeros((len(f), 0))
        out = {"f": f, "f_q": sc.jvp(f, q, np.ones(len(q))), "f_qd": sc.jvp(f, qd, np.ones(len(qd))), "f_u": along_u}
        return out

    return sc.trace(call, {"q": top.nq, "qd": top.n_spanning, "u": len(drive.motors), "h": 1})


def _steps(tree: ClusterTree, q: Array) -> list[Array]:
    """How the numbers q change along each independent coordinate."""
    return [position_change(tree, q, e) for e in np.eye(tree.nv)]


def _blocks(tree: ClusterTree, outputs: Array, inputs: Array, steps: Any, at: Array | None = None) -> Array:
    """Slopes (nv, nv) of what changes cluster by cluster; of positions `at` in independent coordinates."""
    out = np.full((tree.nv, tree.nv), 0.0, dtype=object)
    for c in tree:
        for k in range(c.v.start, c.v.stop):
            change = sc.jvp(outputs.astype(object), inputs, steps[k])
            change = change if at is None else independent_change(tree, at, change)
            out[c.v, k] = change[c.v]
    return out
