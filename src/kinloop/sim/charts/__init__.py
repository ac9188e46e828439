"""Charts: which coordinates are independent while a robot moves, and what to do where they serve no longer.

- `gauge`: two numbers that say how good the charts are at a configuration; loops closed inside a step.
- `recharting`: the best charts at a configuration, and the way over singular ones.
- `resuming`: what becomes of a batch row that a kernel stopped.
- `loop_kernels`: loop equations as kernels, for the work between steps.
- `thresholds`: every number by which charts are judged, with its reason.
"""
