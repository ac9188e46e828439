"""Tables and figures of the papers, measured with our kernels; every module is a part of the report.

| module | what it repeats |
|---|---|
| `chignoli_robots` | Tables II, III, IV and Figures 9, 10, 12 of [Chignoli2023]: six robots |
| `chignoli_chains` | Figures 11, 13 of [Chignoli2023], Figure 3 of [Chignoli2023b]: chains of 2 to 24 links |
| `chignoli_torques` | Figure 14 of [Chignoli2023]: torques of a leg by exact and approximate methods |
| `sathya_motion` | Table II and Figure 4 of [Sathya2023]: constrained motion |
| `sathya_osim` | Figures 2 and 3 of [Sathya2023]: operations for the inverse OSIM, soft constraints |
| `method_timing` | methods for the same quantity, timed beside each other |
| `printed_numbers` | what the papers print |
"""
