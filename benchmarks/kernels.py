"""Forward dynamics of robots of the zoo beside the peers, on one core.

    python benchmarks/kernels.py [robot ...]

The first table of `kinloop bench peers` for the robots that are named. Peers come with `pip install kinloop[peers]`.
"""

from __future__ import annotations

import sys
from functools import partial

from kinloop import robots
from kinloop.bench.peer_comparison import compare
from kinloop.bench.peer_tables import OPTIONS, forward_table
from kinloop.bench.report_elements import Section
from kinloop.bench.timing import QUICK, Effort, machine
from kinloop.cli.bench_command import WIDE, print_section
from kinloop.cli.terminal_output import console

NAMES = ("double_pendulum", "four_bar", "six_bar", "four_bar_chain", "geared_chain", "mini_cheetah", "jvrc1")


def kernels(names: list[str], effort: Effort = QUICK) -> Section:
    """One call of forward dynamics of each robot, by everybody who can express it."""
    data = {name: compare(partial(robots.load, name, **OPTIONS.get(name, {})), effort) for name in names}
    return Section("Kernels", str(machine()), [forward_table(data)])


if __name__ == "__main__":
    print_section(kernels(sys.argv[1:] or list(NAMES)), console(WIDE))
