"""What `import kinloop as kl` offers: public names only, rooms when first asked for."""

from __future__ import annotations

import subprocess
import sys

import pytest

import kinloop as kl


def test_dir_lists_public_names_only_and_all_of_them_exist():
    assert dir(kl) == sorted(kl.__all__)
    for name in dir(kl):
        assert not name.startswith("_") and getattr(kl, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'Robots'"):
        kl.Robots  # noqa: B018


def test_rooms_are_imported_when_first_asked_for():
    program = (
        "import sys, kinloop as kl\n"
        "late = ['kinloop.' + n for n in ('control', 'viewer', 'sim', 'io', 'robots')]\n"
        "assert not set(late) & set(sys.modules), set(late) & set(sys.modules)\n"
        "assert kl.control.MotorSpace and kl.viewer.record\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_name_of_the_zoo_is_no_file_and_the_error_says_where_it_is(tmp_path):
    with pytest.raises(kl.ModelError, match=r"there is no file 'tello'; .* is kinloop\.robots\.load\('tello'\)"):
        kl.load("tello")
    with pytest.raises(kl.ModelError, match=r"there is no file 'my_robot'; give a model file, or load a robot of the"):
        kl.load("my_robot")
    with pytest.raises(kl.ModelError, match=r"'robot\.urdf' cannot be read"):
        kl.load(tmp_path / "robot.urdf")
