"""The site builds strictly, every page is found, and nothing is loaded from or linked to nowhere."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest

pytest.importorskip("material", reason="needs pip install '.[docs]'")

REPOSITORY = Path(__file__).resolve().parents[1]


ALONE = ["unshare", "--map-root-user", "--net"]
"""Runs a command without a network, where the system lets us."""


def without_network() -> list[str]:
    try:
        return ALONE if subprocess.run([*ALONE, "true"], capture_output=True, check=False).returncode == 0 else []
    except OSError:
        return []


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(REPOSITORY / "src")}
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    command = [*without_network(), *build]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, env=environment, check=False)
    warned = [line for line in done.stderr.splitlines() if line.startswith(("WARNING", "ERROR"))]
    assert done.returncode == 0 and not warned, "\n".join(warned) or done.stderr
    return folder


def attributes(page: Path) -> list[tuple[str, str, str]]:
    """(tag, attribute, target) of everything a page loads or links to."""
    return re.findall(r'<(\w+)\b[^>]*?\s(src|href|data)="([^"]*)"', page.read_text(encoding="utf-8"))


@cache
def identifiers(page: Path) -> set[str]:
    return set(re.findall(r'\sid="([^"]*)"', page.read_text(encoding="utf-8")))


def test_nothing_is_loaded_from_another_host(site):
    for page in site.rglob("*.html"):
        loaded = [target for tag, _, target in attributes(page) if tag != "a" and re.match(r"(https?:)?//", target)]
        assert not loaded, f"{page.relative_to(site)} loads {loaded}"
    for sheet in site.rglob("*.css"):
        assert not re.search(r"url\(['\"]?(https?:)?//", sheet.read_text(encoding="utf-8")), sheet.name


def test_scripts_find_nothing_to_load_elsewhere(site):
    """The theme's script names one file of another host, for diagrams of a kind that no page has."""
    for script in site.rglob("*.js"):
        named = set(re.findall(r"[\"'`](https?://[^\"'`\s]+\.m?js)[\"'`]", script.read_text(encoding="utf-8")))
        assert all("mermaid" in address for address in named), named
    for page in site.rglob("*.html"):
        assert 'class="mermaid"' not in page.read_text(encoding="utf-8"), page.name


def test_no_link_is_dead(site):
    dead = []
    for page in site.rglob("*.html"):
        for _, _, target in attributes(page):
            path, anchor = urldefrag(unquote(target))
            if re.match(r"\w+:|//", target) or page.name == "404.html":
                continue
            there = (page.parent / path).resolve() if path else page
            if there.is_dir():
                there = there / "index.html"
            known = not anchor or anchor == "__toc" or there.suffix != ".html"
            if not there.exists() or not (known or anchor in identifiers(there)):
                dead.append(f"{page.relative_to(site)}: {target}")
    assert not dead, "\n".join(dead)


def test_formulas_are_rendered(site):
    text = (site / "algorithms" / "cluster_aba.html").read_text(encoding="utf-8")
    assert text.count("<math") > 50
    for page in site.rglob("*.html"):
        assert 'class="arithmatex"' not in page.read_text(encoding="utf-8"), page.name


def test_search_knows_every_page(site):
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    known = {urldefrag(entry["location"])[0] for entry in index["docs"]}
    pages = {page.relative_to(site).as_posix() for page in site.rglob("*.html")} - {"404.html"}
    assert {"" if page == "index.html" else page for page in pages} <= known | {""}
    assert any("four-bar" in entry["text"] for entry in index["docs"])


@pytest.mark.slow
def test_search_finds_what_is_typed(site, tmp_path):
    """In a browser, from a server on this machine."""
    browser = pytest.importorskip("viewer.browser")
    if browser.find() is None:
        pytest.skip("there is no Chromium")
    command = [sys.executable, "-m", "http.server", "--bind", "127.0.0.1", "0"]
    with subprocess.Popen(command, cwd=site, stderr=subprocess.STDOUT, stdout=subprocess.PIPE, text=True,
                          env=os.environ | {"PYTHONUNBUFFERED": "1"}) as server:  # fmt: skip
        port = re.search(r"port (\d+)", server.stdout.readline())[1]
        with browser.Browser(tmp_path) as page:
            page.send("Page.navigate", url=f"http://127.0.0.1:{port}/index.html?q=four-bar")
            found = "document.querySelector('.md-search-result').innerText"
            for _ in range(40):
                time.sleep(0.5)
                text = page.send("Runtime.evaluate", expression=found)["result"].get("value") or ""
                if "matching documents" in text:
                    break
        server.terminate()
    assert "four-bar" in text and "matching documents" in text
