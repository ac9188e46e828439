"""Kernels beside the peers, on one core: python benchmarks/kernels.py [robot ...]

Columns: microseconds per call from Python for one state, microseconds per state in a batch of 4096 on one
core, relative error against dense_kkt, then for every peer how many times longer it takes per call and per
batched state, its own time and its own error. Peers come with `pip install kinloop[peers]`.
"""

from __future__ import annotations

import sys

from kinloop.bench.kernels import CASES, lines, table
from kinloop.bench.timing import machine


def main() -> None:
    names = sys.argv[1:]
    cases = {n: CASES.get(n, {}) for n in names} if names else CASES
    print(machine())
    print("\n".join(lines(table(cases))))


if __name__ == "__main__":
    main()
