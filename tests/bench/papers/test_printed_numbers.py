"""The papers' numbers are complete."""

from kinloop.bench.papers.printed_numbers import NAMES, PERCENT, ROBOTS, SATHYA_METHODS, SATHYA_TABLE_II, TABLES


def test_printed_tables_are_complete():
    for quantity, (_, cluster, _) in TABLES.items():
        assert cluster.startswith("cluster")
        assert {cluster, *PERCENT[quantity]} <= set(NAMES)
        assert all(len(row) == len(ROBOTS) for row in PERCENT[quantity].values())
    assert all(len(row) == len(SATHYA_METHODS) for row in SATHYA_TABLE_II.values())
