# %% [markdown]
# # 12. Coming from Pinocchio or MuJoCo
#
# The same small program three times: in Pinocchio, in MuJoCo and in kinloop. First for a tree, where all three must agree,
# then with a loop, where they differ in kind.
#
# This page needs `pip install 'kinloop[peers]'`.

# %%
from pathlib import Path

import mujoco
import numpy as np
import pinocchio

import kinloop as kl

ARM = """<robot name="arm">
  <link name="base"><inertial><mass value="5"/>
    <inertia ixx="0.05" iyy="0.05" izz="0.05" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="upper"><inertial><origin xyz="0 0 -0.15"/><mass value="2"/>
    <inertia ixx="0.02" iyy="0.02" izz="0.002" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="lower"><inertial><origin xyz="0 0 -0.1"/><mass value="1"/>
    <inertia ixx="0.01" iyy="0.01" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="1 0 0"/>
    <limit lower="-3" upper="3" effort="50" velocity="10"/></joint>
  <joint name="elbow" type="revolute"><parent link="upper"/><child link="lower"/><origin xyz="0 0 -0.3"/>
    <axis xyz="0 1 0"/><limit lower="-3" upper="3" effort="50" velocity="10"/></joint>
</robot>"""
Path("arm.urdf").write_text(ARM)
q, v, tau = np.array([0.4, -0.7]), np.array([1.0, 2.0]), np.array([0.5, 0.1])

# %% [markdown]
# ## A tree
#
# **Pinocchio**: a model, a data structure that functions write into.

# %%
model = pinocchio.buildModelFromUrdf("arm.urdf")
data = model.createData()
a_pinocchio = pinocchio.aba(model, data, q, v, tau)
M_pinocchio = pinocchio.crba(model, data, q)
pinocchio.framesForwardKinematics(model, data, q)
p_pinocchio = data.oMf[model.getFrameId("lower")].translation.copy()

# %% [markdown]
# **MuJoCo**: the state is set in the data structure, then `mj_forward` computes everything.

# %%
mj_model = mujoco.MjModel.from_xml_path("arm.urdf")
mj_data = mujoco.MjData(mj_model)
mj_data.qpos[:], mj_data.qvel[:], mj_data.qfrc_applied[:] = q, v, tau
mujoco.mj_forward(mj_model, mj_data)
a_mujoco = mj_data.qacc.copy()
p_mujoco = mj_data.body("lower").xpos.copy()

# %% [markdown]
# **kinloop**: methods of the robot, arrays in, arrays out; no data structure.

# %%
robot = kl.load("arm.urdf")
a = robot.forward_dynamics(q, v, tau)
M = robot.mass_matrix(q)
p = robot.frame_pose(q, "lower")[:3, 3]

print("kinloop  ", np.round(a, 6))
print("Pinocchio", np.round(a_pinocchio, 6))
print("MuJoCo   ", np.round(a_mujoco, 6))
assert np.allclose(a, a_pinocchio, rtol=1e-9) and np.allclose(a, a_mujoco, rtol=1e-6)
assert np.allclose(M, np.triu(M_pinocchio) + np.triu(M_pinocchio, 1).T) and np.allclose(p, p_pinocchio)
assert np.allclose(p, p_mujoco)

# %% [markdown]
# ## Names
#
# | what | Pinocchio | MuJoCo | kinloop |
# |---|---|---|---|
# | load | `buildModelFromUrdf(path)` | `MjModel.from_xml_path(path)` | `kl.load(path)` |
# | sizes | `model.nq`, `model.nv` | `model.nq`, `model.nv` | `robot.nq`, `robot.nv` |
# | index of a joint | `model.joints[i].idx_q` | `model.jnt_qposadr[i]` | `robot.q_index(name)` |
# | move by v for dt | `integrate(model, q, v * dt)` | `mj_integratePos` | `robot.integrate(q, v, dt)` |
# | difference | `difference(model, q0, q1)` | `mj_differentiatePos` | `robot.difference(q0, q1)` |
# | forward dynamics | `aba(model, data, q, v, tau)` | `mj_forward`, `data.qacc` | `robot.forward_dynamics(q, v, tau)` |
# | inverse dynamics | `rnea(model, data, q, v, a)` | `mj_inverse`, `data.qfrc_inverse` | `robot.inverse_dynamics(q, v, a)` |
# | mass matrix | `crba(model, data, q)` | `mj_fullM` | `robot.mass_matrix(q)` |
# | bias force | `nonLinearEffects(model, data, q, v)` | `data.qfrc_bias` | `robot.bias_force(q, v)` |
# | gravity | `computeGeneralizedGravity` | `qfrc_bias` at rest | `robot.gravity_force(q)` |
# | pose of a frame | `framesForwardKinematics`, `data.oMf` | `data.xpos`, `data.xmat` | `robot.frame_pose(q, name)` |
# | Jacobian, world axes | `LOCAL_WORLD_ALIGNED` | `mj_jac` | `robot.frame_jacobian(q, name, axes="world")` |
# | centre of mass | `centerOfMass` | `data.subtree_com` | `robot.center_of_mass(q)` |
# | constrained motion | `constraintDynamics` | equality constraints, soft | `robot.constrained_dynamics(q, v, tau, [...])` |
# | one step of simulation | none | `mj_step` | `sim.step(state, u)`, `sim.rollout(...)` |
# | derivatives | `computeABADerivatives` | `mjd_transitionFD` | `robot.forward_dynamics_derivatives`, `sim.linearize` |
#
# Derivatives and Jacobians in detail: [derivatives](../derivatives.md).
#
# ## Conventions that differ
#
# | | Pinocchio | MuJoCo | kinloop |
# |---|---|---|---|
# | twist of a frame | linear first | angular first (`mj_objectVelocity`) | angular first |
# | quaternion | x y z w | w x y z | w x y z |
# | free joint, velocity | linear, angular; body axes | linear in world axes, angular in body axes | angular, linear; body axes |
# | joints behind loops | all in q and v | all in qpos and qvel | all in q, independent ones in v |
#
# `kl.convert.to_pinocchio(robot, model, q, v)`, `from_pinocchio`, `to_mujoco` and `from_mujoco` convert states, by names of joints.

# %%
floating = kl.load("arm.urdf", floating_base=True)
free = pinocchio.buildModelFromUrdf("arm.urdf", pinocchio.JointModelFreeFlyer())
Q, V = floating.random_state(0)
q_p, v_p, tau_p = kl.convert.to_pinocchio(floating, free, Q, V, np.zeros(floating.nv))
a_p = pinocchio.aba(free, free.createData(), q_p, v_p, tau_p)
there = kl.convert.acceleration_from_pinocchio(floating, free, Q, V, a_p)
assert np.allclose(there, floating.forward_dynamics(Q, V, np.zeros(floating.nv)), rtol=1e-8, atol=1e-8)
print("floating base: the same accelerations after conversion")

# %% [markdown]
# ## A loop
#
# A four-bar. MuJoCo closes it by an equality constraint that gives way a little; Pinocchio solves for the forces of the loop
# at every call; kinloop makes the loop part of the coordinates.
#
# **kinloop**:

# %%
four_bar = kl.robots.load("four_bar")
q = four_bar.random_state(0)[0]
v, tau = np.array([2.0]), np.array([1.0])
exact = four_bar.forward_dynamics(q, v, tau)
dense = four_bar.forward_dynamics(q, v, tau, method="dense_kkt")
print(f"exact {exact[0]:.4f}, dense solve {dense[0]:.4f} rad/s^2")
assert np.allclose(exact, dense, rtol=1e-9)

# %% [markdown]
# **MuJoCo**: `to_mjcf` writes the robot with its loop as an equality constraint.

# %%
kl.io.to_mjcf(four_bar.mechanism, "four_bar.xml")
mj_model = mujoco.MjModel.from_xml_path("four_bar.xml")
mj_data = mujoco.MjData(mj_model)
mj_data.qpos[:], mj_data.qvel[:], mj_data.qfrc_applied[:] = kl.convert.to_mujoco(four_bar, mj_model, q, v, tau)
mujoco.mj_forward(mj_model, mj_data)
soft = kl.convert.acceleration_from_mujoco(four_bar, mj_model, q, v, mj_data.qacc)
off = abs(soft[0] / exact[0] - 1)
print("MuJoCo's acceleration is off by 0.1 to 1 percent:", bool(1e-3 < off < 1e-2))
assert off < 0.1

# %% [markdown]
# **Pinocchio**: the spanning tree comes from a URDF, and the point where the loop closes is a constraint on top of it.

# %%
kl.io.to_urdf_plus(four_bar.mechanism, "four_bar.urdf")
tree = pinocchio.buildModelFromUrdf("four_bar.urdf")
loop = four_bar.mechanism.loops[0]
ends = []
for body, at in ((loop.predecessor, loop.predecessor_placement), (loop.successor, loop.successor_placement)):
    frame = tree.frames[tree.getBodyId(body)]
    ends += [frame.parentJoint, frame.placement * pinocchio.SE3(np.array(at.R), np.array(at.p))]
point, local = pinocchio.ContactType.CONTACT_3D, pinocchio.ReferenceFrame.LOCAL
constraints, datas = pinocchio.StdVec_RigidConstraintModel(), pinocchio.StdVec_RigidConstraintData()
constraints.append(pinocchio.RigidConstraintModel(point, tree, *ends, local))
datas.append(constraints[0].createData())
data = tree.createData()
pinocchio.initConstraintDynamics(tree, data, constraints, datas)
solver = pinocchio.ProximalSettings(1e-12, 1e-10, 100)  # a planar loop has redundant rows
state = kl.convert.to_pinocchio(four_bar, tree, q, v, tau)
a_tree = pinocchio.constraintDynamics(tree, data, *state, constraints, datas, solver)
by_forces = kl.convert.acceleration_from_pinocchio(four_bar, tree, q, v, a_tree)
print("Pinocchio's constraintDynamics agrees:", np.allclose(by_forces, exact, rtol=1e-5))
assert np.allclose(by_forces, exact, rtol=1e-5)

# %% [markdown]
# With loops, `v`, `tau` and `a` of kinloop are those of the independent coordinates: one number for a four-bar.
# `robot.spanning_velocity(q, v)` gives the velocities of all joints, and a force on any joint reaches the independent ones by
# $G^T$ ([notation](../notation.md)). How fast each of the three is: [benchmarks](../benchmarks.md).
