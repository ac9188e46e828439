"""What the site does beside Markdown: formulas become MathML, links into the repository become names of files.

Both happen while the site is built, so that readers load nothing from anywhere else.
"""

from __future__ import annotations

import html
import os
import re
from typing import Any

from latex2mathml.converter import convert
from mkdocs.plugins import get_plugin_logger

log = get_plugin_logger("kinloop")

LINK = re.compile(r"(?<!!)\[([^\]\n]*)\]\(((?:\.\./)+[^)\s#]*)(?:#[^)\s]*)?\)")
FORMULA = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)
TAG = re.compile(r"\\tag\{([^}]*)\}")


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """A link that leaves the folder of the docs names its file instead; one to nothing is a warning, hence an error."""
    if page.file.src_uri == "changelog.md":
        with open(os.path.join(os.path.dirname(config["docs_dir"]), "CHANGELOG.md"), encoding="utf-8") as changelog:
            return changelog.read().replace("](docs/", "](")
    folder = os.path.dirname(page.file.abs_src_path)

    def named(link: re.Match[str]) -> str:
        label, target = link.groups()
        path = os.path.normpath(os.path.join(folder, target))
        if path.startswith(config["docs_dir"] + os.sep):
            return link[0]
        if not os.path.exists(path):
            log.warning(f"{page.file.src_uri} links to {target}, which does not exist")
        name = os.path.relpath(path, os.path.dirname(config["docs_dir"]))
        return label if "`" in label else f"{label} (`{name}`)"

    return LINK.sub(named, markdown)


def on_page_content(content: str, page: Any, config: Any, files: Any) -> str:
    """LaTeX between dollars becomes MathML, which browsers show by themselves."""

    def rendered(formula: re.Match[str]) -> str:
        latex = html.unescape(formula[3])
        number = TAG.search(latex)
        try:
            mathml = convert(TAG.sub("", latex).strip(), display="block" if formula[2] == "[" else "inline")
        except Exception as error:
            log.warning(f"{page.file.src_uri}: the formula {latex!r} cannot be rendered: {error!r}")
            return formula[0]
        if formula[2] == "(":
            return mathml
        beside = f'<span class="number">({number[1]})</span>' if number else ""
        return f'<div class="formula">{mathml}{beside}</div>'

    return FORMULA.sub(rendered, content)
