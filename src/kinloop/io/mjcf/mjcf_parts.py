"""Names, shapes, equalities and actuators of a compiled MuJoCo model, and what kinloop leaves out."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinloop.io.shared.draft import Draft
from kinloop.io.shared.failure import Where
from kinloop.io.shared.parse_numbers import exact_pose
from kinloop.io.shared.paths import Roots
from kinloop.model import Coupling, Geometry, LinearCoupling, LoopJoint, PolynomialCoupling
from kinloop.model import joints as jt
from kinloop.spatial import Transform, quaternion_rotation

_KINDS = {
    "body": 1,
    "joint": 3,
    "geom": 5,
    "site": 6,
    "mesh": 8,
    "equality": 17,
    "tendon": 18,
    "actuator": 19,
    "key": 23,
}
CONNECT, WELD, JOINT = range(3)


class Names:
    """Names of the parts of a compiled model; parts without one are named after their body or number."""

    def __init__(self, model: Any) -> None:
        import mujoco

        self.m, self.mujoco = model, mujoco

    def of(self, kind: str, k: int) -> str:
        enum = getattr(self.mujoco.mjtObj, f"mjOBJ_{kind.upper()}")
        return self.mujoco.mj_id2name(self.m, enum, k) or f"{kind}{k}"

    def joint(self, j: int) -> str:
        """A joint's name, or its body's with `_joint` (and a number where the body has several)."""
        name = self.mujoco.mj_id2name(self.m, self.mujoco.mjtObj.mjOBJ_JOINT, j)
        if name:
            return name
        b = int(self.m.jnt_bodyid[j])
        several = f"{j - int(self.m.body_jntadr[b])}" if self.m.body_jntnum[b] > 1 else ""
        name = f"{self.of('body', b)}_joint{several}"
        while self.mujoco.mj_name2id(self.m, self.mujoco.mjtObj.mjOBJ_JOINT, name) >= 0:
            name += "_"
        return name

    def link(self, b: int) -> str:
        """The link that has a body's mass: the body's name, marked where its frame lies on a joint instead."""
        name = self.of("body", b)
        count = int(self.m.body_jntnum[b])
        if b == 0 or count == 0:
            return name
        last = int(self.m.body_jntadr[b]) + count - 1
        turning = [j for j in range(last - count + 1, last + 1) if self.m.jnt_type[j] in (1, 3)]
        shifted = bool(turning) and self.m.jnt_type[last] in (1, 3) and np.any(self.m.jnt_pos[last])
        return f"{name}@{self.joint(last)}" if shifted else name


def pose_at(position: Any, quaternion: Any, shift: np.ndarray) -> Transform:
    return exact_pose(np.asarray(position) - shift, quaternion_rotation(np.asarray(quaternion)))


def shapes(model: Any, names: Names, shift: dict[int, np.ndarray], meshes: dict, roots: Roots) -> Any:
    """(link, geometry) of every geom, sizes in kinloop's convention."""
    for g in range(model.ngeom):
        b, kind = int(model.geom_bodyid[g]), int(model.geom_type[g])
        at = pose_at(model.geom_pos[g], model.geom_quat[g], shift[b])
        role = "collision" if model.geom_contype[g] or model.geom_conaffinity[g] else "visual"
        x, y, z = (float(s) for s in model.geom_size[g])
        known = {0: ("plane", (x, y)), 2: ("sphere", (x,)), 3: ("capsule", (x, 2 * y)), 4: ("ellipsoid", (x, y, z)),
                 5: ("cylinder", (x, 2 * y)), 6: ("box", (2 * x, 2 * y, 2 * z))}  # fmt: skip
        material = int(model.geom_matid[g])
        rgba = model.geom_rgba[g] if material < 0 else model.mat_rgba[material]
        more: dict[str, Any] = {"color": tuple(float(c) for c in rgba), "name": names.of("geom", g), "role": role}
        if kind in known:
            yield names.link(b), Geometry(known[kind][0], known[kind][1], at, **more)
        elif kind == 7:
            k = int(model.geom_dataid[g])
            moved = Transform(quaternion_rotation(model.mesh_quat[k]), model.mesh_pos[k])
            more["mesh"], more["path"] = meshes.get(names.of("mesh", k), (None, None))
            size = tuple(float(s) for s in model.mesh_scale[k])
            yield names.link(b), Geometry("mesh", size, at.then(moved.inverse()), **more)


def equalities(model: Any, draft: Draft, names: Names, shift: dict[int, np.ndarray]) -> None:
    """Active equality constraints as loops and couplings; kinds that are not understood are errors."""
    for e in range(model.neq):
        name = names.of("equality", e)
        where = Where(draft.where.file, draft.where.line, f"equality {name!r}")
        if not model.eq_active0[e] or model.opt.disableflags & 1 << 1:
            draft.extras.setdefault("inactive", []).append(name)
            continue
        kind, data = int(model.eq_type[e]), model.eq_data[e]
        if kind in (CONNECT, WELD):
            ends = [_end(model, names, shift, e, k, kind, data) for k in (0, 1)]
            (P, T_P), (S, T_S) = ends
            loop_type = jt.Spherical() if kind == CONNECT else jt.Fixed()
            draft.add_loop(LoopJoint(name, P, S, loop_type, T_P, T_S), where)
        elif kind == JOINT:
            draft.add_coupling(_polynomial(model, names, e, name, data), where)
        else:
            raise where.error(
                "is an equality of tendons or flexes, which kinloop cannot close; use connect, weld or joint"
            )


def _end(
    model: Any, names: Names, shift: dict[int, np.ndarray], e: int, k: int, kind: int, data: np.ndarray
) -> tuple[str, Transform]:
    """One end of a connect or weld: a link and the constraint frame in it."""
    i = int((model.eq_obj1id if k == 0 else model.eq_obj2id)[e])
    unit = (1.0, 0.0, 0.0, 0.0)
    if int(model.eq_objtype[e]) == 6:
        b = int(model.site_bodyid[i])
        return names.link(b), pose_at(model.site_pos[i], model.site_quat[i], shift[b])
    if kind == CONNECT:
        return names.link(i), pose_at(data[3 * k : 3 * k + 3], unit, shift[i])
    # a weld: body 2 carries the anchor, body 1 the relative pose
    return names.link(i), pose_at(data[3:6] if k == 0 else data[:3], data[6:10] if k == 0 else unit, shift[i])


def _polynomial(model: Any, names: Names, e: int, name: str, data: np.ndarray) -> Coupling:
    """q1 - r1 = sum c_k (q2 - r2)^k, r the reference positions, as a polynomial of q2 itself."""
    one, two = int(model.eq_obj1id[e]), int(model.eq_obj2id[e])
    r1 = float(model.qpos0[model.jnt_qposadr[one]])
    c = np.polynomial.Polynomial(data[:5])
    if two < 0:
        return LinearCoupling(name, (names.joint(one),), (), np.zeros((1, 0)), [float(data[0]) + r1])
    r2 = float(model.qpos0[model.jnt_qposadr[two]])
    coefficients = c(np.polynomial.Polynomial([-r2, 1.0])).coef if r2 else c.coef
    coefficients = np.concatenate([coefficients, np.zeros(5)])[:5]
    coefficients[0] += r1
    joints = (names.joint(one),), (names.joint(two),)
    if not np.any(coefficients[2:]):
        return LinearCoupling(name, *joints, [[float(coefficients[1])]], [float(coefficients[0])])
    return PolynomialCoupling(name, *joints, tuple(float(x) for x in coefficients))


def actuators(model: Any, names: Names) -> list[dict]:
    """Actuators as plain data: force = gain * control + bias0 + bias1 * length + bias2 * velocity."""
    out = []
    for a in range(model.nu):
        entry: dict[str, Any] = {"name": names.of("actuator", a), "joints": _transmission(model, names, a)}
        gain, bias = model.actuator_gainprm[a, :3].tolist(), model.actuator_biasprm[a, :3].tolist()
        plain = model.actuator_dyntype[a] == 0 and model.actuator_gaintype[a] == 0 and model.actuator_biastype[a] < 2
        kind = "general"
        if plain and not model.actuator_biastype[a]:
            kind, bias = "motor", [0.0, 0.0, 0.0]
        elif plain and gain[0] == -bias[1]:
            kind = "position"
        elif plain and gain[0] == -bias[2] and bias[1] == 0:
            kind = "velocity"
        entry |= {"kind": kind, "gain": gain, "bias": bias}
        for what in ("ctrl", "force"):
            if getattr(model, f"actuator_{what}limited")[a]:
                entry[f"{what}range"] = getattr(model, f"actuator_{what}range")[a].tolist()
        out.append(entry)
    return out


def _transmission(model: Any, names: Names, a: int) -> dict[str, list[float]]:
    """Joints an actuator acts on with its gear (moment arm) on each; empty where it is not through joints."""
    kind, target, gear = int(model.actuator_trntype[a]), int(model.actuator_trnid[a, 0]), model.actuator_gear[a]
    if kind in (0, 1):
        n = (6, 3, 1, 1)[int(model.jnt_type[target])]
        return {names.joint(target): gear[:n].tolist()}
    if kind == 3 and _fixed_tendon(model, target):
        adr, count = int(model.tendon_adr[target]), int(model.tendon_num[target])
        return {
            names.joint(int(model.wrap_objid[w])): [float(model.wrap_prm[w] * gear[0])] for w in range(adr, adr + count)
        }
    return {}


def _fixed_tendon(model: Any, t: int) -> bool:
    return bool(model.tendon_num[t]) and int(model.wrap_type[model.tendon_adr[t]]) == 1


def unmodelled(model: Any, draft: Draft, names: Names) -> None:
    """Warn about everything in the compiled model that acts and that kinloop does not have."""
    m, notes = model, draft.notes

    def drop(element: str, reason: str) -> None:
        notes.warn(Where(draft.where.file, draft.where.line, element), f"{reason}; it is left out", dropped=True)

    for t in range(m.ntendon):
        acts = m.tendon_stiffness[t] or m.tendon_damping[t] or m.tendon_limited[t] or m.tendon_frictionloss[t]
        if acts or m.tendon_armature[t] or not _fixed_tendon(m, t):
            drop(f"tendon {names.of('tendon', t)!r}", "is a tendon that acts by itself, which kinloop does not model")
    for b in np.flatnonzero(m.body_gravcomp):
        drop(f"body {names.of('body', int(b))!r}", "has gravity compensation, which kinloop does not model")
    for b in np.flatnonzero(m.body_mocapid >= 0):
        drop(f"body {names.of('body', int(b))!r}", "is a mocap body, moved by the user; here it stands still")
    for j in range(m.njnt):
        several = m.jnt_type[j] < 2
        if (
            (several and m.jnt_stiffness[j])
            or np.any(m.jnt_stiffnesspoly[j])
            or np.any(m.dof_dampingpoly[m.jnt_dofadr[j]])
        ):
            drop(f"joint {names.joint(j)!r}", "has a spring or damper beyond a linear one on one coordinate")
        if several and m.jnt_limited[j]:
            drop(f"joint {names.joint(j)!r}", "has a limit on a ball, which kinloop does not model")
    for a in range(m.nu):
        if not _transmission(m, names, a):
            drop(f"actuator {names.of('actuator', a)!r}", "does not act through joints, which kinloop does not model")
        elif m.actuator_armature[a] or m.actuator_damping[a] or m.actuator_dyntype[a]:
            drop(f"actuator {names.of('actuator', a)!r}", "has dynamics of its own, which kinloop does not model")
    if m.opt.density or m.opt.viscosity:
        drop("option", "asks for forces of a fluid, which kinloop does not model")
    if m.nflex:
        drop("flex", "is deformable, which kinloop does not model")
