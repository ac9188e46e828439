"""Every threshold by which charts are judged, left and changed, with its reason.

`reach` and `volume` are the two numbers of `charts.gauge`; "nearness" is the smallest singular value that the loops'
rank needs, relative to its typical size (`charts.recharting.smallest_singular`).
"""

from __future__ import annotations

REACH_LIMIT = 4.0
"""A chart is left when swapping two coordinates would make it four times better. A new chart starts with a reach of at
most 1: the gap between 1 and 4 keeps a batch row from changing to and fro."""

VOLUME_LIMIT = 0.1
"""A batch row looks out for singular configurations once its volume has fallen to this part of the typical one."""

NEARLY_SINGULAR = 1e-2
"""Below this volume a configuration counts as nearly singular, and `Rollout.singular` flags the batch row."""

SINGULAR = 1e-6
"""At this nearness the loops leave the direction of motion at q itself undetermined: the batch row must pass over q."""

HARDLY_REGULAR = 1e-3
"""Below this nearness a batch row whose step did not close is taken to stand before a singular configuration."""

SPOILED_REACH = 1e4
"""Charts with a larger reach give velocities with four digits less: the last spanning velocity is projected instead."""

LOOKAHEAD = 1.25
"""How far ahead a batch row looks for singular configurations [steps]: its next step and a quarter of another."""

REACH_MARGIN, VOLUME_MARGIN = 1.5, 0.5
"""A batch row put in charts that are already beyond a limit may become worse by these factors before it stops again."""

EARLY_STOP, LAST_STEPS, LEAST_PART = 0.6, 1.8, 0.1
"""When to stop a batch row again that approaches a singular configuration, with c the part of the distance that a step
covers: once its volume has fallen to the part min(1 - EARLY_STOP c, max(LEAST_PART, LAST_STEPS c)) of what it is. That
is two steps before the configuration, then at every step."""

PATIENCE = 12
"""A batch row that stops so many times at the same step is left stopped."""

PASSAGE_STEPS = (1, 2, 3, 5)
"""Numbers of steps tried at once to pass over a singular configuration."""

LANDING = 0.2
"""A passage ends at least this part of a step beyond the singular configuration."""

SPEED_CHANGE = (0.5, 2.0)
"""After a passage the speed follows from the energy, unless that would change it by more than these factors: then the
prediction is too poor for an energy balance, and the speed stays."""

NO_BETTER_SWAP = 1e-6
"""The best chart is found when no swap of coordinates makes it better by more than this part."""

LEAST_TYPICAL = 1e-3
"""The typical volume is the median over sample configurations, but at least this part of the largest: a linkage that is
singular in most samples must not take that for normal."""

UNCHANGED = 1e-9
"""An entry of G that varies by less than this part over the samples is a gear ratio, and constant."""

TINY = 1e-300
"""In place of zero where something is divided by a typical size."""
