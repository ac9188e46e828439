"""Where a simulated robot is touched, and how hard: points and forces for arrows."""

from __future__ import annotations

from kinloop.scalar import Array
from kinloop.sim import Rollout, Simulator
from kinloop.sim.contact.standing import contact_positions
from kinloop.viewer.poses import Poses


def contact_records(sim: Simulator) -> tuple[str, ...]:
    """What a rollout must record besides q for `contact_arrows`; nothing where there is no contact."""
    if sim.contact is None or not sim.contact.records["gap"][0]:
        return ()
    return tuple(name for name in ("contact_force", "contact_point") if name in sim.contact.records)


def contact_arrows(sim: Simulator, rollout: Rollout) -> tuple[Array, Array] | None:
    """Points and forces of contact of the first batch row, each (N, C, 3) in the world, if there are any."""

    def first(name: str) -> Array:
        return rollout[name] if rollout.single else rollout[name][0]

    if "contact_point" in rollout.records:
        return first("contact_point"), first("contact_force")
    if (
        "contact_force" not in rollout.records
        or sim.contact is None
        or sim.ground is None
        or not sim.contact.candidates
    ):
        return None
    return contact_positions(Poses(sim.robot)(first("q")), sim.contact.candidates, sim.ground), first("contact_force")
