"""A report as a page that stands alone."""

import re

from kinloop.bench import report_svg
from kinloop.bench.report_html import report_page, write_report


def test_the_page_needs_nothing_else(tiny, tmp_path):
    text = report_page(tiny)
    assert "data:image/svg+xml;base64" in text
    assert not re.search(r'(src|href)="(?!data:)', text)
    assert "Could not be measured" in text
    path = write_report(tiny, tmp_path / "deep" / "report.html")
    assert path.read_text(encoding="utf-8") == text


def test_without_matplotlib_the_page_says_what_to_install(tiny, monkeypatch):
    monkeypatch.setattr(report_svg, "available", lambda: False)
    assert "pip install matplotlib" in report_page(tiny)
