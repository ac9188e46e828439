"""Robots of the zoo on the NumPy path, chains short: quick to make."""

import kinloop as kl

SMALL = {"geared_chain": {"links": 4}, "belt_chain": {"links": 4}, "four_bar_chain": {"links": 2}}


def build(name, **options):
    return kl.Robot(kl.robots.mechanism(name, **(options or SMALL.get(name, {}))), backend="numpy")
