"""Every test has a cache directory of its own."""

from __future__ import annotations

import pytest

from kinloop.compiler.common import link_common
from kinloop.compiler.run.host import host


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    for dtype in ("float64", "float32"):  # what kernels have in common is no file of theirs
        link_common(host(), dtype)
    monkeypatch.setenv("KINLOOP_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("KINLOOP_CACHE", raising=False)
    monkeypatch.delenv("KINLOOP_CACHE_LIMIT", raising=False)
    monkeypatch.delenv("KINLOOP_THREADS", raising=False)
    return tmp_path / "cache" / "kernels"
