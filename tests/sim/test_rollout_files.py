"""Files of rollouts: what is not one is refused by one kind of error; what is damaged is never taken for whole."""

from __future__ import annotations

import io
import json
import os
import zipfile

import numpy as np
import pytest

from kinloop import sim
from kinloop.errors import MethodError, NotARollout
from kinloop.sim import Simulator, rollout_files
from kinloop.sim.rollout_files import read_rollout, write_rollout
from tests.sim.mechanisms import pendulum

ENDINGS = ["npz", "parquet"]


def saved(folder, ending):
    if ending == "parquet":
        pytest.importorskip("pyarrow", reason="pyarrow is not installed: nothing to write Parquet with")
    run = Simulator(pendulum(), 1e-2).rollout(np.array([[0.3], [0.4]]), [[1.0], [-1.0]], steps=12, every=3)
    return run, run.save(folder / f"run.{ending}")


def mutated(data: bytes, rng: np.random.Generator) -> bytes:
    """Bytes changed, cut off, taken out, doubled or put in."""
    x = bytearray(data)
    for _ in range(int(rng.integers(1, 4))):
        a, b = sorted(rng.integers(0, len(x) + 1, size=2))
        match rng.integers(6):
            case 0:
                x[a % len(x)] ^= 1 << int(rng.integers(8))
            case 1:
                x[a % len(x)] = int(rng.integers(256))
            case 2:
                x = x[: max(1, a)]
            case 3:
                x = x[:a] + x[min(b, a + 20) :] or bytearray(b"x")
            case 4:
                x = x[:b] + x[a:b][:50] + x[b:]
            case _:
                x = x[:a] + rng.bytes(int(rng.integers(1, 20))) + x[a:]
    return bytes(x)


@pytest.mark.parametrize("ending", ENDINGS)
def test_mutated_files_are_refused_or_whole(tmp_path, ending):
    run, path = saved(tmp_path, ending)
    data, rng, refused = path.read_bytes(), np.random.default_rng(0), 0
    for _ in range(300):
        path.write_bytes(mutated(data, rng))
        try:
            found = sim.load(path)
        except NotARollout as error:
            refused += 1
            assert str(error).startswith(f"'run.{ending}' ") and "\n" not in str(error)
            continue
        assert found.reasons == run.reasons and found.final.made_by == run.final.made_by
        for name, x in run.arrays().items():
            np.testing.assert_array_equal(found.arrays()[name], x, strict=True)
    assert refused > 150, "most of what is mutated is damaged"


@pytest.mark.parametrize("ending", ENDINGS)
def test_what_is_no_file_is_refused_at_once(tmp_path, ending):
    _, path = saved(tmp_path, ending)
    whole = path.read_bytes()
    path.unlink()
    with pytest.raises(NotARollout, match=f"'run.{ending}' is not there; give a saved rollout"):
        sim.load(path)
    path.mkdir()
    with pytest.raises(NotARollout, match=f"'run.{ending}' is no file"):
        sim.load(path)
    path.rmdir()
    os.mkfifo(path)  # whoever opens it waits for a writer
    with pytest.raises(NotARollout, match="is no file"):
        sim.load(path)
    path.unlink()
    for junk in (b"", b"x", whole[:-1], whole[: len(whole) // 2], np.random.default_rng(1).bytes(5000)):
        path.write_bytes(junk)
        with pytest.raises(NotARollout, match=rf"'run.{ending}' is (no rollout|not a Parquet file).*damaged"):
            sim.load(path)


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda arrays, about: arrays.pop("stopped"), "stopped"),
        (lambda arrays, about: arrays.pop("peak_turning"), "peak_turning"),
        (lambda arrays, about: about.pop("single"), "single"),
        (lambda arrays, about: arrays.update(final_q=arrays["final_q"][:, 0]), r"'final_q' .* has the shape \(2,\)"),
        (lambda arrays, about: arrays.update(final_memory=arrays["final_memory"][:1]), "final_memory"),
        (lambda arrays, about: about.update(reasons=["", 7]), "reasons in words"),
        (lambda arrays, about: about.update(reasons=[""]), "reasons in words"),
        (lambda arrays, about: about.update(made_by=["a", "b"]), "expected 5, got 2"),
        (
            lambda arrays, about: about.update(made_by=["a", "b", "c", "d", [9]]),
            "other velocities than are independent",
        ),
        (lambda arrays, about: about.update(entries=[3]), "entries|convert|iterable|sequence"),
        (lambda arrays, about: about["entries"].update(q=["a", "b", "c", "d"]), "other entries are named"),
        (lambda arrays, about: about.update(single=0), "whether this is one row"),
        (lambda arrays, about: about.update(info=[]), "whether this is one row"),
    ],
)
def test_what_does_not_fit_together_is_refused(tmp_path, change, words, ending):
    _, path = saved(tmp_path, ending)
    arrays, about = read_rollout(path)
    change(arrays, about)
    if ending == "parquet" and "single" not in about:
        about["single"] = None  # the table needs it
        words = "whether this is one row"
    write_rollout(path, arrays, about)
    with pytest.raises(NotARollout, match=f"does not fit together .*{words}"):
        sim.load(path)


def test_only_parquet_needs_pyarrow(tmp_path, monkeypatch):
    def missing():
        raise MethodError("pyarrow is missing")

    monkeypatch.setattr(rollout_files, "arrow", missing)
    run, path = saved(tmp_path, "npz")
    assert np.array_equal(sim.load(path).q, run.q)
    with pytest.raises(MethodError, match="pyarrow is missing"):
        run.save(tmp_path / "run.parquet")


def test_another_description_is_noticed(tmp_path):
    _, path = saved(tmp_path, "npz")
    arrays, about = read_rollout(path)
    about["digest"] = "0" * 32
    with path.open("wb") as file:
        np.savez(file, **arrays, about=np.array(json.dumps(about)))
    with pytest.raises(NotARollout, match="its content does not have the digest that was written with it"):
        sim.load(path)


def test_small_files_take_little_memory(tmp_path):
    """Headers and directories that promise terabytes: refused before memory is taken."""
    path, header = tmp_path / "run.npz", io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (10**12,)})
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("t.npy", header.getvalue() + bytes(80))
    with pytest.raises(NotARollout, match="ValueError while reading it"):
        sim.load(path)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("t.npy", header.getvalue() + bytes(10**6))
    size, lie = (10**6 + len(header.getvalue())).to_bytes(4, "little"), (2**32 - 2).to_bytes(4, "little")
    path.write_bytes(packed.getvalue().replace(size, lie))
    with pytest.raises(NotARollout, match="while reading it"):
        sim.load(path)
