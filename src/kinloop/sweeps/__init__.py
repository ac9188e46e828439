"""Sweeps: a task at many points of its parameters, on this machine or on many, with the same results to the bit.

| module | what is there |
|---|---|
| `run_sweep` | `sweep`: a task at all points, serially or by any executor |
| `designs` | `grid`, `random`, `latin_hypercube`, `Range`: which points |
| `task_calls` | how a task is called at a point, with random numbers of the point's own, here or in other processes |
| `rollout_task` | `RolloutTask`: a rollout of a simulator, whose start and controls are parameters |
| `results` | `SweepResult`, and what tasks return as columns |
| `journal` | points that are done, on disk, for sweeps that are continued |
| `tables` | columns as Parquet files |
| `sweep_file` | sweeps described in TOML |
"""

from kinloop.sweeps.designs import Design, Range, grid, latin_hypercube, random
from kinloop.sweeps.results import SweepResult, load
from kinloop.sweeps.rollout_task import RolloutTask
from kinloop.sweeps.run_sweep import SweepStopped, sweep

__all__ = [
    "Design", "Range", "RolloutTask", "SweepResult", "SweepStopped", "grid", "latin_hypercube", "load", "random",
    "sweep",
]  # fmt: skip
