"""Derivatives of any quantity that can be traced, as functions of their own, in the tangent space of closed motions.

A direction of q has an entry for every independent velocity, and so has a gradient with respect to q: positions move by

    dq/dt = E(q) G(q) dq                                                                                   (1)

with G of the charts and E the rate of joints that have more positions than velocities, so that loops stay closed and
quaternions stay of unit length. All other inputs change plainly.

    jvp   dy = J dx                       inputs x, dx         outputs y, dy
    vjp   bar_x = J^T bar_y               inputs x, bar_y      outputs y, bar_x
    hvp   the change of bar_x along dx    inputs x, bar_y, dx  outputs y, bar_x, dbar_x, with bar_y held

Array libraries know the positions by their numbers only: a direction of q has as many entries as q there, and so has a
gradient. Of a direction the part counts that is a closed motion, P dq with the projection

    P(q) = E G L,   L the independent velocities of dq/dt                                                  (2)

so that J P and its transpose are exact along closed motions and zero off them.

    pushforward       dy = J P dx                      inputs x, dx         outputs dy
    pullback          bar_x = P^T J^T bar_y            inputs x, bar_y      outputs bar_x
    pullback_change   the change of bar_x along P dx   inputs x, bar_y, dx  outputs dbar_x, with bar_y held

Derivation: docs/algorithms/reverse_mode.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.algorithms.requests import Request, evaluate, input_sizes, opened
from kinloop.algorithms.trees.kinematics import independent_change, position_rate, scatter
from kinloop.clusters import ClusterTree
from kinloop.scalar import Array
from kinloop.scalar.tracing import kept_objects

Arrays = dict[str, Array]
Rate = Callable[[ClusterTree, Array, Array], Array]


class Primal(NamedTuple):
    """A quantity on symbols: the tree with its open parameters, inputs and outputs by name, their graph."""

    tree: ClusterTree
    x: Arrays
    y: Arrays
    graph: sc.Graph

    @property
    def symbols(self) -> list[Any]:
        return [s for x in self.x.values() for s in x]

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Of a gradient with respect to each input."""
        bodies = len(self.tree.top)
        special = {"q": (self.tree.nv,), "f_ext": (bodies, 6)}
        return {name: special.get(name, x.shape) for name, x in self.x.items()}

    def inputs(self, prefix: str, shapes: Mapping[str, tuple[int, ...]]) -> Arrays:
        """Symbols of further inputs, flat."""
        sizes = {f"{prefix}{name}": int(np.prod(shape)) for name, shape in shapes.items()}
        return {name: self.graph.inputs(name, n) for name, n in sizes.items()}


def traced(tree: ClusterTree, asked: Request, plan: Any = None) -> sc.Function:
    """A request as a function on symbols: the quantity, or its derivative."""
    sizes = input_sizes(tree, asked)
    function = sc.trace(partial(evaluate, tree, asked, plan=plan), sizes)
    if not asked.derivative:
        return function
    function = sc.unrolled(function)
    x = {name: function.graph.inputs(name, n) for name, n in sizes.items()}
    primal = Primal(opened(tree, asked, x), x, function.outputs, function.graph)
    with kept_objects():
        more, outputs = MODES[asked.derivative](primal)
    sizes |= {name: len(symbols) for name, symbols in more.items()}
    return sc.Function(sizes, outputs, function.graph)


def closed_rate(tree: ClusterTree, q: Array, dq: Array) -> Array:
    """(1): dq/dt of all positions for velocities dq of the independent coordinates."""
    return position_rate(tree.top, q, scatter(tree, [tree.jacobian(c, q) @ dq[c.v] for c in tree]))


def closed_part(tree: ClusterTree, q: Array, dq: Array) -> Array:
    """(2): the closed motion that a change dq of all positions is, its independent velocities kept."""
    return closed_rate(tree, q, independent_change(tree, q, dq))


def closed_gradient(tree: ClusterTree, q: Array, gradient: Array) -> Array:
    """P^T times a gradient with respect to the numbers q, which are symbols: what (2) leaves of it."""
    dq = q[0].graph.inputs("dq_all", len(q))  # (2) is linear in it: none of it is left
    return sc.vjp(closed_part(tree, q, dq), dq, gradient)


def along(primal: Primal, outputs: Mapping[str, Array], dx: Arrays, rate: Rate = closed_rate) -> Arrays:
    """Derivatives of outputs along directions dx of all inputs; `rate` says how a direction of q moves it."""
    directions = [*dx.values()]
    directions[0] = rate(primal.tree, primal.x["q"], dx["dq"])
    flat = np.concatenate([y.reshape(-1) for y in outputs.values()])
    found = sc.jvp(flat, primal.symbols, np.concatenate(directions))
    return _split(found, {f"d{name}": y.shape for name, y in outputs.items()})


def gradient(primal: Primal, bar_y: Arrays) -> Arrays:
    """The gradient of sum(bar_y * y) with respect to all inputs."""
    y, weights = (np.concatenate([*map(np.ravel, arrays.values())]) for arrays in (primal.y, bar_y))
    found = sc.vjp(y, primal.symbols, weights)
    q, n = primal.x["q"], len(primal.x["q"])
    dq = primal.graph.inputs("dq", primal.tree.nv)  # (1) is linear in it: none of it is left
    pulled_back = sc.vjp(closed_rate(primal.tree, q, dq), dq, found[:n])
    shapes = {f"bar_{name}": shape for name, shape in primal.shapes.items()}
    return _split(np.concatenate([pulled_back, found[n:]]), shapes)


def array_gradient(primal: Primal, bar_y: Arrays) -> Arrays:
    """The gradient of sum(bar_y * y) with respect to all inputs, as array libraries want it."""
    y, weights = (np.concatenate([*map(np.ravel, arrays.values())]) for arrays in (primal.y, bar_y))
    found = sc.vjp(y, primal.symbols, weights)
    q, n = primal.x["q"], len(primal.x["q"])
    closed = closed_gradient(primal.tree, q, found[:n])
    return _split(np.concatenate([closed, found[n:]]), {f"bar_{name}": x.shape for name, x in primal.x.items()})


def _split(flat: Array, shapes: Mapping[str, tuple[int, ...]]) -> Arrays:
    """A vector cut into arrays of some shapes."""
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes.values()])
    parts = np.split(flat, ends[:-1])
    return {name: x.reshape(shape) for (name, shape), x in zip(shapes.items(), parts, strict=True)}


def _jvp(primal: Primal) -> tuple[Arrays, Arrays]:
    dx = primal.inputs("d", primal.shapes)
    return dx, primal.y | along(primal, primal.y, dx)


def _vjp(primal: Primal) -> tuple[Arrays, Arrays]:
    bar_y = _weights(primal)
    return bar_y, primal.y | gradient(primal, bar_y)


def _hvp(primal: Primal) -> tuple[Arrays, Arrays]:
    bar_y = _weights(primal)
    bar_x = gradient(primal, bar_y)
    dx = primal.inputs("d", primal.shapes)
    return bar_y | dx, primal.y | bar_x | along(primal, bar_x, dx)


def _pushforward(primal: Primal) -> tuple[Arrays, Arrays]:
    dx = _all_directions(primal)
    return dx, along(primal, primal.y, dx, closed_part)


def _pullback(primal: Primal) -> tuple[Arrays, Arrays]:
    bar_y = _weights(primal)
    return bar_y, array_gradient(primal, bar_y)


def _pullback_change(primal: Primal) -> tuple[Arrays, Arrays]:
    bar_y, dx = _weights(primal), _all_directions(primal)
    return bar_y | dx, along(primal, array_gradient(primal, bar_y), dx, closed_part)


def _weights(primal: Primal) -> Arrays:
    """A weight for every entry of every output."""
    return primal.inputs("bar_", {name: y.shape for name, y in primal.y.items()})


def _all_directions(primal: Primal) -> Arrays:
    """A direction of every entry of every input."""
    return primal.inputs("d", {name: x.shape for name, x in primal.x.items()})


MODES: dict[str, Callable[[Primal], tuple[Arrays, Arrays]]] = {
    "jvp": _jvp,
    "vjp": _vjp,
    "hvp": _hvp,
    "pushforward": _pushforward,
    "pullback": _pullback,
    "pullback_change": _pullback_change,
}
"""Further inputs of a derivative, and all of its outputs."""
