"""Everything of control that a robot needs on board, as C or object code with one header: it compiles and agrees."""

from __future__ import annotations

import subprocess

import numpy as np
import pytest

from kinloop.compiler.exported import export_library
from kinloop.control import (
    ILQR,
    InverseKinematics,
    MotorSpace,
    PoseTask,
    PositionTask,
    PostureTask,
    SmoothDynamics,
    WholeBodyControl,
)
from kinloop.sim import Motor
from tests.compiler.export.test_c99 import CC, needs_cc
from tests.compiler.test_exported import CROSS, QEMU, needs_qemu
from tests.control.plants import floating, four_bar

FLAGS = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-O1", "-ffp-contract=off"]


@pytest.fixture(scope="module")
def uses():
    """Kernels by name, with inputs and what they give."""
    robot, q = four_bar()
    dynamics = SmoothDynamics(robot, 0.02)
    solver = ILQR(dynamics, lambda q, v, u, t: u @ u + 1.0 - np.cos(q[2]), limits=(-1.0, 1.0))
    kernels = {
        "motors": MotorSpace(robot, ["crank_joint"], ["rocker_joint"]).compile("map"),
        "step": dynamics.step_kernel,
        "slopes": dynamics.slopes_kernel,
        "curvature": dynamics.curvature_kernel,
        "policy": dynamics.policy_kernel,
        "cost": solver.planner.cost.value_kernel,
        "expansion": solver.planner.cost.expansion_kernel,
    }
    rng, out = np.random.default_rng(0), {}
    for name, kernel in kernels.items():
        sizes = [n for (n,) in kernel.inputs.values()]
        given = [q if k == "q" else 0.1 * rng.normal(size=n) for (k, n) in zip(kernel.inputs, sizes, strict=True)]
        out[name] = kernel, [robot.neutral()[2:] if name == "motors" and k == 0 else x for k, x in enumerate(given)]
    return out | tasks()


def tasks():
    """Inverse kinematics, its rows for a QP, and the QP of whole-body control; a free base and loops."""
    robot = floating()
    q, v = robot.random_state(3)
    end = robot.integrate(q, 0.1 * v)
    limits = {"rocker_joint": (-3.0, 3.0)}
    ik = InverseKinematics(robot, [PoseTask("base"), PositionTask("tip", level=1)], limits=limits)
    wanted = ik._rows(q, [robot.frame_pose(end, "base"), robot.frame_pose(end, "tip")[:3, 3]])[1]
    wbc = WholeBodyControl(robot, [PostureTask(["rocker_joint"])], ["tip"], [Motor("crank_joint", limit=5.0)])
    return {
        "inverse_kinematics": (ik.kernel, [q, wanted, np.array([1e-9, 20.0])]),
        "task_rows": (ik.differential.rows, [q, wanted]),
        "whole_body_qp": (wbc.kernel, [q, 0.1 * v, wbc.reference([q])]),
    }


@needs_cc
@pytest.mark.parametrize("target", [None, pytest.param("aarch64-linux-gnu", marks=needs_qemu)])
def test_all_of_control_is_one_header_and_allocates_nothing(tmp_path, uses, target):
    """Compiled without a warning as C99, or linked as object code of another machine and run in its emulator."""
    header, *codes = export_library({name: kernel for name, (kernel, _) in uses.items()}, tmp_path, "control", target)
    lines, expected = [], []
    for name, (kernel, given) in uses.items():
        found = kernel(*given)
        expected.append(np.concatenate([np.ravel(x) for x in (found if isinstance(found, tuple) else (found,))]))
        assert np.isfinite(expected[-1]).all(), name
        shapes = [int(np.prod(s)) for s in kernel.outputs.values()]
        arrays = [f"const double {name}{k}[] = {{{', '.join(map(repr, map(float, x)))}}};" for k, x in enumerate(given)]
        places = [f"{name}_out + {sum(shapes[:k])}" for k in range(len(shapes))]
        lines += [*arrays, f"static double {name}_out[{sum(shapes)}];"]
        lines.append(f"kl_{name}({', '.join([*(f'{name}{k}' for k in range(len(given))), *places])});")
        lines.append(f'for (k = 0; k < {sum(shapes)}; k++) printf("%.17g\\n", {name}_out[k]);')
    main, program, body = tmp_path / "main.c", tmp_path / "program", "\n    ".join(lines)
    main.write_text(
        f'#include <stdio.h>\n#include "{header.name}"\nint main(void)\n{{\n    int k;\n    {body}\n    return 0;\n}}\n'
    )
    cc, run = (CC, [program]) if target is None else (CROSS, [QEMU, program])
    command = [cc, *FLAGS, main, *codes, "-o", program, *(["-static"] if target else []), "-lm"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    out = subprocess.run(run, capture_output=True, text=True, check=True).stdout
    np.testing.assert_allclose([float(x) for x in out.split()], np.concatenate(expected), rtol=1e-9, atol=1e-9)
    assert not any(b"alloc" in code.read_bytes() for code in codes)
