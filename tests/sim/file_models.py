# ruff: noqa: E501  (model text)
"""Small MJCF models with everything that acts along a length, and their states here and in MuJoCo."""

from __future__ import annotations

import numpy as np

TENDONS = """<mujoco><compiler angle="radian"/><worldbody>
<site name="w0" pos="-0.3 0.02 0.1"/>
<geom name="wc" type="cylinder" size="0.06 0.2" pos="0 0.1 0.05" euler="1.2 0.1 0.4" contype="0" conaffinity="0"/>
<body name="a" pos="0 0 0.1" gravcomp="0.7"><joint name="a" type="ball"/><geom size="0.05" mass="1" pos="0.1 0 0"/>
<site name="a0" pos="0.2 0.05 0.01"/><site name="a1" pos="0.25 -0.05 0.0"/>
<geom name="s1" type="sphere" size="0.08" pos="0.15 0 0.05" contype="0" conaffinity="0"/><site name="s1in" pos="0.16 0.01 0.05"/>
<geom name="c1" type="cylinder" size="0.05 0.1" pos="0.22 0 0.05" euler="0.3 0.2 0.1" contype="0" conaffinity="0"/><site name="c1in" pos="0.22 0.01 0.05"/>
<body name="b" pos="0.3 0 0"><joint name="b" axis="0 1 0" stiffness="2" springref="0.1" damping="0.3"/><joint name="b2" type="slide" axis="1 0 0"/>
<geom size="0.05" mass="1" pos="0.1 0 0"/><site name="b0" pos="0.1 0.02 0.03"/><site name="b1" pos="0.15 0.0 0.1" euler="0.3 0.4 0.5"/>
<body name="lump" pos="0 0.1 0" euler="0.1 0.2 0.3" gravcomp="1"><geom size="0.02" mass="0.3" pos="0.02 0 0"/></body></body></body>
<body name="f" pos="0.5 0.5 0.5" gravcomp="1.2"><freejoint name="f"/><geom size="0.05" mass="1"/><site name="f0" pos="0.1 0 0" euler="0.1 0.2 0.3"/></body>
</worldbody>
<tendon>
<spatial name="t0" stiffness="30" damping="2" springlength="0.3 0.35"><site site="w0"/><site site="a0"/><site site="a1"/><site site="b0"/></spatial>
<spatial name="t1"><site site="w0"/><geom geom="s1"/><site site="b0"/></spatial>
<spatial name="t3"><site site="w0"/><geom geom="c1"/><site site="b0"/></spatial>
<spatial name="t4"><site site="w0"/><geom geom="s1" sidesite="s1in"/><site site="b0"/></spatial>
<spatial name="t5"><site site="w0"/><geom geom="c1" sidesite="c1in"/><site site="b1"/></spatial>
<spatial name="t6"><site site="w0"/><site site="a0"/><pulley divisor="2"/><site site="a1"/><site site="b0"/><pulley divisor="3"/><site site="a1"/><geom geom="wc"/><site site="b1"/></spatial>
<spatial name="t7" stiffness="50"><site site="w0"/><geom geom="wc"/><site site="f0"/></spatial>
<fixed name="t8" stiffness="3" springlength="0.1"><joint joint="b" coef="0.5"/><joint joint="b2" coef="-2"/></fixed>
</tendon>
<actuator>
<position name="p0" tendon="t0" kp="20" kv="3" gear="2" ctrlrange="0 1"/>
<position name="p1" tendon="t1" kp="20" kv="3" forcerange="-1 3"/>
<motor name="p3" tendon="t3"/><motor name="p4" tendon="t4"/><motor name="p5" tendon="t5"/><motor name="p6" tendon="t6" gear="3"/>
<position name="p8" tendon="t8" kp="4" kv="1"/>
<general name="g" joint="b" gaintype="affine" gainprm="2 1 0.5" biastype="affine" biasprm="0.1 -2 -0.3" forcerange="-3 1" ctrlrange="-0.4 1"/>
<motor name="s" site="f0" gear="1 2 3 0.1 0.2 0.3"/>
<general name="sr" site="b1" refsite="f0" gear="1 2 3 0 0 0" gainprm="2" biastype="affine" biasprm="0 -2 -1"/>
<general name="sr2" site="b1" refsite="a0" gear="1 0 3 0 0 0" gainprm="2" biastype="affine" biasprm="0 -2 -1"/>
<motor name="fw" joint="f" gear="1 2 3 .4 .5 .6"/><motor name="fp" jointinparent="f" gear="1 2 3 .4 .5 .6"/>
<motor name="bp" jointinparent="a" gear=".4 .5 .6"/><velocity name="bv" joint="a" gear=".4 .5 .6" kv="2"/>
<general name="fi" joint="b2" dyntype="filter" dynprm="0.1" gainprm="3" actrange="-1 1" actlimited="true"/>
<general name="in" joint="b2" dyntype="integrator" gainprm="3" biastype="affine" biasprm="0 -3 -1" ctrlrange="-1 1"/>
<general name="fe" joint="b2" dyntype="filterexact" dynprm="0.05" gainprm="3" biastype="affine" biasprm="0 -3 -1"/>
</actuator>
<keyframe><key name="home" qpos="1 0 0 0 0.1 0.02 0.5 0.5 0.6 1 0 0 0" ctrl="0.5 0 1 2 3 4 0 0 0 0 0 0 0 0 0 0.3 0.2 0.1" act="0.1 0.2 0.3"/></keyframe>
</mujoco>"""
"""Tendons of every kind, and actuators of every kind on them, on joints and at sites."""


SENSORS = """<mujoco><compiler angle="radian"/><option magnetic="0.1 -0.5 0.3"/><worldbody><site name="w" pos="0.1 0 1" euler="0.2 0.1 0.4"/>
<body name="base" pos="0 0 1"><freejoint name="free"/><geom size="0.1" mass="3" pos="0.02 0 0.01"/><site name="imu" pos="0.05 0.1 -0.02" euler="0.4 0.5 0.6"/>
<body name="arm" pos="0.2 0 0"><joint name="j" axis="0 1 0" actuatorfrcrange="-1 1.5" pos="0.01 0 0.02"/><geom name="g" type="capsule" size="0.03 0.1" mass="1" euler="0.3 0 0" pos="0.1 0 0"/><site name="tip" pos="0.3 0 0" euler="0.1 0.3 0.2"/>
<body name="ball" pos="0.3 0 0"><joint name="s" type="ball"/><geom type="box" size="0.05 0.03 0.02" mass="0.5" pos="0 0.1 0"/></body></body></body></worldbody>
<tendon><spatial name="t"><site site="w"/><site site="tip"/></spatial></tendon>
<actuator><position name="p" joint="j" kp="5" kv="0.5" forcerange="-2 3"/><motor name="m" joint="j" gear="2"/><motor name="c" tendon="t" gear="3"/></actuator>
<sensor><gyro name="gyro" site="imu"/><accelerometer name="acc" site="imu"/><velocimeter name="vel" site="imu"/><magnetometer name="mag" site="tip" cutoff="0.3"/>
<jointpos name="jp" joint="j"/><jointvel name="jv" joint="j" cutoff="0.2"/><jointactuatorfrc name="jf" joint="j"/><ballquat name="bq" joint="s"/><ballangvel name="bv" joint="s"/>
<tendonpos name="tp" tendon="t"/><tendonvel name="tv" tendon="t"/><actuatorpos name="ap" actuator="c"/><actuatorvel name="av" actuator="c"/><actuatorfrc name="af" actuator="p"/><actuatorfrc name="mf" actuator="m"/>
<framepos name="fp" objtype="body" objname="arm"/><framepos name="fr" objtype="site" objname="tip" reftype="site" refname="imu"/><framequat name="fq" objtype="xbody" objname="ball"/><framequat name="fqr" objtype="geom" objname="g" reftype="body" refname="ball"/>
<framexaxis name="fx" objtype="site" objname="tip"/><frameyaxis name="fy" objtype="site" objname="tip" reftype="xbody" refname="base"/><framezaxis name="fz" objtype="geom" objname="g"/>
<framelinvel name="lv" objtype="site" objname="tip"/><framelinvel name="lr" objtype="body" objname="ball" reftype="site" refname="imu"/><frameangvel name="wv" objtype="site" objname="tip"/><frameangvel name="wr" objtype="xbody" objname="ball" reftype="site" refname="tip"/>
<framelinacc name="la" objtype="site" objname="tip"/><frameangacc name="wa" objtype="body" objname="ball"/><framepos name="fw" objtype="site" objname="w"/><clock name="clock"/>
<subtreecom name="sc" body="world"/><subtreelinvel name="sv" body="arm"/><subtreeangmom name="sl" body="base"/></sensor></mujoco>"""
"""Sensors of every kind."""


def spanning_state(top, model, data):
    """Positions and spanning velocities of a mechanism at MuJoCo's state; joints go by their names."""
    q, qd = np.zeros(top.nq), np.zeros(top.n_spanning)
    for j in range(model.njnt):
        i = top.joint_index[model.joint(j).name]
        t, place, dof = top.types[i], model.jnt_qposadr[j], model.jnt_dofadr[j]
        q[top.q_of[i]], v = data.qpos[place : place + t.nq], data.qvel[dof : dof + t.nv].copy()
        qd[top.v_of[i]] = np.concatenate([v[3:], t.pose(q[top.q_of[i]]).R.T @ v[:3]]) if t.is_free else v
    return q, qd


def as_mujoco(top, model, q, f):
    """Forces on spanning coordinates as MuJoCo's."""
    out = np.zeros(model.nv)
    for j in range(model.njnt):
        i = top.joint_index[model.joint(j).name]
        t, dof, x = top.types[i], model.jnt_dofadr[j], f[top.v_of[i]]
        out[dof : dof + t.nv] = np.concatenate([t.pose(q[top.q_of[i]]).R @ x[3:], x[:3]]) if t.is_free else x
    return out


def random_state(mujoco, model, data, rng, size=0.5):
    """A state at random, controls beyond their ranges now and then, and everything that MuJoCo computes of it."""
    data.qpos[:] = model.qpos0
    mujoco.mj_integratePos(model, data.qpos, size * rng.normal(size=model.nv), 1.0)
    data.qvel[:], data.ctrl[:], data.act[:] = (rng.normal(size=n) for n in (model.nv, model.nu, model.na))
    mujoco.mj_forward(model, data)
