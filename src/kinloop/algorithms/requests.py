"""Requests: which quantity of the table is asked for, with which method, frames, constraints, and its evaluation.

`ask` makes a request, or says what the table cannot answer; `evaluate` answers it, on numbers or on symbols, but for
derivatives, which `differentiated` makes of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from kinloop.algorithms.constrained.motion_constraints import Constraints, Placed, all_numbers, place, with_numbers
from kinloop.algorithms.quantities import AXES, QUANTITIES
from kinloop.algorithms.trees.kinematics import find_frame
from kinloop.clusters import ClusterTree
from kinloop.errors import MethodError, unknown
from kinloop.model.parameters import parameter_size, with_parameters
from kinloop.model.topology import Topology
from kinloop.scalar import Array

DERIVATIVES = ("jvp", "vjp", "hvp")
"""Along directions, of weighted outputs, and of the latter along directions: see `differentiated`."""


class Request(NamedTuple):
    """A quantity as it is asked for: everything its graph depends on besides the robot.

    `forces` says whether f_ext is an input, `parameters` names those of the robot's parameters that are inputs, `axes`
    those in which quantities of a frame are given. `derivative` is one of `DERIVATIVES`, or empty for the quantity
    itself.
    """

    quantity: str
    method: str
    frames: tuple[str, ...] = ()
    constraints: tuple[Placed, ...] = ()
    forces: bool = False
    parameters: tuple[str, ...] = ()
    compliance: float | None = None
    axes: str = "body"
    derivative: str = ""

    @property
    def name(self) -> str:
        """What its kernel is called."""
        return f"{self.quantity}_{self.derivative}" if self.derivative else self.quantity

    @property
    def key(self) -> tuple[Any, ...]:
        """What tells two requests to one robot apart; numbers of constraints are inputs and do not count."""
        if not self.constraints:
            return self
        return (*self[:3], tuple(p.constraint.structure() for p in self.constraints), *self[4:])


def ask(
    top: Topology,
    quantity: str,
    method: str | None = None,
    frames: Sequence[str] = (),
    constraints: Constraints = (),
    forces: bool = False,
    parameters: Sequence[str] = (),
    compliance: float | None = None,
    axes: str = "body",
    derivative: str | None = None,
) -> Request:
    """A request that the table can answer, or an error that says what it cannot."""
    entry = QUANTITIES.get(quantity)
    if entry is None:
        raise unknown("quantity", quantity, QUANTITIES)
    if method is None:
        method = next(iter(entry.methods))
    elif method not in entry.methods:
        raise MethodError(f"method {method!r} of {quantity} is not one of {', '.join(map(repr, entry.methods))}")
    if derivative is not None and derivative not in DERIVATIVES:
        raise MethodError(f"derivative {derivative!r} is not one of {', '.join(map(repr, DERIVATIVES))}")
    if entry.motion:
        refuse_constrained_loops(top, quantity)
    if forces and not entry.forces:
        raise MethodError(f"{quantity} takes no external forces")
    names = (frames,) if isinstance(frames, str) else tuple(frames)
    if entry.frames and not names:
        raise MethodError(f"{quantity} needs frames=[...], names of {top.mechanism.name!r}'s frames")
    if names and not entry.frames:
        raise MethodError(f"{quantity} takes no frames; received {list(names)}")
    if len(names) > 1 and entry.frames == "one":
        raise MethodError(f"{quantity} takes one frame; received {list(names)}")
    if axes not in AXES:
        raise MethodError(f"axes {axes!r} are not one of {', '.join(map(repr, AXES))}")
    if axes != "body" and not entry.axes:
        raise MethodError(f"{quantity} is not given in axes of choice; leave axes={axes!r} out")
    if constraints and not entry.constraints:
        raise MethodError(f"{quantity} takes no constraints; constrained_dynamics is forward dynamics under them")
    placed = place(top, constraints) if entry.constraints else ()
    soft = compliance if entry.methods[method].soft else None
    return Request(quantity, method, names, placed, forces, tuple(parameters), soft, axes, derivative or "")


def refuse_constrained_loops(top: Topology, what: str) -> None:
    """Raise a `MethodError` if a mechanism has loops kept as constraints, which `what` would leave out."""
    m = top.mechanism
    if m.constrained:
        raise MethodError(
            f"{what} would leave out {', '.join(map(repr, m.constrained))} of {m.name!r}, kept as constraints "
            "(Mechanism.constrained); call constrained_dynamics, or take the names out of it to embed the loops"
        )


def input_size(tree: ClusterTree, name: str, constraints: Sequence[Placed] = ()) -> int:
    """Length of an input vector of a quantity, f_ext (a wrench per body, one after the other) among them."""
    if name == "q":
        return tree.top.nq
    if name in ("v", "tau", "a"):
        return tree.nv
    return {"f": 6, "f_ext": 6 * len(tree.top), "x": sum(p.constraint.size for p in constraints)}[name]


def input_sizes(tree: ClusterTree, asked: Request) -> dict[str, int]:
    """All inputs of a request in order: the quantity's own, f_ext, parameters, numbers of the constraints."""
    names = (*QUANTITIES[asked.quantity].inputs, *(("f_ext",) if asked.forces else ()))
    sizes = {name: input_size(tree, name, asked.constraints) for name in names}
    sizes |= {name: parameter_size(tree.top, name) for name in asked.parameters}
    if asked.constraints and len(numbers := all_numbers(asked.constraints)):
        sizes["numbers"] = len(numbers)
    return sizes


def make_plan(tree: ClusterTree, asked: Request) -> Any:
    """What the method of a request must know before it can run on symbols; None where that is nothing."""
    method = QUANTITIES[asked.quantity].methods[asked.method]
    if method.numeric:
        raise MethodError(f"method {asked.method!r} of {asked.quantity} works on numbers only and has no kernel")
    with np.errstate(all="ignore"):
        return method.plan(tree, asked.constraints) if method.plan else None


def opened(tree: ClusterTree, asked: Request, given: Mapping[str, Array]) -> ClusterTree:
    """The tree with the parameters that a request leaves open as they are given."""
    if not asked.parameters:
        return tree
    return tree.with_topology(with_parameters(tree.top, {name: given[name] for name in asked.parameters}))


def evaluate(tree: ClusterTree, asked: Request, *arrays: Array, plan: Any = None) -> dict[str, Array]:
    """Outputs of a request by name, for arrays of numbers or symbols in the order of `input_sizes`.

    On symbols, a method that needs a plan gets it as `plan`.
    """
    entry = QUANTITIES[asked.quantity]
    method = entry.methods[asked.method]
    given = dict(zip(input_sizes(tree, asked), map(np.asarray, arrays), strict=True))
    options: dict[str, Any] = {}
    tree = opened(tree, asked, given)
    if asked.forces:
        options["f_ext"] = given["f_ext"].reshape(len(tree.top), 6)
    if asked.compliance is not None:
        options["compliance"] = asked.compliance
    if asked.axes != "body":
        options["axes"] = asked.axes
    if plan is not None:
        options["plan"] = plan
    besides: list[Any] = []
    if entry.frames:
        found = [find_frame(tree.top, name) for name in asked.frames]
        besides = [found if entry.frames == "many" else found[0]]
    elif entry.constraints:
        besides = [with_numbers(asked.constraints, given["numbers"]) if "numbers" in given else list(asked.constraints)]
    result = method.call(tree, *(given[name] for name in entry.inputs), *besides, **options)
    results = result if len(entry.outputs) > 1 else (result,)
    return {name: np.asarray(x) for name, x in zip(entry.outputs, results, strict=True)}
