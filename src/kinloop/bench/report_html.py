"""A report as one HTML page that needs nothing else."""

from __future__ import annotations

import base64
from html import escape
from pathlib import Path
from typing import Any

from kinloop.bench import report_svg
from kinloop.bench.report import conditions, sections
from kinloop.bench.report_elements import Section, Table

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 1080px; margin: 2rem auto; padding: 0 1rem; color: #222 }
h1 { font-size: 1.6rem } h2 { margin-top: 2.5rem; border-bottom: 1px solid #ccc; font-size: 1.25rem }
table { border-collapse: collapse; font-size: 13px; margin: 1rem 0; display: block; overflow-x: auto }
th { text-align: left; border-bottom: 2px solid #888 } td, th { padding: 2px 10px 2px 0; white-space: nowrap }
td { font-variant-numeric: tabular-nums; border-bottom: 1px solid #eee } img { max-width: 100%; margin: .5rem 0 }
.conditions { color: #666 } li { margin: .3rem 0 }
"""


def table_html(t: Table) -> str:
    """A table with its title."""
    head = "".join(f"<th>{escape(c)}</th>" for c in t.columns)
    rows = "".join("<tr>" + "".join(f"<td>{escape(c)}</td>" for c in row) + "</tr>" for row in t.rows)
    return f"<h3>{escape(t.title)}</h3><table><tr>{head}</tr>{rows}</table>"


def section_html(s: Section) -> str:
    """A section with its notes, its plots inlined, and its tables."""
    parts = [f"<h2>{escape(s.title)}</h2><p>{escape(s.text)}</p>"]
    if s.notes:
        parts.append("<ul>" + "".join(f"<li>{escape(n)}</li>" for n in s.notes) + "</ul>")
    if report_svg.available():
        for p in s.plots:
            data = base64.b64encode(report_svg.svg(p).encode()).decode()
            parts.append(f'<img alt="{escape(p.title)}" src="data:image/svg+xml;base64,{data}">')
    elif s.plots:
        parts.append(f"<p>{escape(report_svg.INSTALL)}</p>")
    return "\n".join([*parts, *(table_html(t) for t in s.tables)])


def report_page(report: dict[str, Any]) -> str:
    """The page of a report."""
    failed = "".join(f"<li>{escape(k)}: {escape(v)}</li>" for k, v in report["failed"].items())
    body = "\n".join(section_html(s) for s in sections(report))
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>kinloop benchmarks</title><style>{STYLE}</style>'
        f'<h1>kinloop benchmarks</h1><p class="conditions">{escape(conditions(report))}</p>'
        + (f"<p>Could not be measured:</p><ul>{failed}</ul>" if failed else "")
        + body
        + "</html>\n"
    )


def write_report(report: dict[str, Any], path: Path) -> Path:
    """Write the page of a report to a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(report_page(report), encoding="utf-8")
    return path
