"""Constrained motion: Table II and Figures 2, 3, 4 of Sathya2023, beside Pinocchio and MuJoCo, on one core.

    python benchmarks/constrained.py [speed] [table2] [figure2] [figure3] [figure4] [--plot DIRECTORY]

Without names all parts run (about ten minutes, most of it compiling). Counts are operations of the traced
kernels; times are microseconds per state. "x" columns are how many times longer a peer takes than pv_early.
Errors are relative to dense_kkt. Robots come with `pip install kinloop[peers]`; what is missing is left out.
The paper's Iiwa and Atlas are not in that wheel: a 7-DoF xArm and a 35-DoF Unitree G1 stand in for them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import kinloop as kl
from kinloop.bench.peers import make_problem, wheel_file
from kinloop.bench.peers_mujoco import MujocoRobot, mujoco_xml
from kinloop.bench.peers_pinocchio import pinocchio_robot
from kinloop.bench.timing import machine, one_core, seconds_per_call

HARD = ("pv", "pv_early", "ltl")
SOFT = ("pv_soft", "ltl_soft")
BATCH = 4096
TALOS = ("leg_left_6_link", "leg_right_6_link", "arm_left_7_link", "arm_right_7_link")
G1 = ("left_ankle_roll_link", "right_ankle_roll_link", "left_wrist_yaw_link", "right_wrist_yaw_link")
GO1 = ("FR_foot", "FL_foot", "RR_foot", "RL_foot")
ROBOTS: dict[str, tuple[str, bool, dict[str, list]]] = {
    "xarm7": ("xarm7.urdf", False, {"0D": [], "H3": [kl.Point("link7")], "H": [kl.Weld("link7")]}),
    "go1": ("go1.urdf", True, {f"{n}F3": [kl.Point(f) for f in GO1[:n]] for n in range(5)}),
    "g1": ("g1_29dof_rev_1_0.urdf", True, {f"{n} of 2F+2H": [kl.Weld(f) for f in G1[:n]] for n in range(5)}),
    "talos": ("talos_full_v2.urdf", True, {f"{n} of 2F+2H": [kl.Weld(f) for f in TALOS[:n]] for n in range(5)}),
}


def load(name: str) -> kl.Robot | None:
    """A robot of the wheel as the peers have it: without mimic joints."""
    file, floating, _ = ROBOTS[name]
    path = wheel_file("/" + file)
    if path is None:
        print(f"{name}: no {file}; pip install 'kinloop[peers]'")
        return None
    return kl.Robot(replace(kl.load(path, floating_base=floating).mechanism, couplings=(), independent=()))


def error(robot: kl.Robot, x: Any, a: np.ndarray, constraints: list) -> float:
    expected, _ = robot.constrained_dynamics(x.q, x.v, x.tau, constraints, "dense_kkt")
    return float(differences(a[None], expected[None])[0])


def differences(a: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Largest relative difference of every state, each coordinate beside itself or the median one.

    Light fingers accelerate a thousand times more than legs; beside their largest, errors of legs would not show.
    """
    size = np.maximum(np.abs(expected), np.median(np.abs(expected), axis=1, keepdims=True))
    return np.max(np.abs(a - expected) / size, axis=1)


def pinocchio_call(x: Any, constraints: list) -> tuple[Callable[[], Any], Callable[[], np.ndarray]] | None:
    """constraintDynamics at the problem's state, and how to read its accelerations."""
    p = pinocchio_robot(x.robot)
    if p is None:
        return None
    pin, models, datas = p.pin, p.pin.StdVec_RigidConstraintModel(), p.pin.StdVec_RigidConstraintData()
    for c in constraints:
        body, at = x.robot.frame(c.frame)
        kind = pin.ContactType.CONTACT_6D if isinstance(c, kl.Weld) else pin.ContactType.CONTACT_3D
        joint = p.model.getJointId(x.robot.joint_names[body])
        models.append(pin.RigidConstraintModel(kind, p.model, joint, pin.SE3(at.R, at.p), pin.ReferenceFrame.LOCAL))
    for c in models:
        datas.append(c.createData())
    pin.initConstraintDynamics(p.model, p.data, models, datas)
    settings = pin.ProximalSettings(1e-12, 0.0, 1)
    state = x.q[p.q_from], x.v[p.v_from], x.tau[p.v_from]

    def call() -> Any:
        return pin.constraintDynamics(p.model, p.data, *state, models, datas, settings)

    return call, lambda: p.independent(np.array(call()))


def mujoco_call(x: Any, constraints: list) -> Callable[[], Any] | None:
    """mj_forward with welds and connects to the world, contacts off."""
    try:
        import mujoco
    except ImportError:
        return None
    xml = mujoco_xml(x.robot)
    if xml is None:
        return None
    held = ""
    for c in constraints:
        body, at = x.robot.frame(c.frame)
        name, anchor = x.robot.body_names[body], " ".join(map(str, at.p))
        held += f'<weld body1="{name}"/>' if isinstance(c, kl.Weld) else f'<connect body1="{name}" anchor="{anchor}"/>'
    try:
        model = mujoco.MjModel.from_xml_string(xml.replace("</equality>", held + "</equality>"))
    except ValueError:
        return None
    m = MujocoRobot(mujoco, model, x)
    return lambda: mujoco.mj_forward(m.model, m.data)


def ready(kernel: Any, *arrays: np.ndarray) -> Callable[[], Any]:
    """A call with outputs made beforehand: what a simulator's loop does."""
    outs = [np.array(o) for o in kernel(*arrays)]
    return lambda: kernel(*arrays, *outs)


def table2() -> None:
    """Microseconds per state from Python, counts, ratios and errors."""
    print("\n# Table II: us per call; operations; x = times pv_early; error against dense_kkt")
    head = [*HARD, "pin", *SOFT, "mujoco"]
    print(
        f"{'robot':22s}"
        + "".join(f"{h:>10s}" for h in head)
        + "   x pin  x mujoco   operations "
        + " ".join((*HARD, *SOFT))
    )
    for name, (_, _, sets) in ROBOTS.items():
        robot = load(name)
        for label, constraints in sets.items() if robot else ():
            assert robot is not None
            x = make_problem(robot)
            kernels = {m: robot.compile("constrained_dynamics", m, constraints=constraints) for m in (*HARD, *SOFT)}
            calls: dict[str, Callable[[], Any]] = {m: ready(k, x.q, x.v, x.tau) for m, k in kernels.items()}
            pin, mu = pinocchio_call(x, constraints), mujoco_call(x, constraints)
            calls |= {"pin": pin[0]} if pin else {}
            calls |= {"mujoco": mu} if mu else {}
            with one_core():
                t = {k: 1e6 * s for k, s in seconds_per_call(calls, rounds=5).items()}
            worst = max(error(robot, x, np.asarray(kernels[m](x.q, x.v, x.tau)[0]), constraints) for m in HARD)
            ratios = "".join(f"{t[p] / t['pv_early']:8.1f}" if p in t else "       -" for p in ("pin", "mujoco"))
            times = "".join(f"{t[h]:10.2f}" if h in t else f"{'-':>10s}" for h in head)
            counts = " ".join(str(k.operations["total"]) for k in kernels.values())
            print(f"{name + ' (' + label + ')':22s}{times}{ratios}   {counts}   error {worst:.0e}", flush=True)


def speed() -> None:
    """Talos with both feet and both hands held: the goal is 4 times Pinocchio per call, 15 times batched."""
    robot = load("talos")
    if robot is None:
        return
    constraints = [kl.Weld(f) for f in TALOS]
    x = make_problem(robot)
    rng = np.random.default_rng(0)
    drawn = [robot.random_state(rng) for _ in range(64)]
    Q, V = (np.tile(np.array([d[k] for d in drawn]), (BATCH // 64, 1)) for k in range(2))
    T = rng.normal(size=V.shape)
    pin = pinocchio_call(x, constraints)
    print(
        "\n# Talos, 24 rows: times Pinocchio's constraintDynamics per call | batched (one core), us, operations, error"
    )
    for method in ("pv_early", "pv", "ltl", "pv_soft"):
        kernel = robot.compile("constrained_dynamics", method, constraints=constraints)
        calls = {"call": ready(kernel, x.q, x.v, x.tau)} | ({"pin": pin[0]} if pin else {})
        with one_core():
            t = seconds_per_call(calls)
            outs = tuple(np.array(o) for o in kernel(Q, V, T))
            t["batch"] = (
                seconds_per_call({"batch": lambda k=kernel, o=outs: k(Q, V, T, out=o, threads=1)})["batch"] / BATCH
            )
        e = error(robot, x, np.asarray(kernel(x.q, x.v, x.tau)[0]), constraints)
        ratio = (
            f"{t['pin'] / t['call']:6.1f} | {t['pin'] / t['batch']:6.1f}   pin {1e6 * t['pin']:.2f}"
            if pin
            else "pin missing"
        )
        print(f"{method:10s} {ratio}   call {1e6 * t['call']:.2f}   batch {1e6 * t['batch']:.2f}   "
              f"{kernel.operations['total']}   {e:.0e}", flush=True)  # fmt: skip


def count(robot: kl.Robot, quantity: str, method: str, constraints: list) -> int:
    return robot.compile(quantity, method, constraints=constraints, cache=False).operations["total"]


def tips(robot: kl.Robot) -> list:
    return [kl.Weld(f) for f in robot.mechanism.end_effectors]


def figure2(plot: Path | None) -> None:
    """Operations for the inverse OSIM and its use; the stalk's crossover of EFPA and PV-OSIM."""
    print("\n# Figure 2a-d: operations to solve with the OSIM (K^A, inverse OSIM, factorisation)")
    methods = ("pv_osim_fast", "pv_osim", "pv_osimr", "efpa", "ltl_osim")
    print(f"{'robot':22s}" + "".join(f"{m:>14s}" for m in methods))
    for name, (_, _, sets) in ROBOTS.items():
        robot = load(name)
        for label, constraints in sets.items() if robot else ():
            if constraints:
                n = [count(robot, "delassus_solve", m, constraints) for m in methods]  # type: ignore[arg-type]
                print(f"{name + ' (' + label + ')':22s}" + "".join(f"{k:14d}" for k in n), flush=True)
    print("\n# Figure 2f: operations for the inverse OSIM of a stalk, EFPA / PV-OSIM; both are linear in its length")
    lengths, curves = (2, 10), {}
    for branches in (2, 4, 5, 6, 7, 8, 9, 10):
        counts = {}
        for m in ("pv_osim", "efpa", "pv_osimr"):
            counts[m] = [
                count(r, "delassus", m, tips(r))
                for r in (kl.robots.load("stalk", length=n, branches=branches) for n in lengths)
            ]
        slope = {m: (c[1] - c[0]) / (lengths[1] - lengths[0]) for m, c in counts.items()}
        gain = slope["pv_osim"] - slope["efpa"]
        crossing = lengths[0] + (counts["efpa"][0] - counts["pv_osim"][0]) / gain if gain > 0 else np.inf
        ratio = [e / p for e, p in zip(counts["efpa"], counts["pv_osim"], strict=True)]
        per_link = " ".join(f"{m} {s:.0f}" for m, s in slope.items())
        print(
            f"{branches:3d} branches: ratio {ratio[0]:.2f} (2 links) {ratio[1]:.2f} (10 links), "
            f"per link of stalk {per_link}, EFPA cheaper beyond {crossing:.0f} links",
            flush=True,
        )
        n = np.arange(2, 101)
        lines = {m: counts[m][0] + slope[m] * (n - 2) for m in ("pv_osim", "efpa")}
        curves[f"{branches}"] = (n, lines["efpa"] / lines["pv_osim"])
    draw(plot, "figure2f", curves, "links of the stalk", "operations EFPA / PV-OSIM")


def figure3(plot: Path | None, states: int = 200) -> None:
    """Soft against hard constraints on Talos: residuals and accelerations over random states."""
    robot = load("talos")
    if robot is None:
        return
    constraints = [kl.Weld(f) for f in TALOS]
    rng = np.random.default_rng(0)
    drawn = [robot.random_state(rng) for _ in range(states)]
    Q, V = (np.array([d[k] for d in drawn]) for k in range(2))
    T = rng.normal(size=V.shape)
    hard, _ = robot.constrained_dynamics(Q, V, T, constraints, "pv_joint")
    print("\n# Figure 3: Talos 2F+2H, median [quartiles] over states of the largest relative difference to pv")
    curves: dict[str, Any] = {}
    rows = [(m, None) for m in ("pv_early", "ltl")] + [(m, 10.0**-w) for w in (2, 4, 6, 8, 10) for m in SOFT]
    for method, compliance in rows:
        a, _ = robot.constrained_dynamics(Q, V, T, constraints, method, compliance=compliance)
        e = differences(a, hard)
        low, middle, high = np.quantile(e, (0.25, 0.5, 0.75))
        weight = "" if compliance is None else f"weight {1 / compliance:.0e}"
        print(f"{method:10s} {weight:14s} {middle:.1e} [{low:.1e}, {high:.1e}]", flush=True)
        if compliance is not None:
            xs, ys = curves.setdefault(method, ([], []))
            xs.append(1 / compliance)
            ys.append(middle)
    draw(plot, "figure3b", curves, "weight", "median error of accelerations", log=True)


def figure4(plot: Path | None) -> None:
    """Operations on chains and ladders: what is linear."""
    methods = ("pv_early", "pv_soft", "pv_joint", "ltl", "ltl_soft")
    for title, name, option, sizes in (
        ("4a: chain with a welded tip", "serial_chain", "links", (6, 12, 24, 36)),
        ("4c: ladder", "ladder", "rungs", (1, 2, 4, 6)),
    ):
        print(f"\n# Figure {title}: operations, and operations per joint")
        print(f"{option:>8s}" + "".join(f"{m:>10s}" for m in methods))
        curves: dict[str, Any] = {m: ([], []) for m in methods}
        for n in sizes:
            robot = kl.robots.load(name, **{option: n})
            counts = [count(robot, "constrained_dynamics", m, tips(robot)) for m in methods]
            each = "  ".join(f"{c / robot.nv:.0f}" for c in counts)
            print(f"{n:8d}" + "".join(f"{c:10d}" for c in counts) + f"   {each}", flush=True)
            for m, c in zip(methods, counts, strict=True):
                curves[m][0].append(n)
                curves[m][1].append(c)
        draw(plot, f"figure{title[:2]}", curves, option, "operations")


def draw(plot: Path | None, name: str, curves: dict[str, Any], x: str, y: str, log: bool = False) -> None:
    """A picture of some curves, where matplotlib is installed and a directory given."""
    if plot is None:
        return
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        print("no pictures: pip install matplotlib")
        return
    figure, axes = plt.subplots(figsize=(5, 4))
    for label, (xs, ys) in curves.items():
        (axes.loglog if log else axes.plot)(xs, ys, marker="." if len(xs) < 20 else "", label=label)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.legend()
    plot.mkdir(parents=True, exist_ok=True)
    figure.savefig(plot / f"{name}.png", dpi=120, bbox_inches="tight")
    plt.close(figure)


def main() -> None:
    words = sys.argv[1:]
    plot = Path(words.pop(words.index("--plot") + 1)) if "--plot" in words else None
    words = [w for w in words if w != "--plot"] or ["speed", "table2", "figure2", "figure3", "figure4"]
    print(machine())
    parts = {"figure2": figure2, "figure3": figure3, "figure4": figure4}
    for word in words:
        if word in parts:
            parts[word](plot)
        else:
            {"speed": speed, "table2": table2}[word]()


if __name__ == "__main__":
    main()
