"""MuJoCo's own runs of a model file, with constraints as stiff as its steps allow, for others to be compared with."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from kinloop.io.mjcf.mujoco_codes import MjModel

DT, END = 5e-4, 1.0
"""Length of a step and of a run [s]."""
SOLREF = 0.004
"""The time constant of MuJoCo's constraints [s]."""
HARDER, SOLIMP, IMPRATIO = 0.25, 0.999, 10.0
"""Of the hard run: steps and time constant relative to those of the soft one; its impedance and ratio of them."""


def stiff_model(path: Path, driven: bool = True) -> MjModel:
    """MuJoCo's model of a scene with stiff constraints and short steps; `ValueError` where it has none.

    Where it is not `driven`, its actuators do nothing.
    """
    import mujoco

    model = mujoco.MjModel.from_xml_path(str(path))
    model.opt.timestep, model.opt.integrator = DT, mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    model.opt.iterations, model.opt.ls_iterations, model.opt.tolerance = 100, 50, 1e-10
    if not driven:
        model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_ACTUATION)
    for solref in _solrefs(model):
        solref[:] = SOLREF, 1.0
    return model


def _solrefs(model: MjModel) -> list[np.ndarray]:
    """Of all constraints but the limits of tendons, which are as soft as the file says in kinloop too."""
    names = ("geom_solref", "pair_solref", "jnt_solref", "eq_solref", "dof_solref", "tendon_solref_fri")
    return [getattr(model, name) for name in names]


def hard_model(path: Path, driven: bool = True) -> MjModel:
    """The same, as near to rigid as it goes, and without a fluid, which kinloop does not model."""
    import mujoco

    model = stiff_model(path, driven)
    model.opt.timestep, model.opt.cone, model.opt.impratio = HARDER * DT, mujoco.mjtCone.mjCONE_ELLIPTIC, IMPRATIO
    model.opt.density = model.opt.viscosity = 0.0
    for solref in _solrefs(model):
        solref[:, 0] = HARDER * SOLREF
    for name in ("geom_solimp", "pair_solimp", "jnt_solimp", "eq_solimp", "dof_solimp", "tendon_solimp_fri"):
        getattr(model, name)[:, :2] = SOLIMP
    return model


def mujoco_places(model: MjModel, qpos: np.ndarray, ctrl: np.ndarray, act: np.ndarray, end: float = END) -> np.ndarray:
    """Where MuJoCo has all bodies at the end [mm]."""
    import mujoco

    data = mujoco.MjData(model)
    data.qpos[:], data.ctrl[:] = qpos, ctrl
    data.act[: len(act)] = act
    mujoco.mj_step(model, data, round(end / model.opt.timestep))
    mujoco.mj_kinematics(model, data)
    places: np.ndarray = 1e3 * data.xpos
    return places


def depth(model: MjModel, qpos: np.ndarray) -> float:
    """How deep shapes are in each other [mm]."""
    import mujoco

    data = mujoco.MjData(model)
    data.qpos[:] = qpos
    mujoco.mj_fwdPosition(model, data)
    return 1e3 * max(0.0, -float(np.min(data.contact.dist, initial=0.0)))


def lifted(model: MjModel, qpos: np.ndarray, by: float) -> np.ndarray:
    """Free bodies higher [mm]."""
    import mujoco

    out = qpos.copy()
    out[model.jnt_qposadr[np.equal(model.jnt_type, mujoco.mjtJoint.mjJNT_FREE)] + 2] += 1e-3 * by
    return out
