"""10^5 mutated files of all dialects: each loads or ends in a `ModelFileError`, within 2 s and 500 MB.

`KINLOOP_MUTATIONS=1000 pytest -m slow tests/io` tries fewer.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from io_sweep import DIALECTS

COUNT = int(os.environ.get("KINLOOP_MUTATIONS", "100000")) // len(DIALECTS) + 1
HERE = Path(__file__).parent


@pytest.mark.slow
@pytest.mark.parametrize("name", DIALECTS)
def test_every_mutated_file_loads_or_is_refused_in_time(tmp_path, name):
    pytest.importorskip("mujoco")
    command = [sys.executable, str(HERE / "io_sweep.py"), name, "1000", str(COUNT), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60 + 0.5 * COUNT)
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert not found["wrong"] and found["refused"] and found["loaded"], found
    assert found["refused"] + found["loaded"] == COUNT
    seconds, seed = found["slowest"]
    assert seconds < 2.0, f"mutation {seed} of {name} takes {seconds:.1f} s"
    assert found["peak"] < 500
