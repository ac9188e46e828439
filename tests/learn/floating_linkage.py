"""A small robot that has everything derivatives can get wrong: a free base with a quaternion, a ball, a loop."""

import kinloop as kl


def floating_linkage(backend: str = "kernel") -> kl.Robot:
    bar = {"mass": 1.2, "com": (0.2, 0.02, 0.01), "inertia": (0.02, 0.03, 0.04)}
    b = kl.Builder("floating_linkage")
    b.body("base", joint="free", mass=3.0, com=(0.05, 0.0, 0.02), inertia=(0.1, 0.12, 0.15))
    b.body("crank", "base", axis="z", at=(0.1, 0, 0), **bar)
    b.body("rocker", "base", axis="z", at=(0.7, 0.05, 0), **bar)
    b.body("coupler", "crank", axis="z", at=(0.4, 0, 0), **bar)
    b.loop("pin", "coupler", "rocker", axis="z", at=(0.6, 0, 0), at_successor=(0.45, 0, 0))
    b.body("hand", "coupler", joint="spherical", at=(0.3, 0, 0), **bar)
    b.frame("foot", "base", at=(0.0, 0.0, -0.3))
    b.independent = ["crank_joint"]
    return kl.Robot(b.mechanism(), backend)
