"""Domain randomisation: masses, rotor inertias and a gear ratio as inputs of one kernel, a robot per row."""

import numpy as np

import kinloop as kl
from kinloop.model.parameters import parameter_value

robot = kl.robots.load("mit_humanoid_leg")
gear = robot.mechanism.couplings[0].name
names = ["knee_link.mass", "knee_link.com", "knee_rotor.inertia", f"{gear}.ratio"]
nominal = [parameter_value(robot.tree.top, n) for n in names]
for n, x in zip(names, nominal, strict=True):
    print(f"  {n:24s} {x}")

fixed = robot.compile("forward_dynamics")
open_ = robot.compile("forward_dynamics", parameters=names)
print(f"operations: {fixed.operations['total']} with figures known, {open_.operations['total']} with these open")

q, v = robot.random_state(1)
tau = np.ones(robot.nv)
same = open_(q, v, tau, *nominal)
print(f"at nominal values the two agree to {np.abs(same - fixed(q, v, tau)).max() / np.abs(same).max():.1e}")

# A thousand robots, each with its own figures. (A ratio also moves the rotor: its angle is no input of the
# dynamics here, since a symmetric rotor looks the same at any angle.)
rng = np.random.default_rng(0)
robots = [x * rng.uniform(0.8, 1.2, (1000, 1)) for x in nominal]
A = open_(q, v, tau, *robots)
for name, mean, spread in zip(robot.independent_names, A.mean(0), A.std(0), strict=True):
    print(f"  {name:20s} acceleration {mean:9.3f} +- {spread:.3f} rad/s^2")
