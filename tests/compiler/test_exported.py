"""Many kernels with one header, as C and as object code for another machine, which runs there."""

from __future__ import annotations

import shutil
import subprocess

import numpy as np
import pytest

import kinloop as kl
from kinloop import scalar as sc
from kinloop.compiler import compile_function
from kinloop.compiler.exported import export_library
from kinloop.errors import CompileError, MethodError
from tests.compiler.export.test_c99 import CC, needs_cc
from tests.compiler.graphs import every_operation, random_function

CROSS, QEMU = shutil.which("aarch64-linux-gnu-gcc"), shutil.which("qemu-aarch64")
needs_qemu = pytest.mark.skipif(not (CROSS and QEMU), reason="no aarch64-linux-gnu-gcc or no qemu-aarch64")
FLAGS = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O1", "-ffp-contract=off"]


def ran(command, *inputs):
    text = " ".join(repr(float(x)) for x in np.concatenate(inputs))
    out = subprocess.run(list(map(str, command)), input=text, capture_output=True, text=True, check=True)
    return np.array([float(x) for x in out.stdout.split()])


@needs_qemu
@pytest.mark.parametrize("case", ["swing", "every operation", "single precision", "tello"])
def test_object_code_for_another_machine_computes_the_same(tmp_path, case):
    rng = np.random.default_rng(0)
    if case == "tello":
        robot = kl.robots.load("tello")
        kernel, (q, v) = robot.compile("forward_dynamics"), robot.random_state(1)
        inputs = (q, v, rng.normal(size=robot.nv))
    elif case == "swing":
        kernel, inputs = (
            compile_function(random_function(0), name="swing", cache=False),
            (rng.normal(size=4), rng.normal(size=3)),
        )
    else:
        dtype = "float32" if case == "single precision" else "float64"
        kernel, inputs = compile_function(every_operation(), dtype=dtype, cache=False), ([0.3], [0.7])
    code, _, main = kernel.export_object(tmp_path, target="aarch64-linux-gnu", cpu="cortex-a72")
    program = tmp_path / "program"
    subprocess.run([CROSS, *FLAGS, main, code, "-o", program, "-lm", "-static"], check=True)
    expected = kernel(*inputs)
    expected = np.concatenate([np.ravel(x) for x in (expected if isinstance(expected, tuple) else (expected,))])
    size, rtol = np.abs(expected[np.isfinite(expected)]).max(), 2e-6 if case == "single precision" else 1e-12
    np.testing.assert_allclose(ran([QEMU, program], *inputs), expected, rtol=rtol, atol=rtol * size)


@needs_cc
def test_object_code_for_this_machine_is_c(tmp_path):
    kernel = compile_function(sc.trace(lambda x, y: {"z": np.cos(x) * y[0], "w": x + y[0]}, {"x": 3, "y": 1}), name="f")
    code, _, main = kernel.export_object(tmp_path, target="x86_64-linux-gnu", cpu="x86-64")
    machine = subprocess.run([CC, "-dumpmachine"], capture_output=True, text=True, check=True).stdout
    if not machine.startswith("x86_64-linux"):
        pytest.skip(f"this is {machine.strip()}")
    program = tmp_path / "program"
    subprocess.run([CC, *FLAGS, main, code, "-o", program, "-lm"], check=True)
    x, y = np.array([0.1, -2.0, 1e6]), np.array([0.5])
    np.testing.assert_allclose(ran([program], x, y), np.concatenate([np.cos(x) * y, x + y]), rtol=1e-15)


@needs_cc
@pytest.mark.parametrize("target", [None, pytest.param("aarch64-linux-gnu", marks=needs_qemu)])
def test_many_kernels_share_one_header(tmp_path, target):
    robot = kl.robots.load("four_bar")
    kernels = {
        "dynamics": robot.compile("forward_dynamics"),
        "slopes": robot.compile("forward_dynamics_derivatives"),
        "pose": robot.compile("frame_pose", frames=[robot.body_names[-1]]),
    }
    header, *codes = export_library(kernels, tmp_path, name="robot", target=target)
    assert header.name == "robot.h" and [c.stem for c in codes] == ["kl_dynamics", "kl_slopes", "kl_pose"]
    text = header.read_text()
    assert text.count("void kl_") == 3 and text.count("#endif") == 3
    q, v = robot.random_state(0)
    numbers = ", ".join(repr(float(x)) for x in np.concatenate([q, v, v]))
    (tmp_path / "use.c").write_text(f"""
#include <stdio.h>
#include "robot.h"
int main(void)
{{
    const double x[] = {{{numbers}}};
    const double *q = x, *v = x + {len(q)}, *tau = x + {len(q) + len(v)};
    double a[1], da_dq[1], da_dv[1], da_dtau[1], T[16];
    kl_dynamics(q, v, tau, a);
    kl_slopes(q, v, tau, da_dq, da_dv, da_dtau);
    kl_pose(q, T);
    printf("%.17g %.17g %.17g\\n", a[0], da_dtau[0], T[3]);
    return 0;
}}
""")
    program = tmp_path / "use"
    cc, run = (CC, [program]) if target is None else (CROSS, [QEMU, program])
    subprocess.run(
        [cc, *FLAGS, tmp_path / "use.c", *codes, "-o", program, "-lm", *(["-static"] if target else [])], check=True
    )
    expected = kernels["dynamics"](q, v, v)[0], kernels["slopes"](q, v, v)[2][0, 0], kernels["pose"](q)[0, 3]
    np.testing.assert_allclose(ran(run, []), expected, rtol=1e-12)
    for word in (b"malloc", b"calloc", b"kinloop_"):
        assert not any(word in c.read_bytes() for c in codes)


def test_what_cannot_be_exported_is_refused(tmp_path):
    kernel = compile_function(sc.trace(lambda x: x, {"x": 1}), name="f")
    with pytest.raises(CompileError, match=r"code for 'riscv64-linux-gnu' cannot be made.*aarch64-linux-gnu"):
        kernel.export_object(tmp_path, target="riscv64-linux-gnu")
    with pytest.raises(MethodError, match="'f' is str, not a kernel"):
        export_library({"f": "kernel"}, tmp_path)
