"""Equalities of a compiled MuJoCo model as loops and couplings."""

from __future__ import annotations

import numpy as np

from kinloop.io.mjcf.joint_polynomials import MOST_COEFFICIENTS, polynomial_about
from kinloop.io.mjcf.mjcf_bodies import LinkFrames
from kinloop.io.mjcf.mjcf_names import Names
from kinloop.io.mjcf.mjcf_tendon_equalities import add_tendon_equality
from kinloop.io.mjcf.mujoco_codes import CONNECT, EQUALITIES_DISABLED, JOINT, SITE, TENDONS, WELD, MjModel
from kinloop.io.mjcf.safe_source import Places
from kinloop.io.shared.robot_description import RobotDescription
from kinloop.model import Coupling, LinearCoupling, LoopJoint, PolynomialCoupling
from kinloop.model import joints as jt
from kinloop.spatial import Transform

NO_TURN = (1.0, 0.0, 0.0, 0.0)


def read_equalities(model: MjModel, description: RobotDescription, frames: LinkFrames, places: Places) -> None:
    """Add active equalities as loops and couplings; kinds that are not understood are errors."""
    for e in range(model.neq):
        name = frames.names.of("equality", e)
        where = places.of("equality", name, e)
        if not model.eq_active0[e] or model.opt.disableflags & EQUALITIES_DISABLED:
            description.inactive.append(name)
            continue
        kind = int(model.eq_type[e])
        if kind in (CONNECT, WELD):
            with where.blamed():
                (P, T_P), (S, T_S) = _ends(model, frames, e)
                loop_type = jt.Spherical() if kind == CONNECT else jt.Fixed()
                description.add_loop(LoopJoint(name, P, S, loop_type, T_P, T_S), where)
        elif kind == JOINT:
            with where.blamed():
                description.add_coupling(_polynomial(model, frames.names, e, name), where)
        elif kind == TENDONS:
            with where.blamed():
                add_tendon_equality(model, description, frames, e, where)
        else:
            raise where.error(
                "is an equality of flexes, which kinloop cannot close; use connect, weld, joint or tendon"
            )


def _ends(model: MjModel, frames: LinkFrames, e: int) -> list[tuple[str, Transform]]:
    """Both ends of a connect or weld: a link and the constraint frame in it."""
    ids, data = (int(model.eq_obj1id[e]), int(model.eq_obj2id[e])), model.eq_data[e]
    if int(model.eq_objtype[e]) == SITE:
        return [frames.place(int(model.site_bodyid[s]), model.site_pos[s], model.site_quat[s]) for s in ids]
    if int(model.eq_type[e]) == CONNECT:
        places = ((data[:3], NO_TURN), (data[3:6], NO_TURN))
    else:  # a weld: body 2 carries the anchor, body 1 the relative pose
        places = ((data[3:6], data[6:10]), (data[:3], NO_TURN))
    return [frames.place(b, *place) for b, place in zip(ids, places, strict=True)]


def _polynomial(model: MjModel, names: Names, e: int, name: str) -> Coupling:
    """q1 - r1 = sum c_k (q2 - r2)^k, r the reference positions, as a polynomial of q2 itself."""
    one, two, data = int(model.eq_obj1id[e]), int(model.eq_obj2id[e]), model.eq_data[e]
    r1 = float(model.qpos0[model.jnt_qposadr[one]])
    if two < 0:
        return LinearCoupling(name, (names.joint(one),), (), np.zeros((1, 0)), [float(data[0]) + r1])
    r2 = float(model.qpos0[model.jnt_qposadr[two]])
    coefficients = polynomial_about(data[:MOST_COEFFICIENTS], -r2)
    coefficients[0] += r1
    joints = (names.joint(one),), (names.joint(two),)
    if not np.any(coefficients[2:]):
        return LinearCoupling(name, *joints, [[float(coefficients[1])]], [float(coefficients[0])])
    return PolynomialCoupling(name, *joints, tuple(float(x) for x in coefficients))
