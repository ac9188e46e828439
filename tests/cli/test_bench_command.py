"""`kinloop bench`: a report on the terminal, as data and as a page."""

import json

from rich.console import Console

from kinloop.bench import report
from kinloop.bench.report_elements import Section, Table
from kinloop.cli.bench_command import print_section


def test_a_report_is_printed_and_written(run, monkeypatch, tmp_path):
    monkeypatch.setitem(report.GROUPS, "cheap", ("accuracy",))
    status, out, err = run(
        "bench", "cheap", "--quick", "--json", tmp_path / "a" / "r.json", "--html", tmp_path / "a" / "r.html"
    )
    assert (status, err) == (0, "")
    assert "What approximating the loops costs (Figure 14 of Chignoli2023)" in out
    assert out.count("wrote") == 2
    assert json.loads((tmp_path / "a" / "r.json").read_text())["settings"]["quick"] is True
    assert (tmp_path / "a" / "r.html").exists()


def test_mistakes_are_one_line(run, tmp_path):
    for args, message in (
        (["everything"], "error: report 'everything' is not one of 'papers', 'peers', 'scaling', 'all'"),
        (["papers", "--menagerie", tmp_path], "error: report 'papers' has no robots of the Menagerie"),
        (["peers", "--menagerie", tmp_path], "error: there is no 'agility_cassie/cassie.xml' in"),
    ):
        status, _, err = run("bench", *args)
        assert status == 1
        assert err.startswith(message)
        assert err.count("\n") == 1


def test_a_section_is_text():
    out = Console(width=60)
    with out.capture() as text:
        print_section(Section("Title [1]", "Words.", [Table("T", ["a", "b"], [["[x]", "2"]])], notes=["so"]), out)
    assert all(part in text.get() for part in ("Title [1]", "Words.", "[x]", "- so"))
