"""benchmarks/large.py: chains of equal and unequal links, held against what a link may cost."""

import numpy as np

from benchmarks import large


def test_all_chains_are_printed(capsys):
    large.main([2, 3])
    printed = capsys.readouterr().out
    assert [printed.count(f" {kind} ") for kind in large.CHAINS] == [2, 2]


def test_no_two_links_are_equal():
    chain = large.unequal(3)
    assert len({b.mass for b in chain.bodies}) == len(chain.bodies) == 9
    built = large.build(chain, 3)
    assert np.isfinite(built.call()).all() and built.batch().shape == (large.ROWS, 3)


def test_ratios_that_are_missed_are_marked():
    chain = large.Chain(40, 1000, 3000, 0.1, 0.2, lambda: None, lambda: None)
    short = large.Chain(20, 500, 2000, 0.1, 0.1, lambda: None, lambda: None)
    row = large.row("equal", chain, short, (1.1e-6, 1.2e-6), (1e-6, 1e-6))
    assert row[3:9] == ["1.1000", "1.10", "1.2000", "1.20 MISSED", "3.0", "1.50"] and row[-1] == "2.0"
