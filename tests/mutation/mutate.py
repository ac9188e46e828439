"""Plant bugs in the viewer or the simulator, one at a time, and count those that their tests notice.

    python -m tests.mutation.mutate viewer --sample 60
    python -m tests.mutation.mutate sim --each 2
    python -m tests.mutation.mutate sim contact/solver.py contact/impact.py

cosmic-ray changes a copy of the repository; see docs/reliability-mutation.md.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from itertools import groupby
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2]
ROOMS = ("viewer", "sim")

LEFT_OUT = re.compile(
    r"BinaryOperator_BitOr_|UnaryOperator_Delete|Operator_(?!Bit)[A-Za-z]+_(BitOr|BitAnd|BitXor|LShift|RShift|Invert)$"
)
"""Operators whose mutants say nothing: those of `int | None` in annotations, which nobody evaluates, and those that put
bit operators between floating-point numbers, which raise an error in whatever test comes first."""


def modules_of(room: str) -> list[str]:
    """The modules of a room by their paths in it; tables of contents have nothing to mutate."""
    folder = REPOSITORY / "src" / "kinloop" / room
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*.py") if p.name != "__init__.py")


def find_tests(room: str, module: str) -> list[str]:
    """The test files whose names begin with that of a module, or that import it; if there are none, all of its room."""
    parts = ["kinloop", room, *module.removesuffix(".py").split("/")]
    imported = re.compile(rf"{'.'.join(parts)} import|from {'.'.join(parts[:-1])} import .*\b{parts[-1]}\b")
    files = sorted((REPOSITORY / "tests" / room).rglob("test_*.py"))
    found = [
        p
        for p in files
        if f"{p.stem}_".startswith(f"test_{parts[-1]}_") or imported.search(p.read_text(encoding="utf-8"))
    ]
    return [p.relative_to(REPOSITORY).as_posix() for p in found or files]


def pytest_command(tests: list[str]) -> str:
    """How the tests of a module are run: until the first failure, without a browser."""
    options = ["-x", "-q", "-n", "0", "-p", "no:cacheprovider", "-k", "not browser", *tests]
    return shlex.join([sys.executable, "-m", "pytest", *options])


def main() -> None:
    """Mutate what the command line names, and print what survived."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("room", choices=ROOMS)
    parser.add_argument("modules", nargs="*", help="paths in the room; all if left out")
    parser.add_argument("--sample", type=int, help="how many mutants, at random; all if left out")
    parser.add_argument("--each", type=int, help="how many mutants of every module, at random; all if left out")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--timeout", type=float, default=180.0, help="seconds after which a test run is ended, undecided"
    )
    args = parser.parse_args()
    chosen = args.modules or modules_of(args.room)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "kinloop"
        shutil.copytree(REPOSITORY, copy, ignore=shutil.ignore_patterns(".git", ".*_cache", "__pycache__"))
        os.chdir(copy)
        os.environ |= {"PYTHONPATH": str(copy / "src"), "KINLOOP_CACHE_DIR": str(Path(folder) / "cache")}
        run(args.room, chosen, args.sample, args.each, args.seed, args.timeout)


def draw(mutants: list[Any], sample: int | None, each: int | None, seed: int) -> list[Any]:
    """The mutants to try: at most `each` of every module, and of these at most `sample`."""
    rng = random.Random(seed)
    if each is not None:
        modules = [list(group) for _, group in groupby(mutants, key=lambda m: str(m.module_path))]
        mutants = [m for group in modules for m in rng.sample(group, min(each, len(group)))]
    return mutants if sample is None else rng.sample(mutants, min(sample, len(mutants)))


def run(room: str, modules: list[str], sample: int | None, each: int | None, seed: int, timeout: float) -> None:
    """Try the mutants of modules in the current folder."""
    from cosmic_ray.commands import init
    from cosmic_ray.mutating import mutate_and_test
    from cosmic_ray.work_db import WorkDB, use_db

    source = Path("src") / "kinloop" / room
    tests = {str(source / m): find_tests(room, m) for m in modules}
    every = sorted({path for found in tests.values() for path in found})
    subprocess.run(shlex.split(pytest_command(every)), check=True, stdout=subprocess.DEVNULL)
    print(f"{len(every)} files of tests pass without mutants", flush=True)
    with use_db("mutants.sqlite", WorkDB.Mode.create) as db:
        init([Path(p) for p in tests], db, {})
        mutants = [x.mutations[0] for x in db.work_items if not LEFT_OUT.search(x.mutations[0].operator_name)]
    mutants.sort(key=lambda m: (str(m.module_path), m.start_pos, m.operator_name, m.occurrence))
    count: Counter[str] = Counter()
    for mutant in draw(mutants, sample, each, seed):
        begin = time.perf_counter()
        result = mutate_and_test([mutant], pytest_command(tests[str(mutant.module_path)]), timeout)
        outcome = str(result.test_outcome.value if result.test_outcome else result.worker_outcome.value)
        outcome = "timeout" if result.output == "timeout" else outcome
        count[outcome] += 1
        print(f"{outcome} {mutant.module_path}:{mutant.start_pos[0]} ({time.perf_counter() - begin:.0f} s)", flush=True)
        if outcome in ("survived", "timeout"):
            print(result.diff, flush=True)
    total = count["killed"] + count["survived"] + count["timeout"]
    print(f"{count['killed']} of {total} mutants noticed, of {len(mutants)} that there are; {dict(count)}")


if __name__ == "__main__":
    main()
