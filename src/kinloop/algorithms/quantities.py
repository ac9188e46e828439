"""Every quantity a robot can compute, by name: its inputs, its methods, how to trace it.

The front door and the compiler both read this table, so a new algorithm is one line here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kinloop.algorithms.constrained.motion_constraints import Placed, Weld
from kinloop.algorithms.constrained.pv_osim import pv_osim
from kinloop.algorithms.constrained.pv_osim_fast import pv_osim_fast
from kinloop.algorithms.constrained.pv_osimr import pv_osimr
from kinloop.algorithms.trees import derivatives, energy, factorization, kinematics
from kinloop.algorithms.trees.cluster_aba import cluster_aba
from kinloop.algorithms.trees.cluster_crba import cluster_crba
from kinloop.algorithms.trees.cluster_efpa import cluster_efpa, force_response
from kinloop.algorithms.trees.cluster_rnea import bias_force, cluster_rnea
from kinloop.algorithms.witnesses import approximate, dense_kkt
from kinloop.algorithms.witnesses.kjr import kjr
from kinloop.algorithms.witnesses.lagrange import lagrange
from kinloop.algorithms.witnesses.ltl import ltl_osim
from kinloop.algorithms.witnesses.projection import projected_osim, projected_rnea, projection
from kinloop.clusters import ClusterTree
from kinloop.errors import MethodError
from kinloop.spatial import Transform

FrameAt = tuple[int, Transform]


@dataclass(frozen=True)
class Quantity:
    """Inputs in order ("q", "v", "tau", "a", "f"), output names, methods; what it needs besides."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    methods: dict[str, Callable[..., Any]]
    frames: str = ""  # "", "one" or "many"
    forces: bool = False  # takes f_ext
    numeric: tuple[str, ...] = field(default=())  # methods that cannot be traced

    @property
    def default(self) -> str:
        return next(iter(self.methods))

    def method(self, name: str | None, quantity: str) -> str:
        if name is None:
            return self.default
        if name not in self.methods:
            raise MethodError(f"method {name!r} of {quantity} is not one of {', '.join(map(repr, self.methods))}")
        return name


def _force_response(tree: ClusterTree, q: Any, f: Any, frame: FrameAt) -> Any:
    body, placement = frame
    return force_response(tree, q, body, placement, f)


def _osim(method: Callable[..., Any]) -> Callable[..., Any]:
    """An algorithm for the rows of constraints, on whole frames."""
    return lambda tree, q, frames: method(tree, q, [Placed(Weld("frame"), frame) for frame in frames])


OSIM = {
    "pv_osim": pv_osim, "pv_osim_fast": pv_osim_fast, "pv_osimr": pv_osimr, "ltl_osim": ltl_osim, "kjr": kjr,
}  # fmt: skip


def _pose(tree: ClusterTree, q: Any, frame: FrameAt) -> Any:
    return kinematics.frame_pose(tree, q, *frame).homogeneous()


QUANTITIES: dict[str, Quantity] = {
    "forward_dynamics": Quantity(
        ("q", "v", "tau"),
        ("a",),
        {
            "cluster_aba": cluster_aba,
            "projection": projection,
            "lagrange": lagrange,
            "approximate_aba": approximate.approximate_aba,
            "unconstrained_aba": approximate.unconstrained_aba,
            "dense_kkt": dense_kkt.dense_kkt,
        },
        forces=True,
        numeric=("dense_kkt",),
    ),
    "inverse_dynamics": Quantity(
        ("q", "v", "a"),
        ("tau",),
        {
            "cluster_rnea": cluster_rnea,
            "projected_rnea": projected_rnea,
            "approximate_rnea": approximate.approximate_rnea,
            "unconstrained_rnea": approximate.unconstrained_rnea,
            "dense_kkt": dense_kkt.dense_inverse_dynamics,
        },
        forces=True,
        numeric=("dense_kkt",),
    ),
    "mass_matrix": Quantity(
        ("q",),
        ("M",),
        {"cluster_crba": cluster_crba, "dense_kkt": dense_kkt.dense_mass_matrix},
        numeric=("dense_kkt",),
    ),
    "inverse_mass_matrix": Quantity(("q",), ("M_inverse",), {"innovations": factorization.inverse_mass_matrix}),
    "log_determinant": Quantity(("q",), ("log_determinant",), {"innovations": factorization.log_determinant}),
    "bias_force": Quantity(("q", "v"), ("bias",), {"cluster_rnea": bias_force}, forces=True),
    "inverse_osim": Quantity(
        ("q",),
        ("inverse_osim",),
        {
            "cluster_efpa": cluster_efpa,
            "projected_osim": projected_osim,
            **{name: _osim(method) for name, method in OSIM.items()},
            "approximate_efpa": approximate.approximate_efpa,
            "unconstrained_efpa": approximate.unconstrained_efpa,
            "dense_kkt": dense_kkt.dense_osim,
        },
        frames="many",
        numeric=("dense_kkt",),
    ),
    "force_response": Quantity(
        ("q", "f"),
        ("a", "compliance"),
        {"cluster_efpa": _force_response},
        frames="one",
    ),
    "forward_dynamics_derivatives": Quantity(
        ("q", "v", "tau"), ("da_dq", "da_dv", "da_dtau"), {"graph": derivatives.forward_dynamics_derivatives}
    ),
    "inverse_dynamics_derivatives": Quantity(
        ("q", "v", "a"), ("dtau_dq", "dtau_dv", "dtau_da"), {"graph": derivatives.inverse_dynamics_derivatives}
    ),
    "spanning_jacobian": Quantity(("q",), ("G",), {"chart": lambda tree, q: tree.spanning_jacobian(q)}),
    "spanning_velocity": Quantity(("q", "v"), ("qd",), {"chart": lambda tree, q, v: tree.spanning_motion(q, v)[1]}),
    "spanning_bias": Quantity(("q", "v"), ("g",), {"chart": lambda tree, q, v: tree.spanning_motion(q, v)[2]}),
    "kinetic_energy": Quantity(("q", "v"), ("energy",), {"recursive": energy.kinetic_energy}),
    "potential_energy": Quantity(("q",), ("energy",), {"recursive": energy.potential_energy}),
    "momentum": Quantity(("q", "v"), ("momentum",), {"recursive": energy.momentum}),
    "center_of_mass": Quantity(("q",), ("com",), {"recursive": energy.center_of_mass}),
    "frame_pose": Quantity(("q",), ("pose",), {"recursive": _pose}, frames="one"),
    "frame_jacobian": Quantity(
        ("q",), ("J",), {"recursive": lambda t, q, frame: kinematics.frame_jacobian(t, q, *frame)}, frames="one"
    ),
    "frame_jacobian_rate": Quantity(
        ("q", "v"),
        ("J_rate",),
        {"graph": lambda t, q, v, frame: kinematics.frame_jacobian_rate(t, q, v, *frame)},
        frames="one",
    ),
    "frame_velocity": Quantity(
        ("q", "v"),
        ("velocity",),
        {"recursive": lambda t, q, v, frame: kinematics.frame_velocity(t, q, v, *frame)},
        frames="one",
    ),
    "frame_bias_acceleration": Quantity(
        ("q", "v"),
        ("acceleration",),
        {"recursive": lambda t, q, v, frame: kinematics.frame_bias_acceleration(t, q, v, *frame)},
        frames="one",
    ),
}


def input_size(tree: ClusterTree, name: str) -> int:
    """Length of an input vector: q, v, tau, a, f (a wrench) or f_ext (a wrench per body, row by row)."""
    return {"q": tree.top.nq, "f": 6, "f_ext": 6 * len(tree.top)}.get(name, tree.nv)


def evaluate(
    name: str,
    method: str,
    tree: ClusterTree,
    arrays: Sequence[Any],
    frames: Sequence[FrameAt] = (),
    forces: bool = False,
) -> dict[str, Any]:
    """Outputs of a quantity by name, for numbers or symbols; with `forces` the last array is f_ext, flat."""
    quantity = QUANTITIES[name]
    call = quantity.methods[method]
    arrays = [np.asarray(a) for a in arrays]
    more: list[Any] = [arrays.pop().reshape(len(tree.top), 6)] if forces else []
    if quantity.frames:
        more.append(list(frames) if quantity.frames == "many" else frames[0])
    result = call(tree, *arrays, *more)
    results = result if len(quantity.outputs) > 1 else (result,)
    return {k: np.asarray(r) for k, r in zip(quantity.outputs, results, strict=True)}
