"""Tasks that processes of tests import."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import numpy as np


def noisy(x, rng):
    """A number and an array that depend on the point and on its random numbers."""
    return {"square": x * x, "noise": rng.normal(size=3), "word": f"x{x}"}


def halting(x, folder, rng):
    """The same; the first process that comes to x = 7 is killed in the middle of it."""
    mark = Path(folder) / "killed"
    if x == 7:
        try:
            mark.touch(exist_ok=False)
        except FileExistsError:
            pass
        else:
            os.kill(os.getpid(), signal.SIGKILL)
    with (Path(folder) / "calls").open("a") as file:
        file.write(f"{x}\n")
    time.sleep(0.02)
    return {"square": x * x, "noise": rng.normal(size=3)}


def fails_at_five(x):
    if x == 5:
        raise ValueError("five is too much")
    return float(np.sqrt(x))
