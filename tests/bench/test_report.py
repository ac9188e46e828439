"""The report: tables of the right shape from tiny robots, pages that stand alone, docs that repeat the JSON."""

import json
import re
from pathlib import Path

import pytest

from benchmarks import write_docs as docs
from kinloop import robots
from kinloop.bench import peer_scaling as growth
from kinloop.bench import peer_tables, report
from kinloop.bench import report_svg as plots
from kinloop.bench.papers import chignoli_chains as chains
from kinloop.bench.papers import chignoli_robots as clusters
from kinloop.bench.papers import chignoli_torques as accuracy
from kinloop.bench.papers import sathya_motion as motion
from kinloop.bench.papers import sathya_osim as osim
from kinloop.bench.papers.printed_numbers import PERCENT, ROBOTS, SATHYA_METHODS, SATHYA_TABLE_II, TABLES
from kinloop.bench.peer_comparison import ALL, CALL, ONE, contest
from kinloop.bench.report_elements import figure, percent, small, times
from kinloop.bench.report_html import page
from kinloop.bench.timing import Effort, seconds_per_call
from kinloop.errors import MethodError

REPOSITORY = Path(__file__).resolve().parents[2]
TINY = Effort(rounds=1, budget=1e-5, batch=8, quick=True)
REPORT = REPOSITORY / docs.REPORT


@pytest.fixture(scope="module")
def tiny():
    """A report of tiny robots, under the labels of the real ones where the tables need them."""
    chain = {"forward_dynamics": ("cluster_aba", "projection"), "inverse_osim": ("cluster_efpa",)}
    parts = {
        "clusters": {"geared_chain": clusters.measure("geared_chain", TINY, {"links": 2})},
        "chains": {f"geared_chain {n}": chains.measure("geared_chain", n, chain, TINY) for n in (2, 3)},
        "accuracy": {"mit_humanoid_leg": accuracy.measure()},
        "motion": {"chain 6": motion.measure(lambda: robots.load("serial_chain", links=6), motion.tips, TINY, False)},
        "osim": {"stalk 1": {m: [100, 200] for m in osim.STALK}, "stalk 9": {"pv_osim": [90, 300], "efpa": [100, 200]}},
        "peers": {"four_bar": contest(lambda: robots.load("four_bar"), TINY)},
        "growth": {"geared_chain 1": contest(lambda: robots.load("geared_chain", links=1), TINY)},
    }
    head = {"machine": {"cpu": "c", "cores": "2", "system": "s", "load": "0"}, "date": "d", "seconds": 1.0}
    settings = {"quick": True, "rounds": 1, "turn_seconds": 1e-5, "batch": 8, "visits": 1}
    return head | {"settings": settings, "parts": parts, "failed": {"a": "b"}}


def test_every_part_is_shown_with_full_rows(tiny):
    shown = report.sections(tiny)
    assert len(shown) == len(report.PARTS)
    for section in shown:
        assert section.title and section.text
        for table in section.tables:
            assert all(len(row) == len(table.columns) for row in table.rows), table.title


def test_the_report_survives_json(tiny, tmp_path):
    path = report.save(tiny, tmp_path / "report.json")
    again = report.read(path)
    assert [s.title for s in report.sections(again)] == [s.title for s in report.sections(tiny)]


def test_the_page_needs_nothing_else(tiny):
    text = page(tiny)
    assert "data:image/svg+xml;base64" in text
    assert not re.search(r'(src|href)="(?!data:)', text)
    assert "Could not be measured" in text


def test_without_matplotlib_the_page_says_what_to_install(tiny, monkeypatch):
    monkeypatch.setattr(plots, "available", lambda: False)
    assert "pip install matplotlib" in page(tiny)


def test_without_peers_our_own_figures_remain(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pinocchio", None)
    monkeypatch.setitem(__import__("sys").modules, "mujoco", None)
    entry = contest(lambda: robots.load("four_bar"), TINY)
    assert {r["who"] for r in entry["records"]} == {"kinloop"}
    assert {r["mode"] for r in entry["records"]} == {CALL, ONE, ALL}
    rows = peer_tables.forward_table({"four_bar": entry}).rows
    assert "none is installed" in rows[0][-1]
    assert growth.show({"four_bar_chain 1": entry}).tables[0].rows == []


def test_exact_methods_are_exact_and_approximate_ones_are_not(tiny):
    for entry in tiny["parts"]["clusters"].values():
        for quantity, methods in entry.items():
            for method, e in methods.items():
                assert (e["error"] < 1e-9) != method.startswith("approximate"), (quantity, method)


def test_printed_figures_are_complete():
    for quantity, (_, cluster, _) in TABLES.items():
        assert cluster.startswith("cluster")
        assert all(len(row) == len(ROBOTS) for row in PERCENT[quantity].values())
    assert all(len(row) == len(SATHYA_METHODS) for row in SATHYA_TABLE_II.values())
    assert set(motion.CASES) <= set(SATHYA_TABLE_II)


def test_unknown_reports_are_refused():
    with pytest.raises(MethodError, match="'papers'"):
        report.run("everything")


def test_timing_takes_turns():
    calls = []
    found = seconds_per_call({"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, rounds=3, budget=0.0)
    assert set(found) == {"a", "b"} and "".join(calls).endswith("ababab")


def test_figures_read_well():
    assert figure(1234.5) == "1234" and figure(0.1234) == "0.123" and figure(None) == "-"
    assert times(123.4) == "123x" and times(2.345) == "2.35x"
    assert small(0.0) == "0" and small(1.2e-6) == "1e-6" and small(2e-15) == "2e-15"
    assert percent(-12.34) == "-12.3 %"


@pytest.mark.skipif(not REPORT.exists(), reason="no report is committed")
def test_docs_repeat_the_committed_report():
    found = json.loads(REPORT.read_text(encoding="utf-8"))
    drawn = {p.name for p in docs.all_plots(found)}
    assert (REPOSITORY / docs.PAGE).read_text(encoding="utf-8") == docs.page_markdown(found, drawn)
    assert all((REPOSITORY / docs.FOLDER / f"{name}.svg").exists() for name in drawn)
    readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    assert docs.with_block(readme, docs.readme_lines(found)) == readme


def test_the_shorter_of_two_times_counts():
    old = {"a": [{"us": 3.0, "error": 1e-9, "who": "x"}, {"us": 1.0, "error": None, "who": "y"}], "batch_us": None}
    new = {"a": [{"us": 2.0, "error": 1e-8, "who": "x"}, {"us": 5.0, "error": None, "who": "y"}], "batch_us": None}
    assert report.better(old, new) == {
        "a": [{"us": 2.0, "error": 1e-9, "who": "x"}, {"us": 1.0, "error": None, "who": "y"}],
        "batch_us": None,
    }
