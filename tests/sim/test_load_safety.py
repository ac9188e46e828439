"""Files that say they are rollouts: nothing in them is run."""

import pickle

import numpy as np
import pytest

from kinloop import sim
from kinloop.errors import NotARollout


class Touch:
    """Whoever unpickles it makes a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


@pytest.mark.parametrize("kind", ["array of objects", "pickle", "one array"])
def test_a_saved_rollout_cannot_run_code(tmp_path, kind):
    canary, path = tmp_path / "canary", tmp_path / "run.npz"
    trap = np.array([Touch(canary)], dtype=object)
    with path.open("wb") as file:
        if kind == "array of objects":
            np.savez(file, t=np.zeros(2), q=trap)
        elif kind == "one array":
            np.save(file, trap)
        else:
            pickle.dump(Touch(canary), file)
    with pytest.raises(NotARollout, match=r"'run.npz' is no rollout that Rollout.save wrote, or is damaged"):
        sim.load(path)
    assert not canary.exists()
