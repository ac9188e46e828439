"""The report: what is measured, how it is kept, and that every part can be shown."""

from pathlib import Path

import pytest

from kinloop.bench import report
from kinloop.errors import MethodError, ModelError


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


def test_unknown_reports_are_refused():
    with pytest.raises(MethodError, match="'papers'"):
        report.run("everything")


def test_only_reports_with_peers_have_robots_of_the_menagerie(tmp_path):
    with pytest.raises(MethodError, match="report 'papers' has no robots of the Menagerie; leave its folder out"):
        report.run("papers", quick=True, menagerie=Path("menagerie"))
    with pytest.raises(ModelError, match=r"there is no 'agility_cassie/cassie.xml' in .*; give the folder"):
        report.run("peers", quick=True, menagerie=tmp_path)


def test_what_fails_is_named_and_the_rest_is_measured(monkeypatch):
    def broken():
        raise ModelError("no such robot")

    parts = {"growth": report.Part(lambda effort: {"a": lambda: {"us": 1.0}, "b": broken}, None)}
    monkeypatch.setattr(report, "PARTS", parts)
    seen = []
    found = report.run("scaling", quick=True, progress=lambda k, n, what: seen.append((k, n, what)))
    assert found["parts"]["growth"] == {"a": {"us": 1.0}}
    assert found["failed"] == {"growth: b": "no such robot"}
    assert seen == [(0, 2, "growth: a"), (1, 2, "growth: b")]


def test_the_shorter_of_two_times_counts():
    old = {"a": [{"us": 3.0, "error": 1e-9, "who": "x"}, {"us": 1.0, "error": None, "who": "y"}], "batch_us": None}
    new = {"a": [{"us": 2.0, "error": 1e-8, "who": "x"}, {"us": 5.0, "error": None, "who": "y"}], "batch_us": None}
    assert report.better(old, new) == {
        "a": [{"us": 2.0, "error": 1e-9, "who": "x"}, {"us": 1.0, "error": None, "who": "y"}],
        "batch_us": None,
    }


def test_a_busy_machine_is_told():
    settings = {"rounds": 1, "visits": 2}
    busy = {"machine": {"cpu": "c", "cores": "2", "system": "s", "load": "1.7"}, "date": "d", "settings": settings}
    assert "Other work shared the machine" in report.conditions(busy)
    assert "in 2 visits minutes apart" in report.conditions(busy)
    quiet = busy | {"machine": busy["machine"] | {"load": "0.1"}}
    assert "Other work" not in report.conditions(quiet)
