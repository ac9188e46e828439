"""Every model of the MuJoCo Menagerie: whether it loads, and its forward dynamics against MuJoCo's matrices.

    KINLOOP_MENAGERIE=folder python benchmarks/menagerie.py [--table file.md] [robot ...]

A robot is a folder of the Menagerie; without names all files of all of them are looked at. Accelerations at a random
closed state under random forces are compared with those of MuJoCo's mass matrix, bias forces and Jacobian of
equalities, solved without softness: [M -J'; J 0] [a; f] = [tau - c; -Jdot v], Jdot by differences along the motion.
Equalities that contradict one another a little cannot all hold; which of them give way depends on how they are weighed.
`undetermined` is how far accelerations of these matrices differ from each other over random weights of their rows.
Files that MuJoCo itself does not load (parts of others) are named and not counted.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kinloop import io
from kinloop.algorithms.trees.cluster_aba import cluster_aba
from kinloop.bench.report_elements import Section, Table
from kinloop.cli.bench_command import WIDE, print_section
from kinloop.cli.terminal_output import console
from kinloop.clusters import ClusterTree, close, grow, neutral
from kinloop.errors import KinloopError
from kinloop.io import convert
from kinloop.io.mjcf.mujoco_codes import MjModel

FOLDER = "KINLOOP_MENAGERIE"
"""The environment variable with the folder of the Menagerie."""
ALLOWED = 1e-7
"""How far accelerations may be from MuJoCo's, relative to the largest."""
STEP = 1e-3
"""Of the differences for Jdot, which are of fourth order [s]."""
RANK = 1e-5
"""Singular values of J below this, relative to the largest, are those of redundant rows.

ToddlerBot's lie at 1e-2 and above, or at 2e-8 and below: its connects contradict one another a little.
"""
WEIGHTS = 16
"""Random weights of rows, for what equalities leave undetermined."""
COLUMNS = ["file", "loads", "bodies", "closures", "nv", "difference", "undetermined", "load [s]"]


@dataclass
class Result:
    """What became of one file; `problem` says why there is no robot, or no comparison."""

    file: str
    bodies: int = 0
    closures: int = 0
    nv: int = 0
    difference: float = np.nan
    undetermined: float = 0.0
    seconds: float = np.nan
    problem: str = ""

    @property
    def fits(self) -> bool:
        return not self.problem and self.difference <= max(ALLOWED, self.undetermined)

    def cells(self) -> list[str]:
        if self.problem:
            return [self.file, self.problem, *[""] * (len(COLUMNS) - 2)]
        counts = map(str, (self.bodies, self.closures, self.nv))
        told = f"{self.difference:.1e}", f"{self.undetermined:.1e}", f"{self.seconds:.2f}"
        return [self.file, "yes", *counts, *told]


def model_files(folder: Path, robots: list[str]) -> Iterator[Path]:
    """MJCF files of the robots that are named, or of all."""
    for robot in robots or sorted(p.name for p in folder.iterdir() if p.is_dir()):
        yield from sorted((folder / robot).glob("*.xml"))


def hard_accelerations(model: MjModel, qpos: np.ndarray, qvel: np.ndarray, force: np.ndarray) -> Iterator[np.ndarray]:
    """MuJoCo's acceleration where equalities hold exactly, by its own matrices; then with rows of other weights."""
    import mujoco

    data = mujoco.MjData(model)

    def jacobian(t: float) -> np.ndarray:
        data.qpos[:], data.qvel[:] = qpos, qvel
        mujoco.mj_integratePos(model, data.qpos, qvel, t)
        mujoco.mj_fwdPosition(model, data)
        return np.array(data.efc_J).reshape(data.nefc, model.nv)[: data.ne]

    ahead = [jacobian(k * STEP) for k in (-2, -1, 1, 2)]
    rate = (ahead[0] - 8.0 * ahead[1] + 8.0 * ahead[2] - ahead[3]) / (12.0 * STEP)
    J = jacobian(0.0)
    mujoco.mj_fwdVelocity(model, data)
    M = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, M)
    rng = np.random.default_rng(0)
    for weight in (np.ones(len(J)), *np.exp(2.0 * rng.normal(size=(WEIGHTS, len(J))))):
        yield solved(M, weight[:, None] * J, -weight * (rate @ qvel), force - data.qfrc_bias)


def solved(M: np.ndarray, J: np.ndarray, along: np.ndarray, driven: np.ndarray) -> np.ndarray:
    """The acceleration a under J a = along, rows that are redundant left out."""
    if not len(J):
        return np.linalg.solve(M, driven)
    U, s, Vt = np.linalg.svd(J)
    rank = int(np.sum(s > RANK * s[0]))
    N, particular = Vt[rank:].T, Vt[:rank].T @ ((U[:, :rank].T @ along) / s[:rank])
    a: np.ndarray = particular + N @ np.linalg.solve(N.T @ M @ N, N.T @ (driven - M @ particular))
    return a


def hard_model(path: Path) -> MjModel:
    """MuJoCo's model of a file, with equalities alone among its constraints; `ValueError` where it has none."""
    import mujoco

    model = mujoco.MjModel.from_xml_path(str(path))
    for what in ("CONTACT", "LIMIT", "FRICTIONLOSS"):
        model.opt.disableflags |= int(getattr(mujoco.mjtDisableBit, f"mjDSBL_{what}"))
    model.opt.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
    return model


def differences(tree: ClusterTree, model: MjModel, seed: int = 0) -> tuple[float, float]:
    """By how much accelerations differ from MuJoCo's, and those from each other, relative to the largest of them."""
    rng = np.random.default_rng(seed)
    q = close(tree, tree.top.integrate(neutral(tree), 0.1 * rng.normal(size=tree.top.n_spanning)))
    v, tau = 0.3 * rng.normal(size=(2, tree.nv))
    given = convert.to_mujoco(tree, model, q, v, tau)
    theirs, *others = (
        convert.acceleration_from_mujoco(tree, model, q, v, a) for a in hard_accelerations(model, *given)
    )
    mine = cluster_aba(tree, q, v, tau)
    off = [float(np.max(np.abs(a - theirs)) / max(1.0, np.max(np.abs(theirs)))) for a in (mine, *others)]
    return off[0], max(off[1:])


def look_at(path: Path, folder: Path) -> Result | None:
    """What becomes of a file; None where MuJoCo does not load it or nothing in it moves."""
    out = Result(path.relative_to(folder).as_posix())
    try:
        model: Any = hard_model(path)
    except ValueError:
        return None
    if not model.nv:
        return None
    try:
        begin = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            mechanism = io.load(path, packages=[folder])
        out.seconds = time.perf_counter() - begin
        tree = grow(mechanism)
        out.bodies, out.closures, out.nv = len(mechanism.bodies), len(mechanism.closures), tree.nv
        out.difference, out.undetermined = differences(tree, model)
    except KinloopError as error:
        out.problem = str(error).replace(f"{folder}/", "")
    return out


def section(results: list[Result], skipped: list[str]) -> Section:
    """The table, with how many files load and agree."""
    agree = sum(r.fits for r in results)
    load = sum(not r.problem for r in results)
    text = f"{len(results)} files: {load} load, {agree} agree to {ALLOWED:.0e}, or as far as they are determined."
    notes = [f"not loaded by MuJoCo itself, or without anything that moves: {', '.join(skipped)}"] if skipped else []
    return Section(
        "MuJoCo Menagerie", text, [Table("forward dynamics", COLUMNS, [r.cells() for r in results])], notes=notes
    )


def markdown(results: list[Result]) -> str:
    rows = [COLUMNS, ["---"] * len(COLUMNS), *(r.cells() for r in results)]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def main(arguments: list[str] | None = None) -> int:
    """Print and write the table; 1 if a file does not load or agree."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("robots", nargs="*")
    parser.add_argument("--table", type=Path)
    given = parser.parse_args(arguments)
    if not Path(os.environ.get(FOLDER, "")).is_dir() or not os.environ.get(FOLDER):
        parser.error(f"set {FOLDER} to the folder of the MuJoCo Menagerie")
    folder = Path(os.environ[FOLDER]).resolve()
    results, skipped = [], []
    for path in model_files(folder, given.robots):
        found = look_at(path, folder)
        if found is None:
            skipped.append(path.relative_to(folder).as_posix())
            continue
        results.append(found)
        if given.table is not None:
            given.table.write_text(markdown(results), encoding="utf-8")
    print_section(section(results, skipped), console(WIDE))
    return 0 if results and all(r.fits for r in results) else 1


if __name__ == "__main__":
    raise SystemExit(main())
