"""How frames of loops, and what is solved with them, change along a direction: by formulas, not through their graph.

A chart of a cluster makes of the rows K of its loops a basis G of the motions that they allow, K G = 0, and for a right
side b the vector x with K x = b: the bias of accelerations, a correction of Newton's method. Both change by

    dG = -K^+ dK G,        dx = K^+ (db - dK x) [- G dG^T W x],                                                    (1)

K^+ the solutions for units in place of b. The last term belongs to tangent frames, whose x is the smallest in the
metric W of their scales: it stays perpendicular to G. Their G of (1) is carried along parallel to itself, which their
own is not: it also turns in itself. A step does not depend on that, as long as all of it uses the same frames.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.algorithms.trees.cluster_changes import solved
from kinloop.clusters.charts import Chart
from kinloop.clusters.tangent_frame import TangentFrame
from kinloop.scalar import Array

NOTHING = np.zeros(0)
"""In place of b, x and P that nobody asks for."""


class Frame(NamedTuple):
    """A chart at some configuration: K (r, n), G (n, m); b (r,) and x (n,), without entries where nothing is solved.

    P (n, r) is K^+.
    """

    chart: Chart
    K: Array
    G: Array
    b: Array
    x: Array
    P: Array = NOTHING

    @property
    def key(self) -> tuple[int, ...]:
        """What tells frames of one graph apart."""
        return tuple(s.index if isinstance(s, sc.Symbol) else -1 for part in self[1:5] for s in part.flat)

    def told(self, along: sc.Tangents) -> None:
        """Tells a direction how G and x change along it: (1)."""
        dK = along.of(self.K)
        dG = -(self.P @ (dK @ self.G))
        along.tell(self.G.flat, dG.flat)
        if len(self.b):
            dx = self.P @ (along.of(self.b) - dK @ self.x)
            if isinstance(self.chart, TangentFrame):
                dx = dx - self.G @ (dG.T @ (self.x / (self.chart.scale * self.chart.scale)))
            along.tell(self.x, dx)


def told(frames: Iterable[Frame], along: sc.Tangents) -> sc.Tangents:
    """A direction that knows how frames change, these in the order in which a step comes to them."""
    for frame in frames:
        frame.told(along)
    return along


def outputs(frames: Iterable[Frame]) -> dict[str, Array]:
    """Frames as outputs of a function."""
    return {f"{name} of frame {k}": getattr(f, name) for k, f in enumerate(frames) for name in "KGbx"}


def read(frames: Iterable[Frame], found: dict[str, Array]) -> list[Frame]:
    """The same frames with what another graph has for them, and with P."""
    there = [Frame(f.chart, *(found[f"{name} of frame {k}"] for name in "KGbx")) for k, f in enumerate(frames)]
    return [f._replace(P=solved(f.chart, f.K, np.eye(len(f.K)))) for f in there]
