"""What is done before every step where some contacts are searched for: poses of shapes by a kernel, then the search.

Poses are those at which the step evaluates its contacts: at its middle, as the integrator predicts it, and of single
free bodies also at its beginning.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from kinloop.algorithms.trees.kinematics import motion, still
from kinloop.clusters.tangent_frame import plain
from kinloop.scalar import Array
from kinloop.sim.contact.pair_contact import PairContact
from kinloop.sim.contact.shape_poses import searched_shapes
from kinloop.sim.contact.start_geometry import Start, single_bodies
from kinloop.sim.on_loops import coordinates
from kinloop.sim.status import Status
from kinloop.sim.stepper import StepMethod, StepState, System, activated, memory_size
from kinloop.sim.watch import Watch

if TYPE_CHECKING:
    from kinloop.sim.engine import Engine


@runtime_checkable
class HasMiddle(StepMethod, Protocol):
    """A method of steps that look at contacts somewhere on their way."""

    def middle(self, system: System, q: Array, qd: Array, memory: Array, u: Array, h: Any) -> tuple[Array, Array]:
        """Positions and spanning velocities at which a step of length h looks at contacts."""


class Searching:
    """The search for contacts before the steps of an engine by a method."""

    def __init__(self, engine: Engine, method: HasMiddle) -> None:
        system = engine.system
        tree, contact = system.tree, system.contact
        assert isinstance(contact, PairContact) and contact.search is not None, "nothing is searched for"
        self._search = search = contact.search
        single = single_bodies(tree) if contact.flies else []

        def shapes(q: Array, qd: Array, memory: Array, u: Array, h: Array) -> dict[str, Any]:
            own, told, _ = activated(system.drive, memory, u, h[0])
            middle, qd_middle = method.middle(system, q, qd, own, plain(told), h[0])
            v = coordinates(tree, still(tree, middle).embedding, qd_middle)
            return {"shapes": searched_shapes(search.shapes, tree, motion(tree, middle, v), Start(q, qd), single)}

        top = tree.top
        sizes = {"q": top.nq, "qd": top.n_spanning, "memory": memory_size(system, method), "u": system.nu, "h": 1}
        self._shapes = engine.kernel("shapes", shapes, sizes)

    def nothing(self, rows: int) -> Array:
        """What steps are told (rows, size) that are to wait for a search if they need one."""
        return self._search.nothing(rows)

    def __call__(self, state: StepState, u: Array, until: Array, h: float, threads: int | None) -> Array:
        """What the next step of every row is told (B, size) under controls u (B, nu)."""
        watch = Watch.of(state.watch)
        wanted = watch.has(Status.RUNNING) & (watch.steps < until[:, 0])
        length = np.full((len(u), 1), h)
        shapes = self._shapes(state.q, state.qd, state.memory, u, length, threads=threads)
        return self._search.points(np.asarray(shapes), h, wanted)
