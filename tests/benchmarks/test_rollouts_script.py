"""benchmarks/rollouts.py: what it times stands, swings and passes as it says."""

import numpy as np

import kinloop as kl
from benchmarks import rollouts
from kinloop.sim import Status


def test_mini_cheetah_stands_on_four_feet():
    sim, state, u = rollouts.standing("mini_cheetah", kl.robots.load("mini_cheetah"))
    run = sim.rollout(state=state, controls=u, steps=5, record=("contact_force",))
    assert np.all(run.contact_force[0, -1, :, 2] > 1.0) and run.status[0] == Status.RUNNING
    assert sim.step(state, u).h == rollouts.DT


def test_lines_say_what_is_asked_and_whether_it_holds(monkeypatch, capsys):
    monkeypatch.setattr(rollouts, "ROWS", 8)
    monkeypatch.setattr(rollouts, "STEPS", 100)
    monkeypatch.setattr(rollouts, "least", lambda **calls: {name: call() and 1.0 for name, call in calls.items()})
    rollouts.threads("four_bar", *rollouts.swinging("four_bar"))
    rollouts.swings()
    first, second = capsys.readouterr().out.splitlines()
    assert "1.00 >= 1.8" in first and first.endswith("MISSED")
    assert "8 of 8 rows pass" in second and second.endswith("yes")
