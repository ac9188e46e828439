"""How touching bodies of a step with bending loops move along local directions: poses and six-vectors.

As `contact_bodies`, for directions that need not be closed motions: rates of all joints and their slopes are given, and
carried outward.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from kinloop.algorithms.trees.cluster_changes import columns
from kinloop.algorithms.trees.kinematics import Motion, world_acceleration
from kinloop.clusters import ClusterTree
from kinloop.scalar import Array
from kinloop.sim.linearization.contact_bodies import moved, poses
from kinloop.sim.linearization.joint_slopes import joint_slope
from kinloop.sim.linearization.loop_slopes import Slopes
from kinloop.spatial import Transform, cross_motion

FIELDS = ("X", "X0", "V")
"""Twists; Y is an acceleration."""


class TouchingBody(NamedTuple):
    """The pose T of a body and its six-vectors, and changes (6, kinds x nv) of its pose and of these."""

    T: Transform
    X: Array
    X0: Array
    V: Array
    Y: Array
    pose: Array
    changes: dict[str, Array]


def touching_bodies(
    tree: ClusterTree, kin: Motion, q: Array, rates: dict[str, Slopes], bodies: Sequence[int]
) -> dict[int, TouchingBody]:
    """All touching bodies."""
    out = {}
    for b, T in poses(tree, kin, bodies).items():
        carried = _Carried(tree, kin, q, rates)
        for i in tree.top.support(b):
            carried.outward(i)
        out[b] = TouchingBody(T, **carried.value, pose=carried.pose, changes=carried.change)
    return out


class _Carried:
    """The motion of a body and its changes, carried outward joint by joint."""

    def __init__(self, tree: ClusterTree, kin: Motion, q: Array, rates: dict[str, Slopes]) -> None:
        self.tree, self.kin, self.q, self.rates = tree, kin, q, rates
        self.count = len(rates["q"].along)
        width = self.count * tree.nv
        self.value = {name: np.zeros(6) for name in FIELDS} | {"Y": world_acceleration(tree.top)}
        self.pose = np.full((6, width), 0.0, dtype=object)
        self.change = {name: np.full((6, width), 0.0, dtype=object) for name in (*FIELDS, "Y")}

    def outward(self, i: int) -> None:
        """On to body i."""
        tree, top, T, S = self.tree, self.tree.top, self.kin.T[i], self.kin.S[i]
        c = tree.clusters[tree.cluster_of[i]]
        own = list(range(top.v_of[i].start, top.v_of[i].stop))
        here = [k * tree.nv + d for k in range(self.count) for d in range(c.v.start, c.v.stop)]
        dq, rates = self.rates["q"].of(own, c.m), self.rates["V"]
        turn, none = S @ dq, np.zeros(len(own))
        before = {name: T.motion(x) for name, x in self.value.items()}
        change = {name: moved(T, x) for name, x in self.change.items()}
        for name in change:
            change[name][:, here] += cross_motion(before[name], turn)
        around = change["V"].copy()

        def led(x: Array, dx: Array, rate: Array, d_rate: Array) -> Array:
            """The change of S x and of what the joint's velocity products are at some rates, along all directions."""
            pairs = zip(dq.T, d_rate.T, strict=True)
            slopes = [joint_slope(top.types[i], self.q[top.q_of[i]], rate, x, a, b) for a, b in pairs]
            changing = [s.c for s in slopes if s is not None]
            return S @ dx + columns(changing, 6) if changing else S @ dx

        self.pose = moved(T, self.pose)
        self.pose[:, here] += turn
        for name in FIELDS:
            x, dx = self.rates[name].value[own], self.rates[name].of(own, c.m)
            self.value[name] = before[name] + S @ x
            change[name][:, here] += led(x, dx, none, np.zeros(dq.shape))
        x, rate, d_rate = self.rates["Y"].value[own], rates.value[own], rates.of(own, c.m)
        joint = S @ rate  # the acceleration has products of velocities, of the place before and the joint's own
        bias = top.types[i].subspace_bias(self.q[top.q_of[i]], rate)
        self.value["Y"] = before["Y"] + cross_motion(before["V"], joint) + bias + S @ x
        d_joint = led(rate, d_rate, none, np.zeros(dq.shape))
        change["Y"] = change["Y"] - cross_motion(joint, around)
        change["Y"][:, here] += cross_motion(before["V"], d_joint) + led(x, self.rates["Y"].of(own, c.m), rate, d_rate)
        self.change = change
