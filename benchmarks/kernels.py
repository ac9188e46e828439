"""Forward-dynamics kernels beside the peers, on one core: python benchmarks/kernels.py [robot ...]

The table of `kinloop bench peers` for robots of the zoo by name. Peers come with `pip install kinloop[peers]`.
"""

from __future__ import annotations

import sys

from rich.console import Console

from kinloop import robots
from kinloop.bench.peer_comparison import contest
from kinloop.bench.peer_tables import OPTIONS, forward_table
from kinloop.bench.report_elements import Section
from kinloop.bench.timing import QUICK, machine
from kinloop.cli.bench_command import show

NAMES = ("double_pendulum", "four_bar", "six_bar", "four_bar_chain", "geared_chain", "mini_cheetah", "jvrc1")


def main() -> None:
    data = {
        name: contest(lambda name=name: robots.load(name, **OPTIONS.get(name, {})), QUICK)
        for name in sys.argv[1:] or NAMES
    }
    show(Section("Kernels", str(machine()), [forward_table(data)]), Console(width=170))


if __name__ == "__main__":
    main()
