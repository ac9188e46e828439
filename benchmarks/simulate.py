"""Whole simulation steps beside MuJoCo, on one core.

    python benchmarks/simulate.py [folder of the MuJoCo Menagerie]

Mini Cheetah with its rotors (zoo); and with the folder Go1 standing on four feet and Cassie with its loops standing on
both soles, each with the model's joint stops, dry friction and damping, under the same servos, from the same keyframe,
at the same time step, over the same stretch of time and with the same points of contact. kinloop runs a batch in one
native call per horizon on one thread; MuJoCo runs `mj_step` in its own loop.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

import kinloop as kl
from kinloop.bench.timing import one_core, seconds_per_call
from kinloop.learn.tasks.legged_machine import posed
from kinloop.sim import ContactPoint, Motor, Plane, Simulator

DT, STATES, STEPS, TURNS, ITERATIONS = 1e-3, 128, 300, 5, 5
SETTLE = 500
"""Steps before the measurement begins."""
STANCE = {"hip-roll": 600.0, "hip-yaw": 600.0, "hip-pitch": 600.0, "knee": 1200.0, "foot": 20.0}
"""Servos under which Cassie stands for a second [N m/rad]; damping is 0.03 s of these."""


def shapes(robot: kl.Robot, kind: str, ending: str) -> list[ContactPoint]:
    """Centres of a body's collision spheres, or of the ends of its capsules."""
    out = []
    for b in robot.mechanism.bodies:
        for g in b.geometry:
            if b.name.endswith(ending) and g.kind == kind and g.role != "visual":
                ends = (0.0,) if kind == "sphere" else (-0.5 * g.size[1], 0.5 * g.size[1])
                at = [g.placement.p + g.placement.R @ np.array([0, 0, z]) for z in ends]
                out += [ContactPoint(b.name, x, g.size[0]) for x in at]
    return out


class Ours:
    """A simulator and a settled batch of equal states."""

    def __init__(self, sim: Simulator, q: Any, u: Any) -> None:
        self.sim, self.u = sim, u
        settled = sim.rollout(q, None, u, steps=SETTLE).final
        record = ("residual", "gap", "loop_error", "contact_force")
        run = sim.rollout(state=settled, controls=u, steps=STEPS, record=record)
        self.residual, self.gap = float(np.max(run.residual)), float(np.min(run.gap))
        self.loop = float(np.max(run.loop_error, initial=0.0))
        self.status = int(run.status[0])
        self.touching = float(np.mean(np.sum(run.contact_force[..., 2] > 0.0, axis=-1)))
        self.state = sim.state(np.repeat(settled.q, STATES, axis=0), qd=np.repeat(settled.qd, STATES, axis=0))
        self.operations = sim.engine.step.operations["total"]

    def run(self) -> None:
        """The stretch that is timed."""
        self.sim.rollout(state=self.state, controls=self.u, steps=STEPS, record=["q"], every=STEPS, threads=1)


class MuJoCo:
    """The same model in MuJoCo, settled from its keyframe."""

    def __init__(self, path: Path, gains: list[float] | None = None, settle: int = SETTLE) -> None:
        import mujoco

        self.mujoco, self.model = mujoco, mujoco.MjModel.from_xml_path(str(path))
        self.model.opt.timestep = DT
        self.data = mujoco.MjData(self.model)
        mujoco.mj_resetDataKeyframe(self.model, self.data, 0)
        self.data.ctrl[:] = self.model.key_ctrl[0] if gains is None else self._servos(gains)
        mujoco.mj_step(self.model, self.data, settle)
        self.kind = mujoco.mjtState.mjSTATE_INTEGRATION
        self.settled = np.zeros(mujoco.mj_stateSize(self.model, self.kind))
        mujoco.mj_getState(self.model, self.data, self.settled, self.kind)
        self.touching = self._contacts()

    def run(self) -> None:
        """The stretch that is timed."""
        self.mujoco.mj_setState(self.model, self.data, self.settled, self.kind)
        self.mujoco.mj_step(self.model, self.data, STEPS)

    def _servos(self, gains: list[float]) -> Any:
        """Make the motors position servos with these gains; their targets are where the keyframe is."""
        m = self.model
        m.actuator_gear[:, 0], m.actuator_biastype[:] = 1.0, self.mujoco.mjtBias.mjBIAS_AFFINE
        m.actuator_gainprm[:, 0] = gains
        m.actuator_biasprm[:, 1], m.actuator_biasprm[:, 2] = -np.array(gains), -0.03 * np.array(gains)
        m.actuator_ctrllimited[:] = 0
        return m.key_qpos[0][m.jnt_qposadr[m.actuator_trnid[:, 0]]]

    def _contacts(self) -> float:
        """The mean number of contacts over the stretch that is timed."""
        total = 0
        for _ in range(STEPS):
            self.mujoco.mj_step(self.model, self.data)
            total += self.data.ncon
        return total / STEPS


def at_home(robot: kl.Robot) -> np.ndarray:
    """The keyframe "home" of a model file."""
    return np.array({k.name: k.q for k in robot.mechanism.keyframes}["home"])


def go1(folder: Path) -> tuple[Ours, MuJoCo]:
    path = folder / "unitree_go1" / "scene.xml"
    robot = kl.load(path)
    q = at_home(robot)
    feet = shapes(robot, "sphere", "calf")
    sim = Simulator(robot, DT, ground=Plane(0.8), contacts=feet, motors="model", iterations=ITERATIONS)
    target = q[7:].copy()
    q[2] += 0.02  # the keyframe stands a little in the ground
    return Ours(sim, q, target), MuJoCo(path)


def cassie(folder: Path) -> tuple[Ours, MuJoCo]:
    path = folder / "agility_cassie" / "scene.xml"
    robot = kl.load(path)
    q = robot.close(at_home(robot))
    feet = shapes(robot, "capsule", "foot")
    joints = [a.joints[0] for a in robot.mechanism.actuators]
    gains = [STANCE[j.split("-", 1)[1]] for j in joints]
    servos = [Motor(j, "position", kp, 0.03 * kp) for j, kp in zip(joints, gains, strict=True)]
    sim = Simulator(robot, DT, ground=Plane(1.0), contacts=feet, motors=servos, iterations=ITERATIONS)
    top = robot.tree.top
    target = np.array([q[top.q_of[top.joint_index[j]]][0] for j in joints])
    return Ours(sim, q, target), MuJoCo(path, gains)


def mini_cheetah() -> Ours:
    robot = kl.robots.load("mini_cheetah")
    joints = [n for n in robot.independent_names if n.endswith("link_joint")]
    feet = [f for f in robot.frame_names if f.endswith("foot_contact")]
    pose = {"abad": 0.0, "hip": -0.8, "knee": 1.6}
    u = np.array([pose[j.split("_")[1]] for j in joints])
    sim = Simulator(
        robot, DT, ground=Plane(0.8), contacts=feet, motors=[Motor(j, "position", 60.0, 1.0) for j in joints],
        iterations=ITERATIONS,
    )  # fmt: skip
    q = posed(robot, dict(zip(joints, u, strict=True)))
    q[2] -= min(robot.frame_pose(q, f)[2, 3] for f in feet)
    return Ours(sim, q, u)


def report(name: str, ours: Ours, theirs: MuJoCo | None) -> str:
    """Two lines: how long a step takes, and how exactly it is solved."""
    cases = {"kinloop": ours.run} | ({"mujoco": theirs.run} if theirs else {})
    with one_core():
        seconds = seconds_per_call(cases, TURNS, budget=0.0)
    mine = seconds["kinloop"] / STEPS / STATES
    contacts = len(ours.sim.contact.candidates) if ours.sim.contact else 0
    line = f"{name:14s} {ours.operations:6d} operations  {contacts} contacts ({ours.touching:.1f} pressing)"
    line += f"  {1e6 * mine:7.2f} us/step"
    line += f"  {1e-3 / mine:8.1f} k steps/s"
    if theirs:
        other = seconds["mujoco"] / STEPS
        line += f"   mj_step {1e6 * other:7.2f} us ({theirs.touching:.1f} contacts)   {other / mine:5.1f} times"
    line += f"\n{'':14s} residual {ours.residual:.1e} m/s, deepest {ours.gap:.1e} m, loops {ours.loop:.1e} m"
    return f"{line}, status {ours.status}"


def main(folder: Path | None) -> None:
    print(f"dt {DT} s, {STATES} states, {STEPS} steps per call, {ITERATIONS} contact sweeps, one thread")
    print(report("mini_cheetah", mini_cheetah(), None))
    if folder is not None:
        for name, make in (("go1", go1), ("cassie", cassie)):
            print(report(name, *make(folder)))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
