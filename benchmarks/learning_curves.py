"""Curves of `examples/ppo.py` as one picture.

python examples/ppo.py --seed 0 --curve 0.csv
python -m benchmarks.learning_curves docs/learning-curves.svg 0.csv 1.csv 2.csv
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np


def main(target: Path, files: list[Path]) -> None:
    plt.rcParams["svg.hashsalt"] = "kinloop"  # the same picture every time
    figure, ax = plt.subplots(figsize=(6.0, 3.2), layout="constrained")
    for path in files:
        actions, seconds, reward, _ = np.loadtxt(path, delimiter=",", skiprows=1).T
        ax.plot(1e-6 * actions, reward, label=f"seed {path.stem}, {seconds[-1]:.0f} s")
    ax.set_xlabel("actions [millions]")
    ax.set_ylabel("mean reward of an action")
    ax.set_ylim(0.0, 1.0)
    ax.grid(alpha=0.3)
    ax.legend(frameon=False)
    figure.savefig(target, metadata={"Date": None})


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(f"an argument is missing\n\n{__doc__}")
    main(Path(sys.argv[1]), [Path(x) for x in sys.argv[2:]])
