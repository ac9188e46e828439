"""Before machine code reads XLA's call frames, one of them is looked at."""

import re

import pytest

jax = pytest.importorskip("jax")
xla_frames = pytest.importorskip("kinloop.learn.xla_frames")


def test_the_jax_that_handlers_were_written_for_is_known():
    if jax.__version__ == "0.10.2":
        assert xla_frames.usable()


@pytest.mark.parametrize("name", ["frame", "buffer", "api"])
def test_frames_that_are_shorter_are_found_out(name, monkeypatch):
    monkeypatch.setitem(xla_frames._SIZES, name, 10_000)
    probe = xla_frames.Probe(f"kinloop_probe_{name}")
    KEPT.append(probe)
    assert re.fullmatch(f"the {name} has [0-9]+ bytes, 10000 are known", probe.wrong())


def test_another_version_is_found_out(monkeypatch):
    class Later:
        def __getattr__(self, name):
            return 7 if name == "MAJOR" else getattr(xla_frames_frame, name)

    xla_frames_frame = xla_frames.Frame
    frame = Later()
    probe = xla_frames.Probe("kinloop_probe_version")
    KEPT.append(probe)
    compare = xla_frames._compare

    def compared(at, given):
        monkeypatch.setattr(xla_frames, "Frame", frame)
        try:
            return compare(at, given)
        finally:
            monkeypatch.setattr(xla_frames, "Frame", xla_frames_frame)

    monkeypatch.setattr(xla_frames, "_compare", compared)
    assert "version 0.3 of XLA's interface, 7.3 is known" in probe.wrong()


def test_what_is_not_known_is_said_once(monkeypatch):
    def broken():
        raise AttributeError("module 'jax' has no attribute 'ffi'")

    monkeypatch.setattr(xla_frames, "_probe", broken)
    with pytest.warns(RuntimeWarning, match="calls back into Python instead, which is right but slower"):
        assert not xla_frames.usable.__wrapped__()


KEPT = []  # XLA knows probes by their addresses
