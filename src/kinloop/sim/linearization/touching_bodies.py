"""How touching bodies of a step with bending loops move along local directions: poses and six-vectors.

As `contact_bodies`, for directions that need not be closed motions: rates of all joints and their slopes are given, and
carried outward.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.algorithms.trees.cluster_changes import along, columns
from kinloop.algorithms.trees.kinematics import Motion, world_acceleration
from kinloop.clusters import ClusterTree
from kinloop.scalar import Array
from kinloop.sim.linearization.contact_bodies import moved, poses
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
        dq = self.rates["q"].of(own, c.m)
        kind, at, turn = top.types[i], self.q[top.q_of[i]], S @ dq
        steps = [kind.rate(at, x) for x in dq.T]
        dS = [sc.jvp(S, at, step) for step in steps] if S.dtype == object else None
        before = {name: T.motion(x) for name, x in self.value.items()}
        change = {name: moved(T, x) for name, x in self.change.items()}
        for name in change:
            change[name][:, here] += cross_motion(before[name], turn)

        def led(name: str) -> tuple[Array, Array]:
            """S x, and its change, for the rates or accelerations x of a field."""
            x = self.rates[name].value[own]
            w = S @ self.rates[name].of(own, c.m)
            return S @ x, w if dS is None else w + columns([s @ x for s in dS], 6)

        self.pose = moved(T, self.pose)
        self.pose[:, here] += turn
        for name in FIELDS:
            own_rate, w = led(name)
            self.value[name] = before[name] + own_rate
            if name == "V":  # the acceleration Y has products of velocities besides: V's before and the joint's own
                around, d_around, joint, d_joint = before[name], change[name].copy(), own_rate, w
            change[name][:, here] += w
        rate = self.rates["V"].value[own]
        bias = kind.subspace_bias(at, rate)
        more, d_more = led("Y")
        if bias.dtype == object:
            pairs = zip(steps, self.rates["V"].of(own, c.m).T, strict=True)
            d_more = d_more + columns([along(bias, at, step, rate, x) for step, x in pairs], 6)
        self.value["Y"] = before["Y"] + cross_motion(around, joint) + bias + more
        change["Y"] = change["Y"] - cross_motion(joint, d_around)
        change["Y"][:, here] += cross_motion(around, d_joint) + d_more
        self.change = change
