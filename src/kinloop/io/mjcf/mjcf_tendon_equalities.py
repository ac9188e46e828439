"""Equalities of tendons: couplings of the joints that they run over, or rods between the two points that they join."""

from __future__ import annotations

import numpy as np

from kinloop.errors import ModelError
from kinloop.io.mjcf.joint_polynomials import MOST_COEFFICIENTS
from kinloop.io.mjcf.mjcf_bodies import LinkFrames
from kinloop.io.mjcf.mjcf_names import Names
from kinloop.io.mjcf.mujoco_codes import WRAPS_JOINT, WRAPS_SITE, MjModel
from kinloop.io.shared.file_errors import Where
from kinloop.io.shared.robot_description import RobotDescription
from kinloop.model import Coupling, LinearCoupling, PolynomialCoupling, Rod


def add_tendon_equality(
    model: MjModel, description: RobotDescription, frames: LinkFrames, e: int, where: Where
) -> None:
    """Add an equality l1 - r1 = sum c_k (l2 - r2)^k of lengths of tendons, r those at the reference position."""
    name, first, second = frames.names.of("equality", e), int(model.eq_obj1id[e]), int(model.eq_obj2id[e])
    if second < 0 and joins_two_sites(model, first):
        (P, p), (S, s) = (_site(model, frames, k) for k in _wraps(model, first))
        length = float(model.tendon_length0[first]) + float(model.eq_data[e][0])
        description.add_loop(Rod(name, P, S, p, s, length), where)
        return
    taken = {joint for c, _ in description.couplings if isinstance(c, Coupling) for joint in c.dependent}
    description.add_coupling(_coupling(model, frames.names, e, taken), where)


def joins_two_sites(model: MjModel, t: int) -> bool:
    """Whether a tendon is the straight line between two sites."""
    wraps = _wraps(model, t)
    return len(wraps) == 2 and all(model.wrap_type[w] == WRAPS_SITE for w in wraps)


def _wraps(model: MjModel, t: int) -> range:
    return range(int(model.tendon_adr[t]), int(model.tendon_adr[t] + model.tendon_num[t]))


def _site(model: MjModel, frames: LinkFrames, w: int) -> tuple[str, np.ndarray]:
    site = int(model.wrap_objid[w])
    link, at = frames.place(int(model.site_bodyid[site]), model.site_pos[site], model.site_quat[site])
    return link, at.p


def _joints(model: MjModel, names: Names, t: int) -> dict[str, float]:
    """The joints that a tendon runs over, and how it lengthens with each."""
    out: dict[str, float] = {}
    for w in _wraps(model, t):
        if model.wrap_type[w] != WRAPS_JOINT:
            raise ModelError(
                f"couples tendon {names.of('tendon', t)!r}, which runs through points; kinloop closes tendons of "
                "joints, and single ones between two sites"
            )
        joint = names.joint(int(model.wrap_objid[w]))
        out[joint] = out.get(joint, 0.0) + float(model.wrap_prm[w])
    return out


def _coupling(model: MjModel, names: Names, e: int, taken: set[str]) -> Coupling:
    """The equality as a joint that follows others; `taken` are joints that follow already."""
    name, first, second = names.of("equality", e), int(model.eq_obj1id[e]), int(model.eq_obj2id[e])
    c, r1 = model.eq_data[e][:MOST_COEFFICIENTS].astype(float), float(model.tendon_length0[first])
    one, two = _joints(model, names, first), {} if second < 0 else _joints(model, names, second)
    r2 = 0.0 if second < 0 else float(model.tendon_length0[second])
    if two and np.any(c[2:]):
        return _polynomial(name, one, two, r1, np.polynomial.Polynomial(c)(np.polynomial.Polynomial([-r2, 1.0])))
    terms = dict(one)
    for joint, factor in two.items():
        terms[joint] = terms.get(joint, 0.0) - float(c[1]) * factor
    terms = {joint: factor for joint, factor in terms.items() if factor}
    free = [joint for joint in terms if joint not in taken] or list(terms)
    if not free:
        raise ModelError("says nothing about any joint: all factors are zero; leave it out")
    follower = max(free, key=lambda joint: abs(terms[joint]))
    own = terms.pop(follower)
    constant = float(c[0]) + r1 - (float(c[1]) * r2 if two else 0.0)
    return LinearCoupling(
        name, (follower,), tuple(terms), np.array([[-x / own for x in terms.values()]]).reshape(1, -1), [constant / own]
    )


def _polynomial(
    name: str, one: dict[str, float], two: dict[str, float], r1: float, of_length: np.polynomial.Polynomial
) -> Coupling:
    """l1 = r1 + of_length(l2), where each tendon runs over one joint."""
    ((follower, own),), ((leader, factor),) = _only(one), _only(two)
    made = of_length(np.polynomial.Polynomial([0.0, factor])).coef
    made = np.concatenate([made, np.zeros(MOST_COEFFICIENTS)])[:MOST_COEFFICIENTS]
    made[0] += r1
    return PolynomialCoupling(name, (follower,), (leader,), tuple(float(x) / own for x in made))


def _only(joints: dict[str, float]) -> list[tuple[str, float]]:
    if len(joints) != 1 or not all(joints.values()):
        raise ModelError(
            f"is a polynomial of a tendon over the joints {', '.join(joints)}; where tendons run over several joints "
            "coefficients beyond the second must be zero"
        )
    return list(joints.items())
