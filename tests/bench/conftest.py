"""A report of tiny robots, measured for a moment."""

import pytest

from kinloop import robots
from kinloop.bench.papers import chignoli_chains, chignoli_robots, chignoli_torques, sathya_motion, sathya_osim
from kinloop.bench.peer_comparison import compare
from kinloop.bench.timing import Effort

TINY = Effort(rounds=1, budget=1e-5, batch=8, quick=True)


@pytest.fixture(scope="session")
def effort():
    """As short as a measurement can be."""
    return TINY


@pytest.fixture(scope="session")
def tiny():
    """A report of tiny robots, under the labels of the real ones where the tables need them."""
    chain = {"forward_dynamics": ("cluster_aba", "projection"), "inverse_osim": ("cluster_efpa",)}

    def serial_chain():
        return robots.load("serial_chain", links=6)

    parts = {
        "clusters": {"geared_chain": chignoli_robots.measure("geared_chain", TINY, {"links": 2})},
        "chains": {f"geared_chain {n}": chignoli_chains.measure("geared_chain", n, chain, TINY) for n in (2, 3)},
        "accuracy": {"mit_humanoid_leg": chignoli_torques.measure()},
        "motion": {"chain 6": sathya_motion.measure(serial_chain, sathya_motion.tips, TINY, False)},
        "osim": {
            "stalk 1": {m: [100, 200] for m in sathya_osim.STALK},
            "stalk 9": {"pv_osim": [90, 300], "efpa": [100, 200]},
        },
        "peers": {"four_bar": compare(lambda: robots.load("four_bar"), TINY)},
        "growth": {"geared_chain 1": compare(lambda: robots.load("geared_chain", links=1), TINY)},
    }
    head = {"machine": {"cpu": "c", "cores": "2", "system": "s", "load": "0"}, "date": "d", "seconds": 1.0}
    settings = {"quick": True, "rounds": 1, "turn_seconds": 1e-5, "batch": 8, "visits": 1}
    return head | {"settings": settings, "parts": parts, "failed": {"a": "b"}}
