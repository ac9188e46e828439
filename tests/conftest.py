"""The tally of random mechanisms and of what was left out, printed after every session, parallel or not.

Python looks for garbage less often than usual: robots and kernels that tests share are many objects, and looking at all
of them time and again takes up to a tenth of the time, and counts as time of whatever is being measured.

BLAS has one thread in every worker: several of them, on cores that are taken, wait for each other.

Of a test with `@pytest.mark.sample(n)`, n of its cases run every time, others for every such test; the rest are slow.
"""

from __future__ import annotations

import gc
import os
import sys
import zlib
from collections import Counter, defaultdict
from pathlib import Path

import pytest

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):  # before NumPy is imported
    os.environ.setdefault(name, "1")
sys.path.insert(0, str(Path(__file__).parent))

import helpers  # noqa: E402

_from_workers: dict[str, Counter] = {"used": Counter(), "dropped": Counter()}


def pytest_configure() -> None:
    gc.set_threshold(100_000, 20, 100)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    cases: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker("sample") and not item.get_closest_marker("slow"):
            cases[item.nodeid.partition("[")[0]].append(item)
    for name, some in cases.items():
        (n,) = some[0].get_closest_marker("sample").args
        kept = {(zlib.crc32(name.encode()) + k * len(some) // n) % len(some) for k in range(n)}
        for item in (x for k, x in enumerate(some) if k not in kept):
            item.add_marker(pytest.mark.slow)


def pytest_sessionfinish(session: pytest.Session) -> None:
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["used"], output["dropped"] = dict(helpers.used), dict(helpers.dropped)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node, error) -> None:
    for key, total in _from_workers.items():
        total.update(getattr(node, "workeroutput", {}).get(key, {}))


def pytest_terminal_summary(terminalreporter) -> None:
    used, dropped = helpers.used + _from_workers["used"], helpers.dropped + _from_workers["dropped"]
    if not used:
        return
    terminalreporter.section("random mechanisms")
    terminalreporter.line(", ".join(f"{count} {what}" for what, count in sorted(used.items())))
    if not dropped:
        terminalreporter.line("nothing left out")
    for reason, count in sorted(dropped.items()):
        terminalreporter.line(f"left out {count} x: {reason}")
