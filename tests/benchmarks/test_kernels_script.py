"""benchmarks/kernels.py: a table of the robots that are named."""

from benchmarks.kernels import kernels
from kinloop.bench.timing import Effort


def test_a_line_or_more_per_robot():
    (table,) = kernels(["double_pendulum", "four_bar"], Effort(rounds=1, budget=1e-5, batch=8, quick=True)).tables
    assert [row[0] for row in table.rows if row[0]] == ["double_pendulum", "four_bar"]
