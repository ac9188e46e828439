"""Operation counts are exact and only go down: a change that raises one has to say why."""

import importlib.metadata

import pytest

import kinloop as kl

MEASURED = {
    "mini_cheetah": 4153,
    "mit_humanoid": 8946,
    "tello_with_arms": 8381,
    "jvrc1": 12097,
    "four_bar_chain": 6726,
}
REQUIRED = {"mini_cheetah": 6300, "mit_humanoid": 11600, "tello_with_arms": 14000, "four_bar_chain": 8100}


def operations(robot: kl.Robot, method: str | None = None) -> int:
    return robot.compile("forward_dynamics", method).operations["total"]


@pytest.mark.parametrize("name", MEASURED)
def test_forward_dynamics_takes_no_more_operations_than_measured(name):
    options = {"links": 20} if name == "four_bar_chain" else {}
    count = operations(kl.robots.load(name, **options))
    assert count <= MEASURED[name] <= REQUIRED.get(name, MEASURED[name])


def test_exact_rotors_cost_little_more_than_ignoring_them():
    robot = kl.robots.load("mini_cheetah")
    assert operations(robot) <= 1.35 * operations(robot, "approximate_aba")


@pytest.mark.parametrize(("file", "measured"), [("go1.urdf", 3869), ("talos_full_v2.urdf", 13949)])
def test_trees_take_no_more_operations_than_measured(file, measured):
    try:
        files = importlib.metadata.distribution("example-robot-data").files or []
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("the robots come with the example-robot-data wheel: pip install kinloop[peers]")
    path = next(str(f.locate()) for f in files if str(f).endswith(file))
    robot = kl.load(path, floating_base=True)
    assert operations(robot) <= measured <= {"go1.urdf": 4700, "talos_full_v2.urdf": 16700}[file]
