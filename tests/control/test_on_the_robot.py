"""Everything of control that a robot needs on board, as C with one header: it compiles without a warning and agrees."""

from __future__ import annotations

import subprocess

import numpy as np

from kinloop.compiler.exported import export_library
from kinloop.control import ILQR, MotorSpace, SmoothDynamics
from tests.compiler.export.test_c99 import CC, needs_cc
from tests.control.plants import four_bar


@needs_cc
def test_motor_maps_steps_slopes_feedback_and_costs_are_one_header(tmp_path):
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
    header, *sources = export_library(kernels, tmp_path, name="control")
    rng, uses, expected = np.random.default_rng(0), [], []
    for name, kernel in kernels.items():
        sizes = [n for (n,) in kernel.inputs.values()]
        given = [q if k == "q" else 0.1 * rng.normal(size=n) for (k, n) in zip(kernel.inputs, sizes, strict=True)]
        given = [robot.neutral()[2:] if name == "motors" and k == 0 else x for k, x in enumerate(given)]
        found = kernel(*given)
        found = np.concatenate([np.ravel(x) for x in (found if isinstance(found, tuple) else (found,))])
        assert np.isfinite(found).all(), name
        shapes = [int(np.prod(s)) for s in kernel.outputs.values()]
        places = [sum(shapes[:k]) for k in range(len(shapes))]
        arrays = [f"const double {name}{k}[] = {{{', '.join(map(repr, map(float, x)))}}};" for k, x in enumerate(given)]
        given_c = [f"{name}{k}" for k in range(len(given))] + [f"{name}_out + {p}" for p in places]
        uses += [*arrays, f"double {name}_out[{sum(shapes)}];", f"kl_{name}({', '.join(given_c)});"]
        uses.append(f'for (k = 0; k < {sum(shapes)}; k++) printf("%.17g\\n", {name}_out[k]);')
        expected.append(found)
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-O1", "-ffp-contract=off"]
    body = "\n    ".join(uses)
    main = (
        f'#include <stdio.h>\n#include "{header.name}"\nint main(void)\n{{\n    int k;\n    {body}\n    return 0;\n}}\n'
    )
    (tmp_path / "main.c").write_text(main)
    program = tmp_path / "program"
    done = subprocess.run(
        [CC, *flags, tmp_path / "main.c", *sources, "-o", program, "-lm"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    out = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    np.testing.assert_allclose([float(x) for x in out.split()], np.concatenate(expected), rtol=1e-9, atol=1e-11)
    assert not any(b"alloc" in source.read_bytes() for source in sources)
