"""What ignoring or approximating the loops costs: torques of the MIT Humanoid's leg on sinusoids.

The experiment of [Chignoli2023, section IX-B, Figure 14]: every joint follows A sin(2 pi omega t); inverse
dynamics by the exact, the approximate and the unconstrained method; RMS difference. The paper prints its
numbers for the ankle; with the published parameters of the leg they are those of the knee (the first of the
two coordinates of the knee-ankle cluster), to all printed digits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kinloop import robots
from kinloop.bench.report_elements import Plot, Section, Table
from kinloop.bench.timing import Effort

PAPER = {"unconstrained": (4.31, 39.2), "approximate": (1.04, 9.5)}
"""RMS error [N m] and percent of the maximum torque, as printed in the paper."""
JOINTS = {"knee": 3, "ankle": 4}
METHODS = {"exact": "cluster_rnea", "approximate": "approximate_rnea", "unconstrained": "unconstrained_rnea"}


def torques(amplitude: float = 0.5, omega: float = 1.5, samples: int = 1000) -> dict[str, np.ndarray]:
    """Times [s] over two periods and torques (samples, nv) [N m] by method."""
    robot = robots.load("mit_humanoid_leg")
    t = np.linspace(0.0, 2.0 / omega, samples)
    w = 2 * np.pi * omega
    s, c = amplitude * np.sin(w * t), amplitude * np.cos(w * t)
    y, v, a = (np.outer(x, np.ones(robot.nv)) for x in (s, w * c, -w * w * s))
    q = y @ robot.spanning_jacobian(robot.neutral()).T  # all transmissions of the leg are linear
    return {"t": t} | {name: robot.inverse_dynamics(q, v, a, method=m) for name, m in METHODS.items()}


def torque_errors(amplitude: float = 0.5, omega: float = 1.5) -> dict[str, dict[str, dict[str, float]]]:
    """Per joint and method: RMS error [N m], and percent of the exact method's largest torque."""
    torque = torques(amplitude, omega)
    out: dict[str, dict[str, dict[str, float]]] = {}
    for joint, k in JOINTS.items():
        exact = torque["exact"][:, k]
        largest = float(np.max(np.abs(exact)))
        out[joint] = {}
        for name in PAPER:
            rms = float(np.sqrt(np.mean((torque[name][:, k] - exact) ** 2)))
            out[joint][name] = {"rms": rms, "percent": 100 * rms / largest, "largest": largest}
    return out


def measure() -> dict[str, Any]:
    """Errors per joint and method, and the curves of the knee and the ankle, thinned for plots."""
    torque = torques(samples=201)
    curves = {
        joint: {name: torque[name][:, k].tolist() for name in METHODS} for joint, k in JOINTS.items()
    }  # fmt: skip
    return {"errors": torque_errors(), "t": torque["t"].tolist(), "torques": curves}


def tasks(effort: Effort) -> dict[str, Callable[[], Any]]:
    """One leg."""
    return {"mit_humanoid_leg": measure}


def show(data: dict[str, Any]) -> Section:
    """Errors of the torques beside the printed ones, and the torques over time."""
    found = data["mit_humanoid_leg"]
    rows = []
    for joint, methods in found["errors"].items():
        for method, e in methods.items():
            rms, share = PAPER[method]
            rows.append([joint, method, f"{e['rms']:.2f}", f"{e['percent']:.1f} %", f"{rms:.2f}", f"{share:.1f} %"])
    columns = ["joint", "method", "RMS error [N m]", "of the largest torque", "paper: RMS", "paper: share"]
    plots = [
        Plot(
            f"figure_14_{joint}", f"Torque of the {joint} (Figure 14)",
            {name: (found["t"], y) for name, y in curves.items()}, x="time [s]", y="torque [N m]",
        )
        for joint, curves in found["torques"].items()
    ]  # fmt: skip
    return Section(
        "What approximating the loops costs (Figure 14 of Chignoli2023)",
        "The MIT Humanoid's leg on sinusoids of 0.5 rad and 1.5 Hz: inverse dynamics exact, with reflected inertias, "
        "and without rotors.",
        [Table("Errors in the torque", columns, rows)], plots,
        ["The paper prints its numbers for the ankle. With the leg's published parameters they are the knee's, to all "
         "printed digits; the ankle's own errors are smaller in newton metres and larger in percent."],
    )  # fmt: skip
