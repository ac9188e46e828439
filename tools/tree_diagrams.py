"""Diagrams of the derivations about the dynamics of trees of clusters and their derivatives: a function each."""

from __future__ import annotations

import math

from tools.sketch import BLUE, GREEN, GREY, INK, ORANGE, RED, VIOLET, Point, Sketch, along, polar

TREE: dict[str, Point] = {"w": (28, 95), "1": (95, 95), "2": (165, 55), "3": (165, 135), "4": (235, 55)}
"""Where the bodies of `small_tree` are."""

FILLED = {"v": VIOLET, "b": BLUE, "o": ORANGE}
"""Colours of the letters of a matrix."""


def small_tree(s: Sketch, shift: float, color: str, inward: bool) -> None:
    """World, a body, a cluster of two with its loop cut, a body beyond; arrows one way."""
    at = {name: (x + shift, y) for name, (x, y) in TREE.items()}
    s.field((at["2"][0] - 20, 32), 40, 126, GREY)
    s.path([at["2"], (at["2"][0], 84)], RED, 1.6, "4 3")
    s.path([at["3"], (at["3"][0], 106)], RED, 1.6, "4 3")
    s.text((at["2"][0], 95), "cut", "middle", RED)
    for a, b in (("w", "1"), ("1", "2"), ("1", "3"), ("2", "4")):
        ends = (at[b], at[a]) if inward else (at[a], at[b])
        gap = 14 / math.dist(*ends)
        s.arrow(along(*ends, gap), along(*ends, 1 - gap), color=color, wide=2)
    s.world(at["w"])
    for name in "1234":
        s.node(at[name], BLUE if name in "23" else GREY, name)


def cluster_rnea() -> Sketch:
    s = Sketch(640, 190)
    small_tree(s, 0, BLUE, False)
    small_tree(s, 290, ORANGE, True)
    s.text((120, 16), "outward: $v_i$, $a_i$, then $f^{net}_i$", "middle", BLUE)
    s.text((420, 16), "inward: $f_i = f^{net}_i + Σ X_j^T f_j$", "middle", ORANGE)
    s.text((450, 175), "$τ_k = G_k^T τ\u0304_k$: the loop does no work on the cluster", "middle")
    s.text((140, 175), "loops stay closed through $q\u0308 = Ga + g$", "middle")
    return s


def cluster_aba() -> Sketch:
    s = Sketch(640, 190)
    world, base = (24, 90), (84, 90)
    s.field((126, 30), 108, 122, BLUE)
    bodies = [(160, 60), (160, 125), (210, 60)]
    child = (290, 90)
    s.path([base, bodies[0], bodies[2], child], INK, 1.4)
    s.path([base, bodies[1], child], INK, 1.4)
    s.path([world, base], INK, 1.4)
    s.path([bodies[1], (210, 110), bodies[2]], RED, 1.6, "4 3", smooth=True)
    s.arrow((272, 66), (228, 48), color=ORANGE, wide=2)
    s.arrow((140, 44), (94, 68), color=ORANGE, wide=2)
    s.world(world)
    s.node(base, GREY, "$s$")
    for point in bodies:
        s.node(point, BLUE, "$i$")
    s.node(child, GREEN, "")
    s.text((84, 114), "handle", "middle")
    s.text((180, 166), "cluster with its loop", "middle", BLUE)
    s.text((276, 44), "$I_A$, $p_A$ of what is beyond", color=ORANGE)
    s.text((330, 84), "fold: $U_i = I_i S_i$, $D = Σ S_i^T U_i$")
    s.text((330, 106), "hand on: $I_a = I - W D^{-1} W^T$", color=ORANGE)
    s.text((330, 128), "a child on two bodies of a cluster", color=GREEN)
    s.text((330, 144), "leaves a cross block between them", color=GREEN)
    return s


def cluster_crba() -> Sketch:
    s = Sketch(640, 190)
    points = [(50, 150), (110, 90), (175, 65), (245, 85), (300, 50)]
    s.ground(points[0], below=8)
    s.field((165, 22), 170, 92, GREY, "4 3")
    for k, color in enumerate((BLUE, BLUE, ORANGE, ORANGE)):
        s.bar(points[k], points[k + 1], color=color)
    for k, point in enumerate(points[:4]):
        s.hinge(point, GREY if k == 3 else INK)
    s.turn(points[2], 22, 100, 215, ORANGE)
    s.text((250, 34), "locked: one rigid", "middle", GREY)
    s.text((275, 128), "composite $Î_i$", "middle", ORANGE)
    s.text((152, 38), "$k$", "middle", ORANGE)
    s.arrow((165, 82), (120, 104), color=INK)
    s.arrow((103, 112), (66, 150), color=INK)
    s.text((100, 136), "$F = Î_i S_i$, carried")
    s.text((100, 154), "rigidly to the world")
    s.matrix((400, 30), ["bbbbb", "bbb..", "bbb..", "b..gg", "b..gg"], {"b": BLUE, "g": GREEN}, 20)
    s.text((450, 148), "$M$: no block where neither", "middle")
    s.text((450, 164), "cluster carries the other", "middle")
    return s


def cluster_efpa() -> Sketch:
    s = Sketch(640, 200)
    tree = [(90, 100), (160, 100)]
    one, two = [(230, 55), (300, 55)], [(230, 145), (300, 145)]
    s.path([(30, 100), *tree, *one], INK, 1.4)
    s.path([tree[1], *two], INK, 1.4)
    s.arrow((296, 30), (228, 30), (166, 74), color=ORANGE, wide=2)
    s.arrow((46, 122), (150, 122), color=BLUE, wide=2)
    s.arrow((294, 170), (228, 170), (170, 128), color=ORANGE, wide=2)
    s.world((30, 100))
    for point in (*tree, *one, *two):
        s.node(point, GREEN if point == tree[1] else GREY, "$k$" if point == tree[1] else "", 11)
    s.dot((322, 55), RED, 4)
    s.dot((322, 145), RED, 4)
    s.text((332, 55), "$e_1$", color=RED)
    s.text((332, 145), "$e_2$", color=RED)
    s.text((300, 14), "$χ_{e1}$", color=ORANGE)
    s.text((296, 186), "$χ_{e2}$", color=ORANGE)
    s.text((96, 138), "$Ω_{e2}$", "middle", BLUE)
    s.text((372, 70), "inward: propagators, joints give way", color=ORANGE)
    s.text((372, 92), "outward: response, only up to $k$", color=BLUE)
    s.text((372, 120), "where both meet, in $k$:", color=GREEN)
    s.text((372, 140), "$Ω(e_1, e_2) = Σ χ_{e1}^T Ω_{e2}$", color=GREEN)
    return s


def factorization() -> Sketch:
    s = Sketch(640, 190)
    points = [(50, 60), (120, 60), (190, 60)]
    s.ground((50, 60), below=14)
    for a, b, color in zip(points, [*points[1:], (255, 60)], (VIOLET, BLUE, ORANGE)):
        s.bar(a, b, color=color)
    for point in points:
        s.hinge(point)
    s.turn(points[2], 24, 20, 110, ORANGE)
    s.text((214, 30), "$τ_3$", color=ORANGE)
    s.arrow((180, 84), (132, 84), color=ORANGE)
    s.arrow((110, 84), (66, 84), color=ORANGE)
    s.text((156, 100), "$K_3 τ_3$", "middle", ORANGE)
    s.text((20, 130), "propagated rigidly it is column 3 of $L$,")
    s.text((20, 148), "with joints giving way column 3 of $L^{-1}$")
    s.matrix((330, 40), ["vvv", ".bb", "..o"], FILLED, 22)
    s.matrix((412, 40), ["v..", ".b.", "..o"], FILLED, 22)
    s.matrix((494, 40), ["v..", "vb.", "vbo"], FILLED, 22)
    for x, name in ((363, "$L$"), (445, "$D$"), (527, "$L^T$")):
        s.text((x, 124), name, "middle")
    s.text((300, 74), "$M$ =", "middle")
    return s


def energy() -> Sketch:
    s = Sketch(640, 190)
    a, b, c = (80, 150), (150, 70), (270, 60)
    s.ground(a, below=8)
    s.bar(a, b, color=BLUE)
    s.bar(b, c, color=ORANGE)
    s.hinge(a)
    s.hinge(b)
    one, two = along(a, b, 0.5), along(b, c, 0.55)
    whole = (one[0] + two[0]) / 2, (one[1] + two[1]) / 2
    s.mass(one)
    s.mass(two)
    s.path([one, two], GREY, 1.0, "3 3")
    s.mass(whole, 7)
    s.text((one[0] - 10, one[1] - 8), "$c_1$", "end")
    s.text((two[0], two[1] - 18), "$c_2$", "middle")
    s.text((whole[0] + 12, whole[1] + 8), "$c$")
    s.turn(a, 26, 20, 110, GREEN)
    s.text((112, 134), "$τ$", color=GREEN)
    s.arrow((310, 22), (274, 54), color=RED, wide=2)
    s.text((316, 20), "$f^{ext}$", color=RED)
    s.arrow((330, 80), (330, 130), color=GREY, wide=2)
    s.text((338, 106), "$a_g$")
    s.text((385, 60), "$d(T + V)/dt$ is the power of")
    s.text((385, 80), "motors, $τ · v$, and of forces", color=GREEN)
    s.text((385, 100), "from outside, $f^{ext}_i · v_i$;", color=RED)
    s.text((385, 120), "loops have no part in it")
    return s


def momentum_and_frames() -> Sketch:
    s = Sketch(640, 190)
    base, hip, knee, foot = (60, 90), (135, 80), (205, 120), (290, 70)
    s.field((122, 38), 205, 116, ORANGE, "4 3")
    s.bar(base, hip, color=BLUE, wide=14)
    s.bar(hip, knee, color=ORANGE)
    s.bar(knee, foot, color=ORANGE)
    s.hinge(hip)
    s.hinge(knee, GREY)
    s.turn(hip, 22, -10, 90, ORANGE)
    s.text((150, 50), "$S_i = (w, u)$", color=ORANGE)
    center, whole = (222, 98), (110, 120)
    s.mass(center)
    s.mass(whole, 7)
    s.text((234, 104), "$m_i, h_i, I_i$")
    s.text((100, 128), "$c$", "end")
    s.arrow(along(whole, hip, 0.2), along(whole, hip, 0.86), color=GREY)
    s.text((116, 150), "$p_i - c$", "end")
    s.arrow(center, (222, 56), color=GREEN, wide=2)
    s.text((230, 60), "$f$", color=GREEN)
    s.text((350, 60), "joint $i$ moves all it carries", color=ORANGE)
    s.text((350, 78), "as one body, so its columns are", color=ORANGE)
    s.text((350, 104), "$J_c$: how $c$ moves")
    s.text((350, 124), "$A$: momentum $(n, f) = I_i S_i$, about $c$", color=GREEN)
    return s


def derivatives() -> Sketch:
    s = Sketch(640, 200)
    root, joint = (55, 165), (130, 100)
    s.ground(root, below=8)

    def beyond(turn: float) -> list[Point]:
        one = polar(joint, 95, 10 + turn)
        return [joint, one, polar(one, 85, -35 + turn)]

    moved, now = beyond(22), beyond(0)
    s.bar(*moved, ghost=True)
    s.bar(root, joint, color=BLUE)
    s.bar(*now[:2], color=ORANGE)
    s.bar(*now[1:], color=ORANGE)
    for point in (root, joint, now[1]):
        s.hinge(point)
    s.hinge(moved[1], GREY)
    s.turn(joint, 50, 10, 40, RED)
    s.text((158, 66), "$δq_k$", "end", RED)
    s.arrow(now[2], moved[2], color=RED, dash="4 3")
    s.text((318, 132), "body $i$", color=ORANGE)
    s.text((350, 40), "beyond the joint all moves as one body:", color=RED)
    s.text((350, 60), "$d_i = X d_p$,  $e_i = X e_p$", color=RED)
    s.text((350, 86), "force on it, with all it carries:")
    s.text((350, 106), "$δf = I e + B d$")
    s.text((150, 172), "inward of it nothing moves, only forces arrive", color=BLUE)
    return s


def regressor() -> Sketch:
    s = Sketch(640, 200)
    points = [(45, 160), (85, 85), (165, 50), (235, 90)]
    s.ground(points[0], below=8)
    for k, color in enumerate((BLUE, ORANGE, GREEN)):
        a, b = points[k], points[k + 1]
        s.bar(a, b, color=color)
        s.mass(along(a, b, 0.55))
        s.text(along(a, b, 0.5, 22), f"$π_{k + 1}$", "middle", color)
        s.hinge(a)
    s.matrix((340, 40), ["bbbooogggx..", "...oooggg.x.", "......ggg..x"],
             {"b": BLUE, "o": ORANGE, "g": GREEN, "x": VIOLET}, 16)  # fmt: skip
    for k in range(3):
        s.text((330, 48 + 16 * k), f"$τ_{k + 1}$", "end")
    s.text((436, 22), "$Y$", "middle")
    s.text((340, 108), "ten columns a body: a joint feels")
    s.text((340, 124), "those it carries, none below it")
    s.text((340, 146), "armature, damping and friction", color=VIOLET)
    s.text((340, 162), "act on their own joint", color=VIOLET)
    return s


def reverse_mode() -> Sketch:
    s = Sketch(640, 200)
    at = {"q": (50, 60), "v": (50, 140), "a": (150, 60), "b": (150, 140), "s": (250, 100), "y": (340, 100)}
    for one, two in (("q", "a"), ("q", "b"), ("v", "b"), ("a", "s"), ("b", "s"), ("s", "y")):
        gap = 14 / math.dist(at[one], at[two])
        s.arrow(along(at[one], at[two], gap, 4), along(at[one], at[two], 1 - gap, 4), color=BLUE)
        s.arrow(along(at[two], at[one], gap, 4), along(at[two], at[one], 1 - gap, 4), color=ORANGE)
    for name, point in at.items():
        s.node(point, GREY, f"${name}$")
    s.text((195, 22), "forward: values, tangents $ds = φ_a da + φ_b db$", "middle", BLUE)
    s.text((195, 180), "back: adjoints $a\u0304 += φ_a s\u0304$, $b\u0304 += φ_b s\u0304$", "middle", ORANGE)
    s.text((390, 66), "every operation is met once", "start")
    s.text((390, 82), "each way: all of $q\u0304$ and $v\u0304$ for")
    s.text((390, 98), "two to three times the cost of $y$,")
    s.text((390, 114), "however many inputs there are")
    return s


def approximate() -> Sketch:
    s = Sketch(640, 190)
    for shift, exact in ((0, True), (290, False)):
        root, elbow, tip = (45 + shift, 150), (110 + shift, 80), (210 + shift, 60)
        s.ground(root, below=8)
        s.bar(root, elbow, color=BLUE)
        s.bar(elbow, tip, color=BLUE)
        s.hinge(root)
        s.hinge(elbow)
        if exact:
            rotor = along(root, elbow, 0.45, 24)
            s.node(rotor, ORANGE, "", 13)
            s.turn(rotor, 19, 70, 300, ORANGE)
            s.path([rotor, elbow], RED, 1.4, "4 3")
            s.text((72, 72), "gear", "end", RED)
        else:
            s.turn(elbow, 18, 60, -70, GREEN)
            s.text((elbow[0] + 24, elbow[1] + 18), "armature $N^2 I_{rot}$", color=GREEN)
    s.text((130, 20), "as it is", "middle")
    s.text((420, 20), "approximate", "middle")
    s.text((130, 134), "the rotor turns $N$ times as fast,", color=ORANGE)
    s.text((130, 150), "weighs, and resists turning", color=ORANGE)
    s.text((390, 150), "no weight, no gyroscope,", color=GREEN)
    s.text((390, 166), "no coupling to the link", color=GREEN)
    return s
