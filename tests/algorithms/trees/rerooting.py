"""The same mechanism with its loop cut at another joint: the tree joint of one end becomes the loop joint.

The loop's successor leaves its parent and hangs on the predecessor by what was the loop joint; its frame
moves to the loop frame. What was its tree joint closes the loop.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from helpers import State

from kinloop.algorithms.trees.kinematics import motion, world_poses
from kinloop.clusters import ClusterTree, grow
from kinloop.model import WORLD, Joint, JointType, LoopJoint
from kinloop.model.joints import perpendicular
from kinloop.spatial import Transform, rotation_quaternion


class Rerooted(NamedTuple):
    tree: ClusterTree
    q: np.ndarray
    qd: np.ndarray
    f_ext: np.ndarray
    shared: list[str]


def joint_position(t: JointType, T: Transform) -> np.ndarray:
    """The position at which a joint of this type has the pose T."""
    axis = np.array(getattr(t, "axis", (0, 0, 1)))
    t1, t2 = perpendicular(axis)

    def angle(u: np.ndarray, w: np.ndarray, about: np.ndarray) -> float:
        return float(np.arctan2(about @ np.cross(u, w), u @ w))

    turn = angle(t1, T.R @ t1, axis)
    match t.name:
        case "revolute":
            return np.array([turn])
        case "helical":
            whole = np.round((axis @ T.p / t.pitch - turn) / (2 * np.pi))
            return np.array([turn + 2 * np.pi * whole])
        case "prismatic":
            return np.array([axis @ T.p])
        case "cylindrical":
            return np.array([turn, axis @ T.p])
        case "planar":
            return np.array([t1 @ T.p, t2 @ T.p, turn])
        case "spherical":
            return rotation_quaternion(T.R)
        case "universal":
            second = np.array(t.axis2)
            first = angle(second, T.R @ second, axis)
            across = perpendicular(second)[0]
            rest = t.pose(np.array([first, 0.0])).R.T @ T.R
            return np.array([first, angle(across, rest @ across, second)])
    return np.zeros(0)


def reroot(s: State) -> Rerooted | None:
    """None where the successor is the root of the loop: then there is nothing to hang elsewhere."""
    top, m = s.tree.top, s.tree.top.mechanism
    loop = m.loops[0]
    assert isinstance(loop, LoopJoint) and len(m.loops) == 1 and not m.couplings
    e, f = top.body_index[loop.successor], top.body_index[loop.predecessor]
    if e < 0 or (f >= 0 and e in top.support(f)):
        return None
    old, S = top.joints[e], loop.successor_placement
    moved = _move_frame(m, loop.successor, S)
    hang = Joint("hung", loop.predecessor, loop.successor, loop.type, loop.predecessor_placement)
    cut = LoopJoint("cut", old.parent, loop.successor, old.type, old.placement, S.inverse())
    if old.armature:
        return None  # an armature stays with its tree joint
    joints = [j for j in moved.joints if j.name != old.name]
    tree = grow(replace(moved, joints=[*joints, hang], loops=[cut], independent=()))
    return _state(s, tree, e, f, loop)


def _move_frame(m, name: str, S: Transform):
    """The mechanism with the frame of one body moved by S, everything on it staying where it is."""
    back = S.inverse()

    def body(b):
        if b.name != name:
            return b
        inertia = S.R.T @ b.inertia @ S.R
        return replace(b, com=back.R @ b.com + back.p, inertia=0.5 * (inertia + inertia.T))

    joints = [replace(j, placement=back.then(j.placement)) if j.parent == name else j for j in m.joints]
    frames = [replace(f, placement=back.then(f.placement)) if f.body == name else f for f in m.frames]
    return replace(m, bodies=[body(b) for b in m.bodies], joints=joints, frames=frames, loops=[], keyframes=())


def _state(s: State, tree: ClusterTree, e: int, f: int, loop: LoopJoint) -> Rerooted:
    top, new = s.tree.top, tree.top
    poses = world_poses(top, s.q)
    kin = motion(s.tree, s.q, s.v, turning=range(len(top)))
    qd_old = s.tree.spanning_jacobian(s.q) @ s.v
    at = Transform.identity() if f < 0 else poses[f]
    hung = at.then(loop.predecessor_placement).inverse().then(poses[e].then(loop.successor_placement))
    q, qd, f_ext, shared = np.zeros(new.nq), np.zeros(new.n_spanning), np.zeros((len(new), 6)), []
    for i, joint in enumerate(new.joints):
        old = top.body_index[joint.child]
        f_ext[i] = s.f_ext[old]
        if joint.name != "hung":
            shared.append(joint.name)
            q[new.q_of[i]], qd[new.v_of[i]] = s.q[top.q_of[old]], qd_old[top.v_of[old]]
        else:
            f_ext[i] = loop.successor_placement.force_back(s.f_ext[e])
            q[new.q_of[i]] = joint_position(loop.type, hung)
            twist = loop.successor_placement.motion(kin.v[e])
            if f >= 0:
                twist = twist - loop.predecessor_placement.then(hung).motion(kin.v[f])
            qd[new.v_of[i]] = np.linalg.lstsq(loop.type.subspace(q[new.q_of[i]]), twist, rcond=None)[0]
    assert WORLD not in new.mechanism.loops[0].successor
    return Rerooted(tree, q, qd, f_ext, shared)
