"""Diagrams of the derivations about loops, clusters, charts and kinematics: a function each."""

from __future__ import annotations

import math

from tools.sketch import BLUE, GREEN, GREY, INK, ORANGE, RED, Point, Sketch, along, polar


def four_bar(s: Sketch, at: Point, apart: float = 0.0) -> tuple[Point, Point, Point, Point]:
    """A four-bar on two pieces of ground, its pin pulled apart; where its hinges and both ends of the pin are."""
    x, y = at
    a, b, end, far = (x, y), (x + 40, y - 95), (x + 190, y - 110), (x + 215, y)
    other = (end[0] + apart, end[1] + 0.35 * apart)
    for foot in (a, far):
        s.ground(foot, below=8)
    s.bar(a, b, color=BLUE)
    s.bar(b, end, color=ORANGE)
    s.bar(far, other, color=GREEN)
    for point in (a, b, far, end, other):
        s.hinge(point)
    return a, b, end, other


def constraints() -> Sketch:
    s = Sketch(640, 190)
    a, b, end, other = four_bar(s, (70, 150), 75)
    s.arrow(along(end, other, 0.09), along(end, other, 0.93), color=RED)
    s.text((end[0] - 2, end[1] - 17), "P", "middle", RED)
    s.text((other[0] + 3, other[1] - 17), "S", "middle", RED)
    s.text(along(end, other, 0.5, -16), "$d = p_S - p_P$", "middle", RED)
    s.text(along(a, b, 0.5, 14), "1", "middle", BLUE)
    s.text(along(b, end, 0.5, 15), "2", "middle", ORANGE)
    s.text((336, 112), "3", "middle", GREEN)
    s.text((176, 176), "nearest common ancestor: the world", "middle")
    s.text((400, 60), "two chains from the ancestor,")
    s.text((400, 78), "walked outward with (1)-(4)")
    s.text((400, 104), "closed: $d = 0$ and the", color=RED)
    s.text((400, 122), "pin's axes are parallel", color=RED)
    return s


def clusters() -> Sketch:
    s = Sketch(640, 200)
    world, one, two, three, four, five = (30, 100), (110, 100), (200, 50), (200, 150), (300, 50), (390, 50)
    s.field((170, 20), 162, 162, BLUE)
    for a, b in ((world, one), (one, two), (one, three), (two, four), (four, five)):
        s.arrow(along(a, b, 12 / math.dist(a, b)), along(a, b, 1 - 13 / math.dist(a, b)))
    ring = (two, four, three, two)
    for a, b, bend in zip(ring, ring[1:], (-15, -12, -14)):
        s.arrow(along(a, b, 0.13), along(a, b, 0.5, bend), along(a, b, 0.87), color=RED, dash="4 3")
    s.world(world)
    for point, color, name in (
        (one, GREY, "1"),
        (two, BLUE, "2"),
        (three, BLUE, "3"),
        (four, BLUE, "4"),
        (five, GREY, "5"),
    ):
        s.node(point, color, name)
    s.text((346, 100), "solid: from parent to child")
    s.text((346, 120), "dashed: a ring through the bodies", color=RED)
    s.text((346, 136), "that share a loop", color=RED)
    s.text((346, 156), "field: a strongly connected", color=BLUE)
    s.text((346, 172), "component, one cluster", color=BLUE)
    return s


def oval(center: Point, a: float, b: float, lean: float, degrees: float) -> Point:
    """A point of an ellipse that leans."""
    t, c = math.radians(degrees), math.radians(lean)
    x, y = a * math.cos(t), b * math.sin(t)
    return center[0] + x * math.cos(c) - y * math.sin(c), center[1] - x * math.sin(c) - y * math.cos(c)


def plane(s: Sketch, corner: Point, width: float, height: float) -> None:
    """Axes of two joint angles."""
    x, y = corner
    s.arrow((x, y), (x + width, y), color=GREY, wide=1.2)
    s.arrow((x, y), (x, y - height), color=GREY, wide=1.2)
    s.text((x + width - 4, y + 13), "$q_1$", "end")
    s.text((x - 8, y - height + 8), "$q_2$", "end")


def charts() -> Sketch:
    s = Sketch(640, 210)
    plane(s, (40, 185), 260, 170)
    center = (170, 100)

    def arc(start: float, end: float, grow: float) -> list[Point]:
        return [oval(center, 105 + grow, 55 + grow, 20, start + k * (end - start) / 24) for k in range(25)]

    s.path(arc(0, 360, 0), INK, 1.6, smooth=True)
    s.path(arc(32, 155, 6), BLUE, 3.5, smooth=True)
    s.path(arc(212, 335, 6), BLUE, 3.5, smooth=True)
    s.path(arc(-48, 55, -6), ORANGE, 3.5, smooth=True)
    s.path(arc(132, 235, -6), ORANGE, 3.5, smooth=True)
    for degrees in (-11, 169):
        x, y = oval(center, 105, 55, 20, degrees)
        s.path([(x, y - 34), (x, y + 34)], RED, 1.2, "4 3")
        s.dot((x, y), RED)
    s.text((170, 100), "$φ(q) = 0$", "middle")
    s.text((315, 40), "dead centre: the curve stands upright, the", color=RED)
    s.text((315, 56), "velocity of $q_1$ no longer says that of $q_2$", color=RED)
    s.text((315, 90), "chart 1: $q_1$ is independent, $q_2$ follows", color=BLUE)
    s.text((315, 112), "chart 2: $q_2$ is independent, $q_1$ follows", color=ORANGE)
    s.text((315, 146), "charts overlap: a change comes before the")
    s.text((315, 162), "old one is bad, and not back at once")
    return s


def tangent_frames() -> Sketch:
    s = Sketch(640, 210)
    plane(s, (40, 185), 250, 170)
    curve = [(60, 150), (95, 90), (150, 62), (205, 80), (228, 122), (205, 165)]
    s.path(curve, INK, 1.8, smooth=True)
    s.text((62, 168), "$φ(q) = 0$", "start")
    at = (150, 62)
    s.arrow(at, (215, 58), color=BLUE, wide=2)
    s.arrow(at, (146, 20), color=ORANGE, wide=2)
    s.text((222, 57), "$N$: what the loops allow", color=BLUE)
    s.text((156, 24), "$F$: what this loop forbids", color=ORANGE)
    s.dot(at)
    off = (118, 128)
    s.dot(off, GREEN)
    s.arrow(along(off, (93, 93), 0.1), (96, 97), color=GREEN, dash="4 3")
    s.text((126, 130), "smallest step", color=GREEN)
    s.text((126, 146), "back: (2), $b = -φ$", color=GREEN)
    dead = (228, 122)
    s.dot(dead, RED)
    s.arrow(dead, (228, 168), color=BLUE, wide=2)
    s.text((244, 112), "dead centre: $q_1$ stands still and is no", color=RED)
    s.text((244, 128), "coordinate here; $N$ is as good as elsewhere", color=RED)
    return s


def kinematics() -> Sketch:
    s = Sketch(640, 190)
    root, joint, tip = (60, 150), (190, 70), (350, 120)
    s.ground(root, below=8)
    s.bar(root, joint, color=BLUE)
    s.bar(joint, tip, color=ORANGE)
    s.hinge(root)
    s.hinge(joint)
    s.turn(joint, 24, -60, 75, ORANGE)
    s.text((222, 62), "$S_i q\u0307_i$", color=ORANGE)
    s.arrow(joint, (150, 22), color=BLUE, wide=2)
    s.text((140, 22), "$X_i v_{p(i)}$", "end", BLUE)
    s.arrow((275, 97), (330, 46), color=ORANGE, wide=2)
    s.text((338, 44), "$v_i = X_i v_{p(i)} + S_i q\u0307_i$", color=ORANGE)
    for degrees, name in ((-17, "x"), (73, "y")):
        s.arrow(tip, polar(tip, 36, degrees), color=GREEN)
        s.text(polar(tip, 46, degrees), f"${name}_e$", "middle", GREEN)
    s.dot(tip, GREEN)
    s.text(along(root, joint, 0.45, -16), "parent $p(i)$", "start", BLUE)
    s.text(along(joint, tip, 0.42, -20), "body $i$", "middle", ORANGE)
    s.text((405, 100), "frame $e$: its Jacobian's", color=GREEN)
    s.text((405, 116), "columns are $X_{e,i} S_i$ of", color=GREEN)
    s.text((405, 132), "the joints on the way to the world", color=GREEN)
    return s


def reactions() -> Sketch:
    s = Sketch(640, 200)
    a, _, end, other = four_bar(s, (80, 155), 70)
    s.arrow(end, (end[0] - 52, end[1] - 22), color=RED, wide=2)
    s.arrow(other, (other[0] + 52, other[1] + 22), color=RED, wide=2)
    s.text((end[0] - 58, end[1] - 24), "$-W$", "end", RED)
    s.text((other[0] + 60, other[1] + 22), "$W = Σ w_r λ_r$ on the successor", color=RED)
    s.turn(a, 28, 120, 20, GREEN)
    s.text((a[0] + 36, a[1] - 12), "$τ$ of the motor", color=GREEN)
    s.arrow(a, (a[0] - 40, a[1] - 40), color=INK, wide=2)
    s.text((a[0] - 44, a[1] - 48), "$f_1$", "end")
    s.text((405, 120), "with $W$ in place of the pin the")
    s.text((405, 138), "tree joints carry $f_i$ of (2)")
    s.text((end[0] + 35, end[1] + 34), "pin", "middle", RED)
    return s


def dense_kkt() -> Sketch:
    s = Sketch(640, 200)
    a, b, end, _ = four_bar(s, (60, 160))
    origin = (40, 40)
    s.arrow(origin, (72, 40), color=GREY)
    s.arrow(origin, (40, 10), color=GREY)
    s.text((50, 16), "world axes", color=GREY)
    for point, name in ((along(a, b, 0.5), "1"), (along(b, end, 0.5), "2"), ((263, 105), "3")):
        s.path([origin, point], GREY, 1.0, "3 3")
        s.mass(point)
        s.text((point[0] + 14, point[1] + 14), f"$J_{name}$", color=INK)
    lines = ["bbbrrr", "bbbrrr", "bbbrrr", "rrr...", "rrr...", "rrr..."]
    s.matrix((340, 40), lines, {"b": BLUE, "r": RED}, 17)
    s.text((391, 22), "all rows, redundant or not", "middle")
    s.text((462, 65), "$H = Σ J_i^T I_i J_i$", color=BLUE)
    s.text((462, 90), "$K$ of all loops", color=RED)
    s.text((462, 120), "solved by singular")
    s.text((462, 136), "values: unique motion,")
    s.text((462, 152), "shortest multipliers")
    return s
