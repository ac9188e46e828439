"""The table of a run."""

from types import SimpleNamespace

import numpy as np

from kinloop.cli.run_summary import page_notes, stops, summary
from kinloop.cli.timed_run import Run


def lines(**changes):
    rollout = SimpleNamespace(
        t=np.array([0.1, 0.2]), stopped=np.array([np.inf, np.inf]), single=False, records={"energy", "loop_error"},
        substeps=np.array([0, 0]), singular=np.array([False, False]), status=np.array([1, 1]),
        peaks={"loop_error": np.array([2e-15, 4e-15]), "turning": np.array([3.0, 1.0])},
    )  # fmt: skip
    data = {"energy": np.array([[3.0, 2.0], [3.0, 1.0]]), "loop_error": np.array([[[1e-15], [2e-15]]] * 2)}
    rollout.__dict__.update(changes)
    made = type("Rollout", (SimpleNamespace,), {"__getitem__": lambda self, name: data[name]})(**rollout.__dict__)
    sim = SimpleNamespace(robot=SimpleNamespace(name="robot"), dt=1e-3, contact=None, ground=None)
    table = summary(Run(sim, made, 1.5, 2.0, 200, 2), ("motors", 3, "servos"))
    columns = [[str(cell) for cell in column.cells] for column in table.columns]
    return {name: (value, unit) for name, value, unit in zip(*columns, strict=True)}


def test_a_run_is_summed_up():
    found = lines()
    assert found["rows"] == ("2", "simulated side by side")
    assert found["rate"] == ("200", "steps/s")
    assert found["motors"] == ("3", "servos")
    assert found["energy at start, at end"] == ("3, 2", "J, first row")
    assert found["loops open by at most"] == ("4.0e-15", "m, rad"), "of all steps, not of the recorded ones"
    assert found["joints turned at most at"] == ("3", "rad/s")
    assert not {"shorter steps", "through singular", "stopped"} & set(found)


def test_what_went_wrong_is_told():
    found = lines(
        singular=np.array([True, False]), stopped=np.array([np.inf, 0.15]), substeps=np.array([12, 3]),
        status=np.array([6, 4]), peaks={"imbalance": np.array([0.2, 0.1]), "turning": np.array([3.0, 1.0])},
    )  # fmt: skip
    assert found["energy unexplained"] == ("2.0e-01", "J at most, in row 0")
    assert found["energy out of balance"] == ("1", "rows that are not to be trusted")
    assert found["shorter steps"] == ("15", "taken where dt was too long")
    assert found["through singular"] == ("1", "rows that passed where a loop loses rank")
    assert found["stopped"] == ("1", "rows, from 0.15 s on: 1 diverged")


def test_rows_say_why_they_stopped():
    def of(*reasons):
        return Run(None, SimpleNamespace(reasons=reasons), 1.0, 1.0, 1, len(reasons))

    assert stops(of("", "")) == []
    assert stops(of("", "stopped at t = 1 s")) == ["row 1 stopped at t = 1 s"]
    many = stops(of(*["stopped"] * 9))
    assert many[:5] == [f"row {k} stopped" for k in range(5)]
    assert many[5].startswith("and 4 rows more") and len(many) == 6


def test_a_page_says_what_its_motion_does_not_show():
    peaks = {"loop_error": np.array([2e-15]), "contact_force": np.array([9851.2, 1.0])}
    run = Run(SimpleNamespace(dt=1e-3), SimpleNamespace(peaks=peaks, reasons=("stopped", "too")), 1.0, 1.0, 1, 2)
    said = "steps of 0.001 s; contact force at most 9,851.2 N; loops open by at most 2.0e-15; stopped"
    assert page_notes(run) == said
