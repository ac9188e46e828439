"""The docs repeat the committed report."""

import json

import pytest

from benchmarks import write_docs as docs

REPORT = docs.ROOT / docs.REPORT


@pytest.mark.skipif(not REPORT.exists(), reason="no report is committed")
def test_docs_repeat_the_committed_report():
    found = json.loads(REPORT.read_text(encoding="utf-8"))
    drawn = {p.name for p in docs.all_plots(found)}
    assert (docs.ROOT / docs.PAGE).read_text(encoding="utf-8") == docs.page_markdown(found, drawn)
    assert all((docs.ROOT / docs.FOLDER / f"{name}.svg").exists() for name in drawn)
    readme = (docs.ROOT / "README.md").read_text(encoding="utf-8")
    assert docs.with_block(readme, docs.readme_lines(found)) == readme


def test_a_readme_without_benchmarks_gets_them_before_its_layout():
    text = docs.with_block("# name\n\n## Layout\n", "fast")
    assert text == f"# name\n\n{docs.BEGIN}\nfast {docs.END}\n\n## Layout\n"
    assert docs.with_block(text, "faster") == text.replace("fast ", "faster ")
