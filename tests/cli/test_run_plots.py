"""The picture of a run: panels for what there is."""

import numpy as np
import pytest

import kinloop as kl
from kinloop.cli import run_plots
from kinloop.cli.run_plots import checked_plot_path, panels, plot_run
from kinloop.cli.sim_command import RECORD, RECORD_CONTACT
from kinloop.cli.timed_run import run
from kinloop.errors import MethodError
from kinloop.sim import Motor, Plane, Simulator


def test_a_linkage_has_positions_energies_and_loops(tmp_path):
    robot = kl.robots.load("four_bar")
    done = run(Simulator(robot, 1e-3), robot.neutral(), None, None, 0.02, RECORD)
    assert panels(done) == [run_plots.positions, run_plots.energies, run_plots.loops]
    path = plot_run(done, tmp_path / "deep" / "run.svg")
    text = path.read_text(encoding="utf-8")
    assert all(title in text for title in ("Independent coordinates", "Energy", "Loops open by"))


def test_a_landing_robot_has_contacts_and_motors(tmp_path):
    robot = kl.robots.load("mini_cheetah")
    joint = robot.independent_names[-1]
    sim = Simulator(
        robot, 1e-3, ground=Plane(), contacts=["FL_foot_contact"], motors=[Motor(joint, "position", 10.0, 0.1)]
    )
    done = run(sim, robot.neutral(), None, np.zeros(1), 0.02, (*RECORD, *RECORD_CONTACT))
    assert panels(done) == [
        run_plots.heights, run_plots.energies, run_plots.contact_forces, run_plots.loops, run_plots.motor_forces,
    ]  # fmt: skip
    assert plot_run(done, tmp_path / "run.png").read_bytes().startswith(b"\x89PNG")


def test_pictures_are_png_pdf_or_svg(tmp_path):
    assert checked_plot_path(tmp_path / "a.pdf") == tmp_path / "a.pdf"
    with pytest.raises(MethodError, match=r"cannot write a plot to 'a.csv'; give a name that ends in .png"):
        checked_plot_path(tmp_path / "a.csv")
