"""What a compiled MuJoCo model says about contact: surfaces of geoms, pairs of them, bodies that never touch."""

from __future__ import annotations

import numpy as np

from kinloop.io.mjcf.mjcf_names import Names
from kinloop.io.mjcf.mujoco_codes import CONTACT_DISABLED, PARENTS_TOUCH, MjModel
from kinloop.io.mjcf.safe_source import Places
from kinloop.model import ContactPair, ContactRules, ExcludedLinks, Surface

MASK = 0xFFFF
"""The half of an exclude's signature that is its second body."""


def read_surface(model: MjModel, g: int) -> Surface:
    """How a geom touches others."""
    return Surface(
        tuple(model.geom_friction[g].tolist()), int(model.geom_condim[g]), int(model.geom_contype[g]),
        int(model.geom_conaffinity[g]), int(model.geom_priority[g]), float(model.geom_margin[g]),
        float(model.geom_gap[g]), tuple(model.geom_solref[g].tolist()), tuple(model.geom_solimp[g].tolist()),
    )  # fmt: skip


def can_touch(model: MjModel) -> np.ndarray:
    """Whether each geom may touch others, by its bits or in a pair."""
    by_bits = (model.geom_contype != 0) | (model.geom_conaffinity != 0)
    numbers = np.arange(model.ngeom)
    return np.asarray(by_bits | np.isin(numbers, model.pair_geom1) | np.isin(numbers, model.pair_geom2))


def read_contact_rules(model: MjModel, names: Names, places: Places) -> ContactRules:
    """Which geoms may touch, besides what their surfaces say; bodies by the names of their links."""
    signatures = [(int(s) >> 16, int(s) & MASK) for s in model.exclude_signature]
    exclude = tuple(ExcludedLinks(names.link(a), names.link(b)) for a, b in signatures)
    flags = int(model.opt.disableflags)
    pairs = tuple(_pair(model, names, places, k) for k in range(model.npair))
    return ContactRules(exclude, pairs, not flags & PARENTS_TOUCH, not flags & CONTACT_DISABLED)


def _pair(model: MjModel, names: Names, places: Places, k: int) -> ContactPair:
    name = names.of("pair", k)
    with places.of("pair", name).blamed():
        return ContactPair(
            name, names.of("geom", int(model.pair_geom1[k])), names.of("geom", int(model.pair_geom2[k])),
            tuple(model.pair_friction[k].tolist()), int(model.pair_dim[k]), float(model.pair_margin[k]),
            float(model.pair_gap[k]), tuple(model.pair_solref[k].tolist()),
            tuple(model.pair_solreffriction[k].tolist()), tuple(model.pair_solimp[k].tolist()),
        )  # fmt: skip
