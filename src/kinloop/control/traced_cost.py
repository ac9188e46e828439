"""A cost of states and controls, traced once: its value, gradient and Hessian, exactly, in the tangent space.

A cost is written with NumPy for one state, `cost(q, v, u, t)`, with parameters `cost(q, v, u, t, p)`, and may ask the
robot (`robot.frame_pose(q, "hand")`). Gradients with respect to q are along closed motions, q + dq =
robot.integrate(q, dq). The Hessian is that of the cost along such motions: the changes of the gradient, made symmetric,
since turns do not commute.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.algorithms.differentiated import closed_rate
from kinloop.clusters import ClusterTree
from kinloop.compiler.keys import function_digest
from kinloop.control.motions import SOURCES, rows_of
from kinloop.errors import ShapeError
from kinloop.interpreted import Interpreted
from kinloop.kernels import Computed
from kinloop.robot import Robot
from kinloop.scalar import Array
from kinloop.scalar.tracing import kept_objects

Cost = Callable[..., Any]
"""cost(q, v, u, t), or with parameters cost(q, v, u, t, p)."""
Terminal = Callable[..., Any]
"""terminal(q, v), or with parameters terminal(q, v, p)."""


class Expansion(NamedTuple):
    """A cost to second order in x = (q, v) and u: gradients (..., 2 nv), (..., nu) and second derivatives."""

    x: Array
    u: Array
    xx: Array
    ux: Array
    uu: Array

    def at(self, rows: Any) -> Expansion:
        """Some of the rows."""
        return Expansion(*(x[rows] for x in self))


class TracedCost:
    """A cost function of a robot with `nu` controls and `parameters` numbers, as kernels for rows of states."""

    def __init__(self, robot: Robot, nu: int, cost: Cost, parameters: int = 0) -> None:
        self.robot, self.nu = robot, nu
        self._sizes = {"q": robot.nq, "v": robot.nv, "u": nu, "t": 1} | ({"p": parameters} if parameters else {})

        def call(q: Array, v: Array, u: Array, t: Array, *p: Array) -> dict[str, Any]:
            value = cost(q, v, u, t[0], *p)
            if np.shape(value) != ():
                raise ShapeError(f"a cost must be one number, received an array of shape {np.shape(value)}")
            return {"value": np.array([value])}

        function = sc.unrolled(sc.trace(call, self._sizes))
        self._digest = function_digest(function)
        self.value_kernel = self._kernel("cost", function)
        self.expansion_kernel = self._kernel("cost_expansion", self._expanded(function))

    def value(self, q: Array, v: Array, u: Array, t: Array, *p: Array, threads: int | None = None) -> Array:
        """Of rows of states (..., n): the cost of each; nan where a state is not finite."""
        lead, flat = _flat(q, v, u, t, *p)
        return np.asarray(rows_of(self.value_kernel, *flat, threads=threads)).reshape(lead)

    def expand(self, q: Array, v: Array, u: Array, t: Array, *p: Array, threads: int | None = None) -> Expansion:
        """Of rows of states (..., n): derivatives of the cost at each."""
        lead, flat = _flat(q, v, u, t, *p)
        n, nu = 2 * self.robot.nv, self.nu
        gradient, hessian = rows_of(self.expansion_kernel, *flat, threads=threads)
        g, H = gradient.reshape(*lead, n + nu), hessian.reshape(*lead, n + nu, n + nu)
        return Expansion(g[..., :n], g[..., n:], H[..., :n, :n], H[..., n:, :n], H[..., n:, n:])

    def _kernel(self, name: str, function: sc.Function) -> Computed:
        if not self.robot.kernels.compiles:
            return Interpreted(name, function.named, self._sizes)
        return self.robot.kernels.make(name, function.named, self._sizes, key=self._digest, sources=SOURCES)

    def _expanded(self, function: sc.Function) -> sc.Function:
        """The gradient and Hessian of a traced value along (q, v, u)."""
        tree, graph = self.robot.tree, function.graph
        q, v, u, *_ = (graph.inputs(name, n) for name, n in self._sizes.items())
        with kept_objects():
            gradient = tangent_gradient(tree, function.outputs["value"][0], q, [*v, *u])
            units = np.eye(len(gradient))
            changes = np.array([along_motions(tree, gradient, q, [*v, *u], d) for d in units], dtype=object)
            hessian = 0.5 * (changes + changes.T)
        return sc.Function(self._sizes, {"gradient": gradient, "hessian": hessian}, graph)


def tangent_gradient(tree: ClusterTree, value: Any, q: Array, others: list[Any]) -> Array:
    """The gradient of a number along closed motions, and along other inputs."""
    slopes = sc.vjp([value], [*q, *others], [1.0])
    own = [closed_rate(tree, q, e) @ slopes[: len(q)] for e in np.eye(tree.nv)]
    return np.array([*own, *slopes[len(q) :]], dtype=object)


def along_motions(tree: ClusterTree, values: Array, q: Array, others: list[Any], direction: Array) -> Array:
    """How values change along a direction: of closed motions first, then of other inputs."""
    dq = closed_rate(tree, q, direction[: tree.nv])
    return sc.jvp(np.asarray(values, dtype=object), [*q, *others], [*dq, *direction[tree.nv :]])


def _flat(q: Array, v: Array, u: Array, t: Array, *p: Array) -> tuple[tuple[int, ...], list[Array]]:
    lead = np.shape(t)
    rows, given = int(np.prod(lead)), (q, v, u, np.asarray(t)[..., None], *p)
    return lead, [np.ascontiguousarray(x).reshape(rows, x.shape[-1]) for x in given]
