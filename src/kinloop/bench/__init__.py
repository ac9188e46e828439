"""What `kinloop bench` runs: the papers' tables and figures with our kernels, and other libraries beside them.

| module | what is there |
|---|---|
| `timing` | fair timing: one core, contenders in turn, the best of many short turns; `Effort`, `machine` |
| `contenders` | calls of our robots and kernels as they are timed; records of what was measured |
| `peers` | the other libraries: a robot at a state, what they are called with, loop joints as they take them |
| `peers_pinocchio`, `peers_mujoco` | a robot in Pinocchio, in MuJoCo, and the calls of theirs that are timed |
| `model_files` | robots of files from elsewhere: the example-robot-data wheel, the MuJoCo Menagerie |
| `peer_comparison` | one robot: all that it is asked, by everybody who can answer |
| `peer_tables` | report on trees, linkages and geared robots beside the peers |
| `peer_scaling` | report on how time grows with the length of chains, beside the peers |
| `papers` | reports that repeat the tables and figures of the papers |
| `report` | all reports: measured, kept as plain data, shown as sections |
| `report_elements` | sections, tables and plots |
| `number_format` | numbers as text in tables |
| `report_html`, `report_svg` | a report as one page; its plots |

The command itself is `kinloop.cli.bench_command`. What only maintainers need, such as writing docs/benchmarks.md, is
in the folder `benchmarks` of the repository.
"""
