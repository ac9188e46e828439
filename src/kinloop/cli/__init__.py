"""The command `kinloop`: look at robots, simulate them, see them move.

| module | what is there |
|---|---|
| `entry_point` | the command with its subcommands; errors and warnings as one line each |
| `sim_command`, `demo_command`, `bench_command`, `cache_command`, `view_command`, `sweep_command` | a subcommand each |
| `info_command` | `kinloop info` and `kinloop robots` |
| `robot_argument` | the robot a command is about: a name of the zoo or a model file, with options |
| `option_groups` | options of a command in dataclasses |
| `output_paths` | files to write, checked before the work |
| `start_options` | where a simulated robot starts |
| `motor_options` | which motors drive it, and what they are told |
| `timed_run` | a simulation with a progress bar and a clock |
| `run_summary`, `run_plots` | what it found, as a table and as a picture |
| `terminal_output` | tables and progress bars |
"""

from kinloop.cli.entry_point import main

__all__ = ["main"]
