"""Plots of a report as SVG."""

import pytest

from kinloop.bench.report_elements import Plot
from kinloop.bench.report_svg import svg

LINES = Plot("lines", "Lines", {"a": ([1, 2], [1.0, 2.0]), "b": ([1, 2], [3.0, 4.0])}, x="links", log=True, log_x=True)
BARS = Plot("bars", "Bars", {"a": (["x", "y"], [1.0, float("nan")])}, bars=True)


@pytest.mark.parametrize("plot", [LINES, BARS])
def test_the_same_data_give_the_same_bytes(plot):
    text = svg(plot)
    assert text == svg(plot)
    assert text.startswith("<svg") and plot.title in text
    assert all(f">{name}<" in text for name in plot.series if len(plot.series) > 1)
