"""Thousands of states at once: an explicit kernel, batches, threads, and what one state costs."""

import time

import numpy as np

import kinloop as kl

robot = kl.robots.load("mini_cheetah")
kernel = robot.compile("forward_dynamics")
print(kernel)

rng = np.random.default_rng(0)
B = 4096
starts = [robot.random_state(rng) for _ in range(64)]
Q = np.array([starts[k % 64][0] for k in range(B)])
V = np.array([starts[k % 64][1] for k in range(B)])
T = rng.normal(size=(B, robot.nv))
A = np.empty((B, robot.nv))


def best(call, rounds: int = 5) -> float:
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


whole = best(lambda: kernel(Q, V, T, out=A, threads=1))
print(f"one thread: {whole / B * 1e6:.2f} us per state, {B / whole:,.0f} states per second")
q, v, tau, a = Q[0].copy(), V[0].copy(), T[0].copy(), A[0].copy()
single = best(lambda: [kernel(q, v, tau, a) for _ in range(1000)]) / 1000
print(f"one state at a time from Python: {single * 1e6:.2f} us per call")

# Results do not depend on the size of the batch, bit for bit.
assert np.array_equal(A[17], kernel(Q[17], V[17], T[17]))
plain = kl.Robot(robot.mechanism, backend="numpy")
error = np.abs(A[17] - plain.forward_dynamics(Q[17], V[17], T[17])).max() / np.abs(A[17]).max()
print(f"against the plain NumPy algorithm: relative difference {error:.1e}")
