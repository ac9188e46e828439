"""The table of quantities: everything a robot can compute, by name, with its inputs, outputs and methods.

The front door and the maker of kernels both read this table (`requests.py`), so that a new algorithm is one line here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from kinloop.algorithms.constrained import constrained_derivatives, plans
from kinloop.algorithms.constrained.motion_constraints import Placed, Weld
from kinloop.algorithms.constrained.pv import pv
from kinloop.algorithms.constrained.pv_early import pv_early
from kinloop.algorithms.constrained.pv_osim import pv_osim, pv_osim_solve
from kinloop.algorithms.constrained.pv_osim_fast import pv_osim_fast, pv_osim_fast_solve
from kinloop.algorithms.constrained.pv_osimr import pv_osimr, pv_osimr_solve
from kinloop.algorithms.constrained.pv_soft import pv_soft
from kinloop.algorithms.trees import (
    centroidal,
    derivatives,
    energy,
    factorization,
    forward_derivatives,
    frame_derivatives,
    kinematics,
    regressor,
)
from kinloop.algorithms.trees.cluster_aba import cluster_aba
from kinloop.algorithms.trees.cluster_crba import cluster_crba
from kinloop.algorithms.trees.cluster_efpa import cluster_efpa, force_response
from kinloop.algorithms.trees.cluster_rnea import bias_force, cluster_rnea
from kinloop.algorithms.trees.coriolis import coriolis_matrix
from kinloop.algorithms.trees.kinematics import FrameAt
from kinloop.algorithms.trees.reactions import reactions
from kinloop.algorithms.witnesses import approximate, dense_constrained, dense_kkt, graph_derivatives
from kinloop.algorithms.witnesses.constrained_efpa import constrained_efpa
from kinloop.algorithms.witnesses.efpa import efpa, efpa_solve
from kinloop.algorithms.witnesses.kjr import kjr
from kinloop.algorithms.witnesses.lagrange import lagrange
from kinloop.algorithms.witnesses.ltl import ltl, ltl_osim, ltl_osim_solve
from kinloop.algorithms.witnesses.ltl_soft import ltl_soft
from kinloop.algorithms.witnesses.projection import projected_osim, projected_rnea, projection
from kinloop.clusters import ClusterTree
from kinloop.scalar import Array


class Method(NamedTuple):
    """One way to compute a quantity: a function of (tree, *inputs), then frames or constraints, and f_ext.

    A `numeric` method cannot run on symbols and so has no kernel. A method with a `plan` decides about ranks as
    it goes on numbers, and on symbols by a plan, which `plan(tree, constraints)` makes from numbers beforehand.
    A `soft` method lets the rows of constraints yield, by its option `compliance`. `surer` names the method that
    computes again those states of a batch at which a kernel of this one lost rows.
    """

    call: Callable[..., Any]
    numeric: bool = False
    plan: Callable[[ClusterTree, Sequence[Placed]], Any] | None = None
    soft: bool = False
    surer: str | None = None


class Quantity(NamedTuple):
    """Inputs in order, output names, methods with the default first, and what it takes besides.

    Inputs are q, v, tau, a, f (a wrench) and x (a number per row of the constraints). `frames` is "one" or
    "many" if it asks for named frames, `constraints` says whether it asks for motion constraints, `forces`
    whether it takes external wrenches f_ext. `motion` says that it relates forces and accelerations, so that it would
    be wrong without the multipliers of constrained loops; `pose` that it depends on positions alone, not on charts.
    `axes` says that it is given in the frame's own axes, or on request in the world's.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    methods: dict[str, Method]
    frames: str = ""
    constraints: bool = False
    forces: bool = False
    motion: bool = False
    pose: bool = False
    axes: bool = False


AXES = ("body", "world")
"""Axes in which quantities of a frame are given: its own, or the world's, at the frame's origin in both."""


def _force_response(tree: ClusterTree, q: Array, f: Array, frame: FrameAt) -> tuple[Array, Any]:
    return force_response(tree, q, *frame, f)


def _osim(rows: Callable[..., Array]) -> Method:
    """An algorithm for the rows of constraints, on whole frames."""
    return Method(lambda tree, q, frames: rows(tree, q, [Placed(Weld("frame"), frame) for frame in frames]))


def _of_frame(call: Callable[..., Any]) -> Method:
    """An algorithm of (tree, *inputs, body, placement) that is given a frame."""
    return Method(lambda tree, *arguments, **options: call(tree, *arguments[:-1], *arguments[-1], **options))


def _pose(tree: ClusterTree, q: Array, body: int, placement: Any) -> Array:
    return kinematics.frame_pose(tree, q, body, placement).homogeneous()


QUANTITIES: dict[str, Quantity] = {
    "forward_dynamics": Quantity(
        ("q", "v", "tau"),
        ("a",),
        {
            "cluster_aba": Method(cluster_aba),
            "projection": Method(projection),
            "lagrange": Method(lagrange),
            "approximate_aba": Method(approximate.approximate_aba),
            "unconstrained_aba": Method(approximate.unconstrained_aba),
            "dense_kkt": Method(dense_kkt.dense_kkt, numeric=True),
        },
        forces=True,
        motion=True,
    ),
    "inverse_dynamics": Quantity(
        ("q", "v", "a"),
        ("tau",),
        {
            "cluster_rnea": Method(cluster_rnea),
            "projected_rnea": Method(projected_rnea),
            "approximate_rnea": Method(approximate.approximate_rnea),
            "unconstrained_rnea": Method(approximate.unconstrained_rnea),
            "dense_kkt": Method(dense_kkt.dense_inverse_dynamics, numeric=True),
        },
        forces=True,
        motion=True,
    ),
    "mass_matrix": Quantity(
        ("q",),
        ("M",),
        {"cluster_crba": Method(cluster_crba), "dense_kkt": Method(dense_kkt.dense_mass_matrix, numeric=True)},
    ),
    "inverse_mass_matrix": Quantity(("q",), ("M_inverse",), {"innovations": Method(factorization.inverse_mass_matrix)}),
    "log_determinant": Quantity(("q",), ("log_determinant",), {"innovations": Method(factorization.log_determinant)}),
    "bias_force": Quantity(("q", "v"), ("bias",), {"cluster_rnea": Method(bias_force)}, forces=True),
    "gravity_force": Quantity(("q",), ("gravity",), {"recursive": Method(centroidal.gravity_force)}),
    "coriolis_matrix": Quantity(("q", "v"), ("C",), {"recursive": Method(coriolis_matrix)}),
    "inverse_osim": Quantity(
        ("q",),
        ("inverse_osim",),
        {
            "cluster_efpa": Method(cluster_efpa),
            "projected_osim": Method(projected_osim),
            "pv_osim": _osim(pv_osim),
            "pv_osim_fast": _osim(pv_osim_fast),
            "pv_osimr": _osim(pv_osimr),
            "ltl_osim": _osim(ltl_osim),
            "kjr": _osim(kjr),
            "approximate_efpa": Method(approximate.approximate_efpa),
            "unconstrained_efpa": Method(approximate.unconstrained_efpa),
            "dense_kkt": Method(dense_kkt.dense_osim, numeric=True),
        },
        frames="many",
        motion=True,
    ),
    "force_response": Quantity(
        ("q", "f"), ("a", "compliance"), {"cluster_efpa": Method(_force_response)}, frames="one", motion=True
    ),
    "forward_dynamics_derivatives": Quantity(
        ("q", "v", "tau"),
        ("da_dq", "da_dv", "da_dtau"),
        {
            "recursive": Method(forward_derivatives.forward_dynamics_derivatives),
            "graph": Method(graph_derivatives.forward_dynamics_derivatives),
        },
        forces=True,
        motion=True,
    ),
    "inverse_dynamics_derivatives": Quantity(
        ("q", "v", "a"),
        ("dtau_dq", "dtau_dv", "dtau_da"),
        {
            "recursive": Method(derivatives.inverse_dynamics_derivatives),
            "graph": Method(graph_derivatives.inverse_dynamics_derivatives),
        },
        forces=True,
        motion=True,
    ),
    "regressor": Quantity(("q", "v", "a"), ("Y",), {"recursive": Method(regressor.regressor)}, motion=True),
    "parameter_derivatives": Quantity(
        ("q", "v", "tau"), ("da_dpi",), {"recursive": Method(regressor.parameter_derivatives)}, motion=True
    ),
    "reactions": Quantity(
        ("q", "v", "tau"),
        ("joints", "loops", "transmissions"),
        {"newton_euler": Method(reactions)},
        forces=True,
        motion=True,
    ),
    "spanning_jacobian": Quantity(("q",), ("G",), {"chart": Method(lambda tree, q: tree.spanning_jacobian(q))}),
    "spanning_velocity": Quantity(
        ("q", "v"), ("qd",), {"chart": Method(lambda tree, q, v: tree.spanning_motion(q, v)[1])}
    ),
    "spanning_bias": Quantity(("q", "v"), ("g",), {"chart": Method(lambda tree, q, v: tree.spanning_motion(q, v)[2])}),
    "kinetic_energy": Quantity(("q", "v"), ("energy",), {"recursive": Method(energy.kinetic_energy)}),
    "kinetic_energy_gradient": Quantity(
        ("q", "v"), ("dT_dq", "dT_dv"), {"recursive": Method(energy.kinetic_energy_gradient)}
    ),
    "potential_energy": Quantity(("q",), ("energy",), {"recursive": Method(energy.potential_energy)}, pose=True),
    "momentum": Quantity(("q", "v"), ("momentum",), {"recursive": Method(energy.momentum)}),
    "center_of_mass": Quantity(("q",), ("com",), {"recursive": Method(energy.center_of_mass)}, pose=True),
    "center_of_mass_jacobian": Quantity(("q",), ("J",), {"recursive": Method(centroidal.center_of_mass_jacobian)}),
    "centroidal_momentum": Quantity(("q", "v"), ("momentum",), {"recursive": Method(centroidal.centroidal_momentum)}),
    "centroidal_momentum_matrix": Quantity(
        ("q",), ("A",), {"recursive": Method(centroidal.centroidal_momentum_matrix)}
    ),
    "centroidal_momentum_bias": Quantity(
        ("q", "v"), ("rate",), {"recursive": Method(centroidal.centroidal_momentum_bias)}
    ),
    "frame_pose": Quantity(("q",), ("pose",), {"recursive": _of_frame(_pose)}, frames="one", pose=True),
    "frame_jacobian": Quantity(
        ("q",), ("J",), {"recursive": _of_frame(kinematics.frame_jacobian)}, frames="one", axes=True
    ),
    "frame_jacobian_rate": Quantity(
        ("q", "v"), ("J_rate",), {"graph": _of_frame(kinematics.frame_jacobian_rate)}, frames="one", axes=True
    ),
    "frame_hessian": Quantity(
        ("q",), ("H",), {"recursive": _of_frame(frame_derivatives.frame_hessian)}, frames="one", axes=True
    ),
    "frame_velocity": Quantity(
        ("q", "v"), ("velocity",), {"recursive": _of_frame(kinematics.frame_velocity)}, frames="one", axes=True
    ),
    "frame_velocity_derivatives": Quantity(
        ("q", "v"),
        ("dvelocity_dq", "dvelocity_dv"),
        {"recursive": _of_frame(frame_derivatives.frame_velocity_derivatives)},
        frames="one",
        axes=True,
    ),
    "frame_bias_acceleration": Quantity(
        ("q", "v"),
        ("acceleration",),
        {"recursive": _of_frame(kinematics.frame_bias_acceleration)},
        frames="one",
        axes=True,
    ),
    "frame_acceleration": Quantity(
        ("q", "v", "a"),
        ("acceleration",),
        {"recursive": _of_frame(kinematics.frame_acceleration)},
        frames="one",
        axes=True,
    ),
    "frame_acceleration_derivatives": Quantity(
        ("q", "v", "a"),
        ("dacceleration_dq", "dacceleration_dv", "dacceleration_da"),
        {"recursive": _of_frame(frame_derivatives.frame_acceleration_derivatives)},
        frames="one",
        axes=True,
    ),
    "constrained_dynamics": Quantity(
        ("q", "v", "tau"),
        ("a", "multipliers", "residual", "deficient"),
        {
            "pv": Method(plans.planned(pv), plan=plans.pv_plan("auto"), surer="pv_joint"),
            "pv_joint": Method(plans.planned(pv, base="joint"), plan=plans.pv_plan("joint")),
            "pv_branches": Method(plans.planned(pv, base="branches"), plan=plans.pv_plan("branches"), surer="pv_joint"),
            "pv_early": Method(pv_early, plan=plans.early_plan, surer="pv_joint"),
            "pv_soft": Method(pv_soft, soft=True),
            "ltl": Method(ltl, plan=plans.row_plan),
            "ltl_soft": Method(ltl_soft, soft=True),
            "efpa": Method(constrained_efpa, plan=plans.row_plan),
            "kjr": Method(partial(constrained_efpa, by="kjr"), plan=plans.row_plan),
            "least_squares": Method(plans.planned(pv, base="joint", least_squares=True), plan=plans.pv_plan("joint")),
            "dense_kkt": Method(dense_constrained.dense_kkt, numeric=True),
        },
        constraints=True,
        forces=True,
    ),
    "constrained_dynamics_derivatives": Quantity(
        ("q", "v", "tau"),
        ("da_dq", "da_dv", "da_dtau", "dl_dq", "dl_dv", "dl_dtau", "residual", "deficient"),
        {
            "recursive": Method(constrained_derivatives.constrained_dynamics_derivatives, plan=plans.row_plan),
            "graph": Method(graph_derivatives.constrained_dynamics_derivatives, plan=plans.row_plan),
        },
        constraints=True,
        forces=True,
    ),
    "delassus": Quantity(
        ("q",),
        ("delassus",),
        {
            "pv_osim": Method(pv_osim),
            "pv_osim_fast": Method(pv_osim_fast),
            "pv_osimr": Method(pv_osimr),
            "efpa": Method(efpa),
            "ltl_osim": Method(ltl_osim),
            "kjr": Method(kjr),
            "dense_kkt": Method(dense_constrained.dense_delassus, numeric=True),
        },
        constraints=True,
    ),
    "delassus_solve": Quantity(
        ("q", "x"),
        ("multipliers",),
        {
            "pv_osim": Method(pv_osim_solve),
            "pv_osim_fast": Method(pv_osim_fast_solve),
            "pv_osimr": Method(pv_osimr_solve),
            "efpa": Method(efpa_solve),
            "ltl_osim": Method(ltl_osim_solve),
        },
        constraints=True,
    ),
}
