"""Linearise a closed linkage for model-predictive control, and balance it with the result."""

import numpy as np

import kinloop as kl

# A pole on the cart of a slider-crank, to be balanced by the crank's motor.
b = kl.Builder("balancer")
b.body("crank", mass=1.0, com=(0.1, 0, 0), inertia=(1e-3, 0.01, 0.01), axis="y")
b.body("rod", "crank", at=(0.2, 0, 0), mass=0.5, com=(0.3, 0, 0), inertia=(1e-3, 0.01, 0.01), axis="y")
b.body("cart", at=(0.7, 0, 0), mass=1.0, inertia=(0.01, 0.01, 0.01), joint="prismatic", axis="x")
b.body("pole", "cart", mass=0.3, com=(0, 0, 0.4), inertia=(0.01, 0.01, 1e-3), axis="y")
b.loop("pin", "rod", "cart", axis="y", at=(0.6, 0, 0))
b.independent = ["crank_joint", "pole_joint"]
robot = b.build()

# Pole upright: an equilibrium once the motor carries what gravity asks of the crank.
q0 = robot.close([-np.pi / 2, np.pi / 2 - 0.3, 0.0, 0.0])
q0[3] = 0.0
rest = np.zeros(2)
hold = robot.inverse_dynamics(q0, rest, rest)
print(f"at {np.round(q0, 3)} the crank needs {hold[0]:.3f} N m, the pole {hold[1]:.1e}")

da_dq, da_dv, da_dtau = robot.forward_dynamics_derivatives(q0, rest, hold)
print("da/dq =\n", np.round(da_dq, 3), "\nda/dtau =\n", np.round(da_dtau, 3))

# Discrete linear-quadratic regulator with the crank's motor only, by iterating Riccati's equation.
dt, motor = 0.01, np.array([[1.0], [0.0]])
A = np.block([[np.eye(2), dt * np.eye(2)], [dt * da_dq, np.eye(2) + dt * da_dv]])
B = np.concatenate([np.zeros((2, 1)), dt * da_dtau @ motor])
P = np.eye(4)
for _ in range(2000):
    gain = np.linalg.solve(B.T @ P @ B + 0.1, B.T @ P @ A)
    P = np.eye(4) + A.T @ P @ (A - B @ gain)

q, v = robot.integrate(q0, [0.0, 0.08]), rest  # the pole leans by 0.08 rad
for k in range(301):
    x = np.concatenate([robot.difference(q0, q), v])
    if k % 75 == 0:
        print(f"t = {k * dt:.2f} s: crank off by {x[0]:+.4f} rad, pole by {x[1]:+.4f} rad")
    v = v + dt * robot.forward_dynamics(q, v, hold - motor @ (gain @ x))
    q = robot.integrate(q, v, dt)
print(f"loop open by {robot.loop_error(q)[0]:.0e} m")
