"""Loops and couplings of a mechanism as MuJoCo's equalities, with the sites and tendons these need."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from kinloop.clusters import ClusterTree
from kinloop.io.convert.loop_points import loop_points
from kinloop.io.mjcf.joint_polynomials import MOST_COEFFICIENTS, polynomial_about
from kinloop.io.shared.written_mechanism import cannot_hold
from kinloop.model import Coupling, Frame, Joint, LinearCoupling, PolynomialCoupling
from kinloop.spatial import Transform

Sites = dict[str, list[tuple[str, Transform]]]
"""By body: names and places of the sites on it."""


@dataclass
class WrittenClosures:
    """Sites, tendons (a name; joints and factors) and equalities (a tag; attributes) of an MJCF document."""

    sites: Sites = field(default_factory=dict)
    tendons: list[tuple[str, list[tuple[str, float]]]] = field(default_factory=list)
    equalities: list[tuple[str, dict[str, ArrayLike]]] = field(default_factory=list)


def write_closures(tree: ClusterTree, frames: Sequence[Frame]) -> WrittenClosures:
    """What closes the loops of a robot, and frames as sites."""
    out, m = WrittenClosures(), tree.top.mechanism
    for f in frames:
        out.sites.setdefault(f.body, []).append((f.name, f.placement))
    site_name, equality_name = _unique_names({f.name for f in frames}), _unique_names(set())
    for point in loop_points(tree):
        ends: dict[str, ArrayLike] = {}
        for key, side, (body, at) in (
            ("site1", "predecessor", point.predecessor),
            ("site2", "successor", point.successor),
        ):
            ends[key] = name = site_name(f"{point.loop}_{side}")
            out.sites.setdefault(body, []).append((name, at))
        tag = "weld" if point.rigid else "connect"
        out.equalities.append((tag, {"name": equality_name(point.loop), **ends}))
    reference = {j.name: reference_position(j) for j in m.joints}
    for c in m.couplings:
        for row, dependent in enumerate(c.dependent):
            name = equality_name(c.name if len(c.dependent) == 1 else f"{c.name}_{dependent}")
            _write_row(out, c, row, name, reference)
    return out


def reference_position(j: Joint) -> float:
    """The position MuJoCo's model is drawn in, for a joint of one coordinate: its `home`."""
    return j.home[0] if j.home is not None and j.type.nq == 1 else 0.0


def _unique_names(taken: set[str]) -> Callable[[str], str]:
    """What makes names unlike those given out before, by underscores."""

    def unique(name: str) -> str:
        while name in taken:
            name += "_"
        taken.add(name)
        return name

    return unique


def _write_row(out: WrittenClosures, c: Coupling, row: int, name: str, reference: Mapping[str, float]) -> None:
    """One dependent joint: an equality of two joints, or of a tendon where it follows several."""
    dependent = c.dependent[row]
    match c:
        case LinearCoupling():
            terms = [(joint, float(x)) for joint, x in zip(c.independent, c.matrix[row], strict=True) if x]
            offset = float(c.offset[row])
            if len(terms) > 1:
                length = [(dependent, 1.0), *((joint, -x) for joint, x in terms)]
                drawn = sum(x * reference[joint] for joint, x in length)
                out.tendons.append((name, length))
                out.equalities.append(
                    ("tendon", {"name": name, "tendon1": name, "polycoef": [offset - drawn, 0, 0, 0, 0]})
                )
                return
            joints, coefficients = [joint for joint, _ in terms], [offset, *(x for _, x in terms)]
        case PolynomialCoupling() if len(c.coefficients) <= MOST_COEFFICIENTS:
            joints, coefficients = list(c.independent), [float(x) for x in c.coefficients]
        case _:
            raise cannot_hold(c, "MJCF cannot", "leave it out")
    # MuJoCo's polynomial is of positions from the reference ones
    moved = polynomial_about(np.array(coefficients), reference[joints[0]] if joints else 0.0)
    moved[0] -= reference[dependent]
    ends: dict[str, ArrayLike] = {"joint1": dependent, **({"joint2": joints[0]} if joints else {})}
    out.equalities.append(("joint", {"name": name, **ends, "polycoef": moved}))
