"""What ignoring or approximating the loops costs: ankle torques of the MIT Humanoid's leg on sinusoids.

The experiment of [Chignoli2023, section IX-B, Figure 14]: every joint follows A sin(2 pi omega t); inverse
dynamics by the exact, the approximate and the unconstrained method; RMS difference at the ankle.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kinloop import robots

PAPER = {"unconstrained": (4.31, 39.2), "approximate": (1.04, 9.5)}
"""RMS error [N m] and percent of the maximum torque, as printed in the paper."""


def ankle_torques(amplitude: float = 0.5, omega: float = 1.5, samples: int = 1000) -> dict[str, np.ndarray]:
    """Times [s] and ankle torques [N m] over two periods, by method."""
    robot = robots.load("mit_humanoid_leg")
    t = np.linspace(0.0, 2.0 / omega, samples)
    w = 2 * np.pi * omega
    ones = np.ones(robot.nv)
    y, v, a = (np.outer(x, ones) for x in (amplitude * np.sin(w * t), amplitude * w * np.cos(w * t),
                                           -amplitude * w * w * np.sin(w * t)))  # fmt: skip
    q = y @ robot.spanning_jacobian(robot.neutral()).T  # all transmissions of the leg are linear
    ankle = robot.nv - 1
    methods = {"exact": "cluster_rnea", "approximate": "approximate_rnea", "unconstrained": "unconstrained_rnea"}
    out = {name: robot.inverse_dynamics(q, v, a, method=method)[:, ankle] for name, method in methods.items()}
    return {"t": t} | out


def accuracy(**options: Any) -> dict[str, dict[str, float]]:
    """RMS error of each method at the ankle [N m], and as percent of the exact method's maximum."""
    torque = ankle_torques(**options)
    largest = float(np.max(np.abs(torque["exact"])))
    out = {}
    for name in ("unconstrained", "approximate"):
        rms = float(np.sqrt(np.mean((torque[name] - torque["exact"]) ** 2)))
        out[name] = {"rms": rms, "percent": 100 * rms / largest, "largest": largest}
    return out
