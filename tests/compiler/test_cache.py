"""A cache that is broken in any way costs time, never a wrong result and never an error."""

from __future__ import annotations

import contextlib
import errno
import json
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from kinloop import scalar as sc
from kinloop.compiler import cache, compile_function, load_or_compile
from kinloop.compiler.build import Build
from kinloop.compiler.run import compilation
from kinloop.compiler.run.compilation import compile_text
from tests.compiler.graphs import random_function

Q, V = np.linspace(-1, 1, 4), np.linspace(0.2, 0.9, 3)
ROOT = hasattr(os, "geteuid") and os.geteuid() == 0

WORKER = """
import hashlib, sys
import numpy as np
{before}
from kinloop.compiler import load_or_compile
from tests.compiler.graphs import random_function
kernel = load_or_compile(("worker", 5), lambda: random_function(5))
q, v = np.linspace(-1, 1, 4), np.linspace(0.2, 0.9, 3)
one = kernel(q, v)
many = kernel(np.tile(q, (9, 1)), v)
print(hashlib.sha256(b"".join(x.tobytes() for x in (*one, *many))).hexdigest())
"""


def environment():
    paths = [os.path.join(os.getcwd(), "src"), os.getcwd(), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def start(before=""):
    code = WORKER.format(before=before)
    return subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment()
    )


def finish(process):
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    return out.strip()


def run(seed=0):
    """A kernel's answer as bytes, made or loaded now."""
    made = load_or_compile(("cache test", seed), lambda: random_function(seed))
    return b"".join(x.tobytes() for x in made(Q, V))


@pytest.fixture
def compilations(monkeypatch):
    count = []

    def counted(text, target):
        count.append(1)
        return compile_text(text, target)

    monkeypatch.setattr(compilation, "compile_text", counted)
    return count


def files(folder):
    return sorted(folder.glob("*.kernel"))


def test_a_second_use_does_not_compile(own_cache, compilations):
    first = run()
    assert run() == first and len(compilations) == 1
    assert len(files(own_cache)) == 1 and not list(own_cache.glob(".*"))


def test_equal_graphs_share_a_kernel_and_different_ones_do_not(own_cache, compilations):
    for seed in (1, 1, 2):
        compile_function(random_function(seed))(Q, V)
    assert len(compilations) == 2
    compile_function(random_function(1), dtype="float32")(Q, V)
    assert len(compilations) == 3
    compile_function(random_function(1), cache=False)(Q, V)
    assert len(compilations) == 4 and len(files(own_cache)) == 3


def test_the_directory_and_files_are_private(own_cache):
    run()
    assert own_cache.stat().st_mode & 0o777 == 0o700
    assert files(own_cache)[0].stat().st_mode & 0o777 == 0o600
    own_cache.chmod(0o755)
    run(1)
    assert own_cache.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702, 0o1777])
def test_a_folder_that_others_may_write_to_is_refused(own_cache, compilations, mode):
    """Whoever could write there may have put links and files there: it is neither read, written nor repaired."""
    first = run()
    (file,) = files(own_cache)
    own_cache.chmod(mode)
    with pytest.warns(RuntimeWarning, match=r"kernels' is not used: others may write to it; remove it"):
        assert run() == first and len(compilations) == 2
    assert cache.load(file.stem) is None
    assert not cache.store("0" * 64, {}, b"")
    assert files(own_cache) == [file] and own_cache.stat().st_mode & 0o7777 == mode
    assert cache.info()["refused"] == "others may write to it"
    own_cache.chmod(0o700)
    assert run() == first and len(compilations) == 2
    assert cache.info()["refused"] == ""


@pytest.mark.parametrize("kind", ["fifo", "folder", "socket", "device"])
def test_what_is_no_file_does_not_stop_a_reader(own_cache, compilations, kind):
    first = run()
    (file,) = files(own_cache)
    file.unlink()
    with contextlib.ExitStack() as stack:
        if kind == "fifo":
            os.mkfifo(file, 0o600)
        elif kind == "folder":
            file.mkdir(mode=0o700)
        elif kind == "device":
            file.symlink_to("/dev/zero")
        else:
            end = stack.enter_context(socket.socket(socket.AF_UNIX))
            here = os.open(own_cache, os.O_RDONLY)
            stack.callback(os.close, here)
            end.bind(f"/proc/self/fd/{here}/{file.name}")  # a socket's path must be short
        reader = threading.Thread(target=lambda: cache.load(file.stem), daemon=True)
        reader.start()
        reader.join(10)
        assert not reader.is_alive(), f"a {kind} in the cache stops its reader"
        assert run() == first and len(compilations) == 2


@pytest.mark.parametrize("keep", [0, 1, 7, 8, 39, 40, 47, 48, 200, -1])
def test_a_truncated_file_is_replaced(own_cache, compilations, keep):
    first = run()
    (file,) = files(own_cache)
    whole = file.read_bytes()
    file.write_bytes(whole[:keep])
    assert run() == first and len(compilations) == 2
    assert len(file.read_bytes()) == len(whole)
    assert run() == first and len(compilations) == 2


def test_every_flipped_bit_is_noticed(own_cache):
    run()
    (file,) = files(own_cache)
    whole = file.read_bytes()
    rng = np.random.default_rng(0)
    for place in [*range(60), *rng.integers(60, len(whole), 100)]:
        broken = bytearray(whole)
        broken[place] ^= 1 << int(rng.integers(8))
        file.write_bytes(broken)
        assert cache.load(file.stem) is None
        assert not file.exists()
    file.write_bytes(whole)
    assert cache.load(file.stem) is not None


def test_a_flipped_bit_costs_a_compilation_only(own_cache, compilations):
    first = run()
    (file,) = files(own_cache)
    broken = bytearray(file.read_bytes())
    broken[-300] ^= 4
    file.write_bytes(broken)
    assert run() == first and len(compilations) == 2


def test_a_renamed_file_does_not_serve_another_key(own_cache):
    run()
    (file,) = files(own_cache)
    other = file.with_name("0" * 64 + ".kernel")
    file.rename(other)
    assert cache.load("0" * 64) is None


def test_an_intact_file_with_nonsense_inside_is_not_an_error(own_cache, compilations):
    """Only the owner can write such a file; still, it must not stop him."""
    first = run()
    (file,) = files(own_cache)
    good, code = cache.load(file.stem)
    for metadata in (
        {},
        [],
        7,
        {"lanes": "many"},
        {**good, "outputs": 3},
        {**good, "scratch": None},
        {**good, "code": 1},
        {**good, "code": [1]},
    ):
        file.write_bytes(cache._pack(file.stem, metadata, code))
        assert run() == first


@pytest.mark.skipif(not ROOT, reason="only root can give files away")
def test_foreign_files_and_directories_are_not_trusted(own_cache, compilations):
    first = run()
    (file,) = files(own_cache)
    os.chown(file, 12345, 12345)
    assert run() == first and len(compilations) == 2
    assert file.stat().st_uid == os.geteuid()
    os.chown(own_cache, 12345, 12345)
    assert run() == first and len(compilations) == 3
    assert run() == first and len(compilations) == 4


def test_files_that_others_may_write_and_links_are_not_trusted(own_cache, compilations, tmp_path):
    first = run()
    (file,) = files(own_cache)
    file.chmod(0o666)
    assert run() == first and len(compilations) == 2
    assert file.stat().st_mode & 0o777 == 0o600
    elsewhere = tmp_path / "elsewhere"
    file.rename(elsewhere)
    file.symlink_to(elsewhere)
    assert run() == first and len(compilations) == 3
    assert not file.is_symlink()


def test_an_unwritable_place_is_not_an_error(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("in the way")
    places = [str(tmp_path / "file" / "below"), "/proc/nowhere", "/dev/null"]
    expected = run()
    for place in places:
        monkeypatch.setenv("KINLOOP_CACHE_DIR", place)
        assert run() == expected
        assert cache.info()["kernels"] == 0 and cache.clear() == 0
    if not ROOT:
        locked = tmp_path / "locked"
        locked.mkdir(mode=0o500)
        monkeypatch.setenv("KINLOOP_CACHE_DIR", str(locked))
        assert run() == expected


def test_a_missing_home_is_not_an_error(monkeypatch):
    monkeypatch.delenv("KINLOOP_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/nowhere")
    assert run() == run()


@pytest.mark.parametrize("step", ["open", "write", "fsync", "replace"])
def test_a_full_disk_at_any_step_is_not_an_error(own_cache, monkeypatch, step):
    expected = run(1)

    def full(*args, **options):
        raise OSError(errno.ENOSPC, "No space left on device")

    class Full:
        def __init__(self, number, mode):
            self.number = number

        def __enter__(self):
            return self

        def __exit__(self, *rest):
            os.close(self.number)

        write = full

    if step == "write":
        real = os.fdopen
        monkeypatch.setattr(os, "fdopen", lambda n, mode: Full(n, mode) if "w" in mode else real(n, mode))
    else:
        real = getattr(os, step)
        monkeypatch.setattr(os, step, lambda *a, **k: full() if step != "open" or a[1] & os.O_CREAT else real(*a, **k))
    assert len(run(2)) == len(expected)
    monkeypatch.undo()
    assert not list(own_cache.glob(".*"))


@pytest.mark.skipif(not ROOT, reason="only root can mount")
def test_a_disk_that_is_really_full(tmp_path, monkeypatch):
    small = tmp_path / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8k", "tmpfs", small], capture_output=True).returncode:
        pytest.skip("mounting is not allowed here")
    try:
        expected = run()
        monkeypatch.setenv("KINLOOP_CACHE_DIR", str(small))
        assert run() == expected and run() == expected
        assert not list((small / "kernels").iterdir())
    finally:
        subprocess.run(["umount", small], check=True)


def test_a_limit_on_file_size_is_not_an_error(own_cache):
    limited = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))"
    expected = finish(start())
    for file in files(own_cache):
        file.unlink()
    assert finish(start(limited)) == expected
    assert not files(own_cache) and not list(own_cache.glob(".*"))
    assert finish(start()) == expected


def test_a_writer_killed_half_way_leaves_the_next_run_correct(own_cache, monkeypatch):
    stall = """
import os, time
def stall(number):
    print("writing", flush=True)
    time.sleep(60)
os.fsync = stall
"""
    process = start(stall)
    assert process.stdout.readline().strip() == "writing"
    process.send_signal(signal.SIGKILL)
    process.wait()
    leftovers = [p for p in own_cache.glob(".*.tmp") if "lock" not in p.name]
    assert len(leftovers) == 1 and not files(own_cache)
    expected = finish(start())
    assert finish(start()) == expected
    os.utime(leftovers[0], (time.time() - 7200,) * 2)
    monkeypatch.setattr("random.random", lambda: 0.999)  # the folder is looked through now and then
    run(3)
    assert leftovers[0].exists()
    monkeypatch.setattr("random.random", lambda: 0.0)
    run(4)
    assert not leftovers[0].exists()


def compile_together(barrier, answers):
    barrier.wait()
    answers.put(run(5))


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork")
def test_sixteen_processes_compile_the_same_kernel_at_once(own_cache):
    context = multiprocessing.get_context("fork")
    barrier, answers = context.Barrier(16), context.Queue()
    workers = [context.Process(target=compile_together, args=(barrier, answers)) for _ in range(16)]
    for worker in workers:
        worker.start()
    different = {answers.get(timeout=60) for _ in workers}
    for worker in workers:
        worker.join(60)
        assert worker.exitcode == 0
    assert len(different) == 1
    assert len(files(own_cache)) == 1 and not list(own_cache.glob(".*"))
    assert {run(5)} == different


def test_a_new_process_gives_the_same_bits_with_and_without_cache(monkeypatch):
    cached = finish(start())
    again = finish(start())
    monkeypatch.setenv("KINLOOP_CACHE", "off")
    assert finish(start()) == cached == again


def test_the_least_recently_used_go_first(own_cache, monkeypatch):
    for seed in range(3):
        run(seed)
    oldest_first = sorted(files(own_cache), key=lambda f: f.stat().st_mtime_ns)
    size = max(f.stat().st_size for f in oldest_first)
    for age, file in zip((300, 200, 100), oldest_first):
        os.utime(file, (time.time() - age,) * 2)
    run(0)  # used again: now the youngest
    monkeypatch.setenv("KINLOOP_CACHE_LIMIT", str(3.5 * size / 1e6))
    run(3)
    left = set(files(own_cache))
    assert oldest_first[1] not in left and {oldest_first[0], oldest_first[2]} <= left


def test_the_cache_can_be_shown_cleared_and_turned_off(own_cache, monkeypatch, compilations):
    run(0), run(1)
    info = cache.info()
    assert info["kernels"] == 2 and info["bytes"] == sum(f.stat().st_size for f in files(own_cache))
    assert info["directory"] == str(own_cache) and info["enabled"] and info["limit"] == 512_000_000
    json.dumps(info)
    assert cache.clear() == 2 and cache.info()["kernels"] == 0
    monkeypatch.setenv("KINLOOP_CACHE", "off")
    run(0)
    assert not cache.info()["enabled"] and cache.info()["kernels"] == 0
    monkeypatch.setenv("KINLOOP_CACHE_LIMIT", "much")
    assert cache.limit() == 512_000_000


def test_object_code_holds_no_address_of_this_process(own_cache):
    compile_function(sc.trace(lambda x: np.array([sc.exp(sc.sin(x[0]))], dtype=object), {"x": 1}))([1.0])
    (file,) = files(own_cache)
    code = cache.load(file.stem)[1]
    for thing in (np.ndarray, np.dtype("float64")):
        assert id(thing).to_bytes(8, sys.byteorder) not in code


def test_a_kernel_that_two_make_at_once_is_compiled_once(own_cache, monkeypatch):
    made, compiled = sc.trace(lambda x: {"y": x * x + 7.25}, {"x": 3}), []
    original = Build.object_code
    monkeypatch.setattr(Build, "object_code", lambda self, lanes: (compiled.append(lanes), original(self, lanes))[1])
    kernels = [compile_function(made, name="twice") for _ in range(2)]
    with ThreadPoolExecutor(2) as both:
        found = list(both.map(lambda kernel: kernel(np.arange(3.0)), kernels))
    np.testing.assert_array_equal(found[0], found[1])
    assert compiled == [1] and not list(own_cache.glob(".*"))


def test_a_process_that_is_killed_lets_the_next_one_in(own_cache):
    program = (
        "import time; from kinloop.compiler import cache\n"
        "with cache.alone('k' * 64):\n    print('in', flush=True); time.sleep(60)"
    )
    holder = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, env=dict(os.environ))
    assert holder.stdout.readline() == b"in\n"
    order = []
    with ThreadPoolExecutor(1) as other:

        def enter():
            with cache.alone("k" * 64):
                order.append("let in")

        waiting = other.submit(enter)
        time.sleep(0.2)
        order.append("killed")
        holder.kill()
        waiting.result(timeout=10)
    holder.wait()
    assert order == ["killed", "let in"]


def test_where_nothing_can_be_locked_all_go_on(monkeypatch):
    monkeypatch.setenv("KINLOOP_CACHE_DIR", "/proc/none")
    with cache.alone("k" * 64):
        pass
