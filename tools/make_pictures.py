"""Draw every robot of the zoo, its diagram and the demo, and write the page that shows them.

python -m tools.make_pictures [NAME ... | demo]
"""

from __future__ import annotations

import io
import sys
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

import kinloop as kl
from kinloop.cli.demo_command import crouched, landing_tello, motors, targets
from kinloop.cli.start_options import raised
from kinloop.sim import Plane
from tools.connectivity_diagram import svg
from tools.software_renderer import FLOOR, Camera, Model, around, draw

ROOT = Path(__file__).resolve().parents[1]
FOLDER, PAGE = ROOT / "docs" / "pictures", ROOT / "docs" / "mechanisms.md"
WIDTH, HEIGHT, COLORS = 360, 270, 48
DEMO = (300, 340)
FRAMES, SECONDS = 36, 1.2

SEEDS = {
    "four_bar": 1,
    "slider_crank": 2,
    "planar_leg_linkage": 1,
    "planar_leg_linkage_urdf": 1,
    "six_bar": 1,
    "bennett": 2,
}
"""Robots that are shown at a random closed configuration, and its seed: neutral ones are straight."""

INTRODUCTION = """# Mechanisms

The robots that come with kinloop: `kl.robots.load(name)`. On the left each at a closed configuration. Bodies that share
loops, and so form one *cluster*, have one colour; what closes a loop is red. On the right its diagram: the world is the
square, bodies are dots, joints of the spanning tree are lines, loops and couplings are dashed.
Pictures and this page are made by `python -m tools.make_pictures`.
"""


def small(image: Image.Image) -> bytes:
    """A picture of few colours."""
    out = io.BytesIO()
    image.quantize(COLORS, dither=Image.Dither.NONE).save(out, format="PNG", optimize=True)
    return out.getvalue()


def posed(name: str, robot: kl.Robot) -> np.ndarray:
    """A configuration that shows how a robot moves: a little away from the neutral one."""
    q = robot.neutral()
    turn = 0.25 * np.random.default_rng(1).normal(size=robot.nv)
    turn[[k for k, n in enumerate(robot.independent_names) if "[" in n and robot.mechanism.joints[0].name in n]] = 0.0
    if name in SEEDS:
        return robot.random_state(SEEDS[name])[0]
    return robot.integrate(q, turn) if name not in ("tello", "tello_with_arms") else q


def picture(name: str) -> None:
    """Write the picture and the diagram of one robot."""
    robot = kl.robots.load(name)
    triangles, colors = Model(robot).triangles(posed(name, robot))
    (FOLDER / f"{name}.png").write_bytes(small(draw(triangles, colors, around(triangles, WIDTH, HEIGHT))))
    (FOLDER / f"{name}.svg").write_text(svg(robot), encoding="utf-8")


def page() -> str:
    """The page of all mechanisms."""
    parts = [INTRODUCTION]
    for name in kl.robots.names():
        m = kl.robots.mechanism(name)
        loops = len(m.loops) + len(m.couplings)
        size = f"{len(m.bodies)} bodies, {loops} {'loop or coupling' if loops == 1 else 'loops and couplings'}."
        parts.append(f"## {name}\n\n{kl.robots.describe(name)} {size}\n")
        parts.append(
            f"| | |\n|---|---|\n| ![{name}](pictures/{name}.png) | ![diagram of {name}](pictures/{name}.svg) |\n"
        )
    return "\n".join(parts)


def floor(canvas: ImageDraw.ImageDraw, camera: Camera) -> None:
    """A square of ground below the robot."""
    corners = np.array([[-0.5, -0.5, 0], [0.5, -0.5, 0], [0.5, 0.5, 0], [-0.5, 0.5, 0]])
    canvas.polygon([tuple(x) for x in camera.project(corners)[:, :2]], fill=FLOOR)


def demo() -> None:
    """Tello lands on its feet, as in `kinloop demo`: an animation."""
    robot = landing_tello()
    q0 = raised(robot, crouched(robot), 0.2, Plane())
    sim = kl.Simulator(robot, dt=1e-3, ground=Plane(), motors=motors(robot))
    times = np.linspace(0.0, SECONDS, FRAMES)
    run = sim.rollout(q0, None, targets(robot, q0), times=times, record=["q"])
    model = Model(robot)
    box = np.concatenate([model.triangles(q)[0].reshape(-1, 3) for q in (run.q[0], run.q[-1])])
    low, high = box.min(axis=0), box.max(axis=0)
    low[2] = 0.0
    camera = Camera(-50, 12, low, high, *DEMO)
    frames = [draw(*model.triangles(q), camera, floor) for q in run.q]
    palette = frames[-1].quantize(COLORS, dither=Image.Dither.NONE)
    shown = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
    wait = [33] * (FRAMES - 1) + [900]
    shown[0].save(FOLDER / "demo.gif", save_all=True, append_images=shown[1:], duration=wait, loop=0, optimize=True)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    asked = sys.argv[1:] or [*kl.robots.names(), "demo"]
    for name in asked:
        demo() if name == "demo" else picture(name)
        print(f"drew {name}")
    PAGE.write_text(page(), encoding="utf-8")
