"""Growing chains beside the peers."""

from kinloop.bench.peer_scaling import CHAINS, curves, sizes, tasks
from kinloop.bench.timing import Effort


def test_every_chain_is_measured_at_every_length(effort):
    assert set(tasks(effort)) == {f"{name} {n}" for name in CHAINS for n in sizes(effort)}
    assert set(sizes(effort)) < set(sizes(Effort()))


def test_curves_are_of_one_chain(tiny):
    found = curves(tiny["parts"]["growth"], "geared_chain")
    assert {"kinloop, one call", "kinloop, batch"} <= set(found)
    assert all(x == [1] and len(y) == 1 for x, y in found.values())
    assert curves(tiny["parts"]["growth"], "four_bar_chain") == {}
