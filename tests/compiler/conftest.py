"""Every test has a cache directory of its own."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("KINLOOP_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("KINLOOP_CACHE", raising=False)
    monkeypatch.delenv("KINLOOP_CACHE_LIMIT", raising=False)
    monkeypatch.delenv("KINLOOP_THREADS", raising=False)
    return tmp_path / "cache" / "kernels"
