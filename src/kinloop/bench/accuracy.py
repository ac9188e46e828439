"""What ignoring or approximating the loops costs: torques of the MIT Humanoid's leg on sinusoids.

The experiment of [Chignoli2023, section IX-B, Figure 14]: every joint follows A sin(2 pi omega t); inverse
dynamics by the exact, the approximate and the unconstrained method; RMS difference. The paper prints its
figures for the ankle; with the published figures of the leg they are those of the knee (the first of the
two coordinates of the knee-ankle cluster), to all printed digits.
"""

from __future__ import annotations

import numpy as np

from kinloop import robots

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


def accuracy(amplitude: float = 0.5, omega: float = 1.5) -> dict[str, dict[str, dict[str, float]]]:
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
