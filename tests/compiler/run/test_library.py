"""Machine code runs wherever there is room for it in the address space."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

APART = """
import ctypes, itertools, mmap, sys
import numpy as np
from kinloop.compiler.emit import ir
from kinloop.compiler.run import library, variant
from kinloop.robots import load

system, kind = ctypes.CDLL(None), mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000  # without memory behind it
system.mmap.restype = ctypes.c_void_p
system.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
system.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


def reserve(size):
    return system.mmap(None, size, 0, kind, -1, 0)


class Apart(library.Library):
    def __init__(self, codes, target):
        loaded.append(len(codes))
        for size, count in itertools.product((1, 2, 3, 4, 6, 8, 12, 16, 24, 32), (1, 2, 3)):  # rooms 5 GB apart
            rooms = [(reserve(4096 * size), reserve(5 << 30))[0] for _ in range(count)]
            for pages in 300 * [256, 64, 16, 4, 1]:
                reserve(4096 * pages)  # all other rooms are filled
            for room in rooms:
                system.munmap(room, 4096 * size)
            kept.append(library.Library(codes, target))
        super().__init__(codes, target)


robot, kept, loaded = load("tello"), [], []
q, v = robot.random_state(0)
expected = {"bias_force": robot.bias_force(q, v), "mass_matrix": robot.mass_matrix(q)}
variant.Library = Apart
for ir.PART, (name, answer) in zip((300, 6000), expected.items()):
    kernel = robot.compile(name, cache=False)
    for rows in ((), (20, 1)):
        given = [np.tile(x, rows) if rows else x for x in (q, v)][: len(kernel.inputs)]
        assert np.all(kernel(*given) == answer)
assert min(loaded) == 1 and max(loaded) > 4, loaded
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the address space is filled as Linux fills it")
def test_modules_and_their_constants_may_lie_far_apart():
    """As in a process with many gigabytes of other things; LLVM ended such a process."""
    settings = {**os.environ, "KINLOOP_CACHE": "off"}
    run = subprocess.run([sys.executable, "-c", APART], capture_output=True, text=True, env=settings)
    assert run.returncode == 0, run.stderr
