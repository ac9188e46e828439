"""What an armature misses: an arm with geared motors, exact and with rotors replaced by reflected inertias."""

import numpy as np

import kinloop as kl

RATIO = 20.0
ROTOR = {"mass": 0.3, "inertia": (2e-4, 2e-4, 3e-4)}


def arm(rotor_axis: str) -> kl.Robot:
    """Three links; the motor of each joint sits on the link before it and spins about `rotor_axis` there."""
    b = kl.Builder("arm")
    parent, at = "world", (0.0, 0.0, 0.5)
    for k, axis in enumerate("zyy"):
        link = b.body(f"link{k}", parent, axis=axis, at=at, mass=2.0, com=(0.2, 0, 0), inertia=(4e-3, 0.03, 0.03))
        rotor = b.body(f"rotor{k}", parent, axis=rotor_axis if k else axis, at=at, **ROTOR)
        b.gear(rotor, link, RATIO)
        b.independent.append(link)
        parent, at = f"link{k}", (0.4, 0.0, 0.0)
    return b.build()


for rotor_axis in "yz":
    robot = arm(rotor_axis)
    q, v = robot.neutral(), np.array([4.0, -3.0, 5.0])
    q = robot.integrate(q, [0.3, -0.5, 0.9])  # rotors follow their links
    a = np.array([10.0, 5.0, -8.0])
    print(f"rotors of joints 2 and 3 about {rotor_axis}:")
    exact = robot.inverse_dynamics(q, v, a)
    for method in ("approximate_rnea", "unconstrained_rnea"):
        error = robot.inverse_dynamics(q, v, a, method=method) - exact
        print(f"  {method:19s} torque errors {np.round(error, 2)} N m of {np.round(exact, 2)}")
    weight = robot.inverse_dynamics(q, 0 * v, 0 * a, method="approximate_rnea") - robot.bias_force(q, 0 * v)
    print(f"  of which the weight of the rotors is {np.round(weight, 2) + 0.0} N m")
    counts = [robot.compile("inverse_dynamics", m).operations["total"] for m in ("cluster_rnea", "approximate_rnea")]
    print(f"  exact costs {counts[0]} operations, the approximation {counts[1]}")
