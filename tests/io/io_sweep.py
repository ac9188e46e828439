"""Many mutations of one dialect loaded one after the other in a process of their own; run by `test_mutation_sweep`.

    python io_sweep.py dialect first count folder

prints, as JSON, how files ended, the slowest of them with its seed, the peak of memory [MB], and what went wrong.
"""

from __future__ import annotations

import copy
import json
import os
import random
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

from io_mutations import BYTES, mutate
from io_samples import FOUR_BAR_LINKS, XML, write

from kinloop.io import ModelFileError, load
from kinloop.io.own.write_own import dumps

YAML = (
    "closed_loop: [['coupler', 'rocker']]\ntype: ['3d']\nname_mot: [a]\n"
    "joint_name: [b, c]\njoint_type: ['REVOLUTE', 'UJOINT_ZY']\n"
)
VALUES = [
    None,
    -1,
    "x",
    [],
    {},
    [[1]],
    True,
    1e308,
    "inf",
    10**400,
    [1, 2, 3],
    {"kind": "revolute"},
    "a" * 5000,
    5e-324,
]
DIALECTS = [*sorted(XML), "own", "own_scene", "gepetto"]


def mutate_json(text: str, seed: int) -> bytes:
    """A JSON document with values somewhere in it replaced, or its bytes damaged."""
    rng = random.Random(seed)
    if rng.random() < 0.2:
        return rng.choice(BYTES)(text.encode(), rng)
    changed = json.loads(text)
    for _ in range(rng.choice([1, 1, 3])):
        at = changed
        while isinstance(at, dict | list) and at:
            key = rng.choice(list(at) if isinstance(at, dict) else range(len(at)))
            if rng.random() < 0.3 or not isinstance(at[key], dict | list) or not at[key]:
                at[key] = copy.deepcopy(rng.choice(VALUES))
                break
            at = at[key]
    return json.dumps(changed).encode()


def writer(name: str, folder: Path) -> Callable[[int], Path]:
    """What writes the mutation with a given seed, and says which file to load."""
    if name in ("own", "own_scene"):
        text, own = dumps(load(write(folder, XML["mjcf" if name == "own" else "mjcf_scene"]))), folder / "model.json"
        return lambda seed: _written(own, mutate_json(text, seed))
    if name == "gepetto":
        robot = write(folder, f"<robot name='r'>{FOUR_BAR_LINKS}</robot>", "robot.urdf")

        def beside(seed: int) -> Path:
            rng = random.Random(seed)
            data = YAML.encode()
            for _ in range(rng.choice([1, 1, 3])):
                data = rng.choice(BYTES)(data or b" ", rng)
            _written(folder / "robot.yaml", data)
            return robot

        return beside
    path = folder / "model.xml"
    return lambda seed: _written(path, mutate(XML[name].encode(), seed))


def _written(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def sweep(name: str, first: int, count: int, folder: Path) -> dict[str, object]:
    """How all mutations of a dialect end."""
    ends = {"refused": 0, "loaded": 0}
    slowest, wrong = (0.0, -1), []
    make = writer(name, folder)
    for seed in range(first, first + count):
        path = make(seed)
        start = sum(os.times()[:4])  # of computing: others on the machine do not count
        try:
            load(path)
            ends["loaded"] += 1
        except ModelFileError as error:
            ends["refused"] += 1
            if not (error.file and error.line >= 1 and error.element and error.reason):
                wrong.append((seed, f"an error that lacks file, line, element or reason: {error}"))
        except Exception as error:  # what this looks for
            wrong.append((seed, f"{type(error).__name__}: {error}"[:300]))
        slowest = max(slowest, (sum(os.times()[:4]) - start, seed))
    status = Path("/proc/self/status").read_text(encoding="utf-8") if Path("/proc/self/status").exists() else ""
    peak = next((int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmHWM")), 0.0)
    return {**ends, "slowest": slowest, "peak": peak, "wrong": wrong[:20]}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps(sweep(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]))))
