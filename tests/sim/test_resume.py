"""Saved, loaded, continued: to the bit what goes on without having been saved; and nowhere else."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import kinloop as kl
from kinloop.errors import MethodError
from kinloop.sim import ContactPoint, HeightField, Motor, Plane, Simulator, Status, box_corners
from tests.sim.mechanisms import SIZE, box_on, crank_rocker, free_box, leg, leg_states, level, pendulum, started

ENDINGS = ["npz", "parquet"]


def linkage(integrator, speeds=(20.0, 3.0)):
    """Two rows of a linkage under a motor."""
    robot, q, v = started("crank_joint", 1.0)
    sim = Simulator(robot, 1e-3, integrator=integrator)
    return sim, sim.state(q, v * np.array(speeds)[:, None]), np.array([0.4])


def touching():
    """Boxes of which one slides and one falls."""
    sim = box_on(Plane(0.5))
    q = np.stack([level(0.05), level(0.06)])
    return sim, sim.state(q, np.array([[0.0, 0, 0, 1.0, 0, 0], [0.3, 1.0, 0, 0, 0, -2.0]])), np.zeros(sim.nu)


def on_a_leg():
    """A leg above the ground whose knee runs into its stop."""
    robot = leg(friction=0.1)
    sim = Simulator(robot, 1e-3, ground=Plane(), contacts=["foot"])
    return sim, sim.state(*leg_states(robot, 3)), np.zeros(sim.nu)


def in_parts():
    """A row that needs shorter steps beside one that does not."""
    return linkage("semi_implicit", (200.0, 3.0))


def stopped():
    """A row that diverges beside one that does not."""
    sim = Simulator(pendulum(), 1e-3)
    return sim, sim.state(np.zeros((2, 1)), np.ones((2, 1))), np.array([[[0.0]], [[1e12]]])


CASES = {
    "semi_implicit": lambda: linkage("semi_implicit"),
    "rk4": lambda: linkage("rk4"),
    "adaptive": lambda: linkage("adaptive"),
    "contact": touching,
    "joint stops": on_a_leg,
    "in parts": in_parts,
    "stopped": stopped,
}


def same(a, b):
    for name, x in a.arrays().items():
        np.testing.assert_array_equal(b.arrays()[name], x, err_msg=name, strict=True)
    assert a.reasons == b.reasons


@pytest.mark.sample(3)
@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("case", CASES)
def test_a_saved_rollout_goes_on_as_the_unsaved_one(tmp_path, case, ending):
    if ending == "parquet":
        pytest.importorskip("pyarrow", reason="pyarrow is not installed: nothing to write Parquet with")
    sim, state, u = CASES[case]()
    first = sim.rollout(state=state, controls=u, steps=30, every=10)
    if case == "in parts":
        assert first.final.pace[0, 0] > 1 and first.final.pace[1, 0] == 1
    if case == "stopped":
        assert first.final.status.tolist() == [Status.RUNNING, Status.DIVERGED]
    loaded = kl.sim.load(first.save(tmp_path / f"run.{ending}"))
    rest = sim.rollout(state=loaded.final, controls=u, steps=25)
    same(sim.rollout(state=first.final, controls=u, steps=25), rest)
    if sim.integrator != "adaptive":
        whole = sim.rollout(state=state, controls=u, steps=55)
        np.testing.assert_array_equal(rest.q, whole.q[:, 30:], err_msg="as if it had never stopped")
        for a, b in zip(sim.step(first.final).arrays(), sim.step(loaded.final).arrays(), strict=True):
            np.testing.assert_array_equal(a, b)


def test_states_go_on_only_where_their_memory_means_what_it_says():
    sim, state, _ = linkage("semi_implicit")
    final, robot = sim.rollout(state=state, steps=5).final, sim.robot

    def refused(other, words):
        for go_on in (lambda: other.rollout(state=final, steps=1), lambda: other.step(final)):
            with pytest.raises(MethodError, match=words):
                go_on()

    refused(Simulator(robot, integrator="rk4"), "the memory of the semi_implicit integrator, not of rk4; begin anew")
    other = Simulator(robot, motors=["rocker_joint"])
    refused(other, "the memory of a simulator with other motors or forces; begin anew")
    refused(Simulator(pendulum()), "the state is one of 'crank_rocker', the simulator's robot is 'pendulum'")
    bodies = [replace(b, mass=2.0 * b.mass) for b in robot.mechanism.bodies]
    heavy = replace(robot.mechanism, bodies=tuple(bodies)).build()
    refused(Simulator(heavy), "the state is one of another 'crank_rocker', with other parameters, the simulator")
    Simulator(robot, 5e-4).rollout(state=final, steps=1)  # another step length is none of them

    box = free_box(2.0, *SIZE)
    few = Simulator(box, ground=Plane(), contacts=[ContactPoint("box", (0, 0, -0.05))])
    many = Simulator(box, ground=Plane(), contacts=box_corners("box", SIZE))
    touched = few.rollout(level(0.05), None, steps=3).final
    with pytest.raises(MethodError, match=r"memory of \d+ numbers, and \d+ are needed with these contacts"):
        many.rollout(state=touched, steps=1)
    many.rollout(state=many.state(touched.q, qd=touched.qd, t=touched.t), steps=1)


def test_a_state_that_remembers_nothing_fits_every_simulator_of_its_robot():
    sim, state, u = linkage("semi_implicit")
    for integrator in ("rk4", "adaptive"):
        other = Simulator(sim.robot, 1e-3, integrator=integrator)
        same(
            other.rollout(state=state, controls=u, steps=3),
            other.rollout(state=other.state(state.q, qd=state.qd), controls=u, steps=3),
        )


def hills(x, y):
    return 0.1 * x * y


def simulators():
    yield Simulator(crank_rocker(), 2e-3, motors=[Motor("crank_joint", "velocity", kd=2.0)], limits=False)
    yield Simulator(crank_rocker("rocker_joint"), 2e-3, integrator="rk4", substeps=3)
    yield Simulator(crank_rocker(), 2e-3, integrator="adaptive", tolerance=1e-8)
    yield Simulator(
        leg(), ground=HeightField(hills), contacts=[ContactPoint("shank", (0, 0, -0.2), 0.01)], iterations=7
    )


@pytest.mark.parametrize("number", range(4))
def test_simulators_can_be_copied_and_pickled(number):
    sim = list(simulators())[number]
    for other in (pickle.loads(pickle.dumps(sim)), copy.deepcopy(sim)):
        assert other is not sim and (other.dt, other.method.key) == (sim.dt, sim.method.key)
        same(sim.rollout(steps=8), other.rollout(steps=8))
        assert other.maker == sim.maker, "what one has begun the other may go on with"


def test_simulators_go_to_other_processes(tmp_path):
    """To another interpreter, where its kernels come from the cache, and to the workers of a pool that is spawned."""
    sim = Simulator(crank_rocker(), 2e-3)
    (tmp_path / "sim.pickle").write_bytes(pickle.dumps(sim))
    script = tmp_path / "worker.py"
    script.write_text(
        "import multiprocessing, pickle, sys\n"
        "def rolled(sim):\n"
        "    return sim.rollout(steps=6).final.q.tobytes().hex()\n"
        "if __name__ == '__main__':\n"
        "    sim = pickle.load(open(sys.argv[1], 'rb'))\n"
        "    with multiprocessing.get_context('spawn').Pool(1) as pool:\n"
        "        print(rolled(sim), *pool.map(rolled, [sim]))\n"
    )
    out = subprocess.run([sys.executable, script, tmp_path / "sim.pickle"], capture_output=True, text=True, check=True)
    mine = sim.rollout(steps=6).final.q.tobytes().hex()
    assert out.stdout.split() == [mine, mine]
