"""What cannot be written is told before the work: nothing is simulated, nothing is made."""

import os

import pytest

from kinloop.cli import bench_command, demo_command, sim_command, view_command
from kinloop.cli.output_paths import writable


def test_what_can_be_written_is_left_alone(tmp_path):
    assert writable(tmp_path / "deep" / "er" / "file.html") == tmp_path / "deep" / "er" / "file.html"
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "there").write_text("x")
    assert writable(tmp_path / "there") == tmp_path / "there"
    assert (tmp_path / "there").read_text() == "x"


def test_what_cannot_be_written_is_an_error(tmp_path):
    (tmp_path / "file").write_text("")
    for path, error in (
        (tmp_path, IsADirectoryError),
        (tmp_path / "file" / "a.html", NotADirectoryError),
        (tmp_path / "file" / "deep" / "a.html", NotADirectoryError),
    ):
        with pytest.raises(error):
            writable(path)
    (tmp_path / "lost").symlink_to(tmp_path / "nowhere")
    with pytest.raises(NotADirectoryError):
        writable(tmp_path / "lost" / "a.html")


def test_places_without_permission_are_an_error(tmp_path, monkeypatch):
    """Asked of the system: the tests may run as root, who may do everything."""
    asked = []
    monkeypatch.setattr(os, "access", lambda path, mode: asked.append((path, mode)))
    with pytest.raises(PermissionError):
        writable(tmp_path / "deep" / "a.html")
    (tmp_path / "b.html").write_text("")
    with pytest.raises(PermissionError):
        writable(tmp_path / "b.html")
    assert asked == [(tmp_path, os.W_OK | os.X_OK), (tmp_path / "b.html", os.W_OK)]


@pytest.mark.parametrize(
    "command",
    [
        ["demo", "--out", "{file}/out"],
        ["demo", "--out", "{file}"],
        ["sim", "four_bar", "--out", "{file}"],
        ["sim", "four_bar", "--html", "{folder}"],
        ["sim", "four_bar", "--plot", "{file}/a.png"],
        ["sim", "four_bar", "--save", "{file}/a.npz"],
        ["view", "four_bar", "--html", "{file}/a.html"],
        ["bench", "--json", "{folder}"],
        ["bench", "--html", "{file}/a.html"],
    ],
)
def test_commands_refuse_before_they_work(run, monkeypatch, tmp_path, command):
    def work(*args, **options):
        raise AssertionError("the work began")

    for module, name in (
        (demo_command, "landing_tello"), (sim_command, "find"), (view_command, "find"), (bench_command, "run"),
    ):  # fmt: skip
        monkeypatch.setattr(module, name, work)
    (tmp_path / "file").write_text("")
    (tmp_path / "folder.html").mkdir()
    places = {"file": tmp_path / "file", "folder": tmp_path / "folder.html"}
    status, out, err = run(*(word.format(**places) for word in command))
    assert (status, out) == (1, "")
    assert err.startswith("error: cannot read or write ") and err.count("\n") == 1
