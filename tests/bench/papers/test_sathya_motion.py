"""Table II and Figure 4 of [Sathya2023]."""

from kinloop.bench.papers.printed_numbers import SATHYA_TABLE_II
from kinloop.bench.papers.sathya_motion import CASES, HARD, SOFT, curve, stand_in


def test_lines_are_the_paper_s_with_robots_that_stand_for_its_own():
    assert set(CASES) <= set(SATHYA_TABLE_II)
    assert stand_in("Iiwa (H)") == "xArm7 (H)" and stand_in("Talos (F)") == "Talos (F)"


def test_hard_methods_are_exact_and_soft_ones_yield(tiny):
    found = tiny["parts"]["motion"]["chain 6"]
    assert {*HARD, *SOFT} <= set(found)
    assert all(found[m]["error"] < 1e-9 and "batch_us" not in found[m] for m in HARD)
    assert all(found[m]["error"] > 1e-10 for m in SOFT)
    assert curve(tiny["parts"]["motion"], "chain", "pv") == ([6], [found["pv"]["call_us"]])
