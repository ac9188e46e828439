"""Draw the diagrams of the derivations: python -m tools.make_diagrams."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tools import constraint_diagrams, loop_diagrams, tree_diagrams
from tools.sketch import Sketch

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "pictures" / "derivations"

DIAGRAMS: dict[str, Callable[[], Sketch]] = {
    "approximate": tree_diagrams.approximate,
    "baselines": constraint_diagrams.baselines,
    "charts": loop_diagrams.charts,
    "cluster_aba": tree_diagrams.cluster_aba,
    "cluster_crba": tree_diagrams.cluster_crba,
    "cluster_efpa": tree_diagrams.cluster_efpa,
    "cluster_rnea": tree_diagrams.cluster_rnea,
    "clusters": loop_diagrams.clusters,
    "constrained_baselines": constraint_diagrams.constrained_baselines,
    "constrained_derivatives": constraint_diagrams.constrained_derivatives,
    "constraints": loop_diagrams.constraints,
    "dense_kkt": loop_diagrams.dense_kkt,
    "derivatives": tree_diagrams.derivatives,
    "energy": tree_diagrams.energy,
    "factorization": tree_diagrams.factorization,
    "kinematics": loop_diagrams.kinematics,
    "linearization": constraint_diagrams.linearization,
    "momentum_and_frames": tree_diagrams.momentum_and_frames,
    "pv": constraint_diagrams.pv,
    "pv_early": constraint_diagrams.pv_early,
    "pv_osim": constraint_diagrams.pv_osim,
    "pv_osim_fast": constraint_diagrams.pv_osim_fast,
    "pv_osimr": constraint_diagrams.pv_osimr,
    "pv_soft": constraint_diagrams.pv_soft,
    "reactions": loop_diagrams.reactions,
    "regressor": tree_diagrams.regressor,
    "reverse_mode": tree_diagrams.reverse_mode,
    "tangent_frames": loop_diagrams.tangent_frames,
}
"""By the page that shows it."""


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for page, draw in DIAGRAMS.items():
        (FOLDER / f"{page}.svg").write_text(draw().svg(), encoding="utf-8")
