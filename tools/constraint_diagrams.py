"""Diagrams of the derivations about constrained motion and sparse factors: a function each."""

from __future__ import annotations

from tools.sketch import BLUE, GREEN, GREY, INK, ORANGE, RED, VIOLET, Point, Sketch, along, polar


def spring(s: Sketch, a: Point, b: Point, color: str) -> None:
    """A coil spring between two points."""
    turns = [along(a, b, 0.2 + 0.6 * k / 10, 7 * (-1) ** k) for k in range(1, 10)]
    s.path([a, along(a, b, 0.2), *turns, along(a, b, 0.8), b], color, 1.5)


def leg(s: Sketch, hip: Point, color: str, lean: float = 0.0) -> list[Point]:
    """A leg of two links and a foot below a hip: its hinges, and the foot."""
    knee = polar(hip, 55, -70 + lean)
    ankle = polar(knee, 55, -110 + lean)
    s.bar(hip, knee, color=color)
    s.bar(knee, ankle, color=color)
    for point in (hip, knee):
        s.hinge(point)
    return [hip, knee, ankle]


def pv() -> Sketch:
    s = Sketch(640, 200)
    s.bar((60, 40), (190, 40), color=GREY, wide=20)
    feet = [leg(s, (80, 48), BLUE)[-1], leg(s, (170, 48), ORANGE)[-1]]
    for foot, color, name in ((feet[0], BLUE, "1"), (feet[1], ORANGE, "2")):
        s.ground(foot, below=8)
        s.dot(foot, color)
        s.text((foot[0] + 24, foot[1] - 4), f"$λ_{name}$", color=color)
    s.arrow((60, 138), (70, 100), (62, 60), color=BLUE, dash="4 3")
    s.arrow((212, 138), (214, 100), (198, 60), color=ORANGE, dash="4 3")
    s.text((240, 50), "inward: wrenches $χ$ of unit multipliers;")
    s.text((240, 68), "each joint takes out what it feels, $u_c$,")
    s.text((240, 86), "and leaves $u_c^T D^{-1} u_c$ in $L$")
    s.text((240, 112), "at the world: $L λ = k - l$")
    s.text((240, 138), "outward: the motion with $λ$ known")
    s.matrix((470, 108), ["bbvv", "bbvv", "vvoo", "vvoo"], {"b": BLUE, "o": ORANGE, "v": GREY}, 15)
    s.text((500, 184), "$L$", "middle")
    return s


def pv_early() -> Sketch:
    s = Sketch(640, 190)
    xs = (50, 140, 230, 320, 410)
    names = ("base", "hip", "knee", "ankle", "foot")
    rows = (3, 4, 5, 6)
    for k in range(4):
        s.path([(xs[k] + 14, 80), (xs[k + 1] - 14, 80)], INK, 1.4)
    for k, x in enumerate(xs):
        s.node((x, 80), BLUE if 0 < k < 4 else GREY, "", 13)
        s.text((x, 106), names[k], "middle")
    for k, count in enumerate(rows):
        x = 0.5 * (xs[k] + xs[k + 1])
        s.arrow((xs[k + 1] - 18, 60), (xs[k] + 18, 60), color=RED, wide=0.6 + 0.45 * count)
        s.text((x, 44), f"{count} rows", "middle", RED)
    for k in (1, 2, 3):
        s.arrow((xs[k], 118), (xs[k], 142), color=GREEN)
        s.text((xs[k], 154), "one solved", "middle", GREEN)
    s.ground((xs[4], 80), width=36, below=42)
    s.text((440, 74), "welded: 6 rows", color=RED)
    s.text((320, 16), "a row that moves a joint is solved there; the inertia that is handed on contains it", "middle")
    s.text((390, 154), "3 rows are left for the base", color=RED)
    return s


def pv_soft() -> Sketch:
    s = Sketch(640, 180)
    for shift in (0, 300):
        s.ground((40 + shift, 60), below=8)
        s.bar((40 + shift, 60), (110 + shift, 40), color=BLUE)
        s.bar((110 + shift, 40), (175 + shift, 75), color=ORANGE)
        s.hinge((40 + shift, 60))
        s.hinge((110 + shift, 40))
    spring(s, (175, 75), (175, 140), GREEN)
    s.ground((175, 140))
    s.text((188, 110), "rows $K a = k$ that", color=GREEN)
    s.text((188, 126), "yield by $R λ$", color=GREEN)
    s.text((268, 62), "=", "middle")
    s.node((475, 75), GREEN, "", 17)
    s.text((500, 74), "heavier by", color=GREEN)
    s.text((500, 92), "$K^T R^{-1} K$", color=GREEN)
    s.arrow((475, 96), (475, 134), color=GREEN, wide=2)
    s.text((465, 126), "pulled by $K^T R^{-1} k$", "end", GREEN)
    s.text((410, 160), "the tree stays a tree: no multipliers to solve for", "middle")
    return s


def tree_of_two(s: Sketch, at: Point) -> None:
    """A stem of two joints with two branches of two, feet at their ends."""
    x, y = at
    stem = [(x, y), (x + 60, y)]
    one, two = [(x + 120, y - 40), (x + 180, y - 40)], [(x + 120, y + 40), (x + 180, y + 40)]
    links = [((x - 50, y), stem[0]), (stem[0], stem[1]), (stem[1], one[0]), (one[0], one[1])]
    for a, b in [*links, (stem[1], two[0]), (two[0], two[1])]:
        s.path([a, b], INK, 1.4)
    s.arrow((x + 182, y - 62), (x + 122, y - 62), (x + 62, y - 24), (x - 34, y - 22), color=BLUE)
    s.arrow((x + 182, y + 62), (x + 122, y + 62), (x + 62, y + 24), (x - 34, y + 22), color=ORANGE)
    s.world((x - 50, y))
    for point, color in (
        (stem[0], VIOLET),
        (stem[1], VIOLET),
        (one[0], BLUE),
        (one[1], BLUE),
        (two[0], ORANGE),
        (two[1], ORANGE),
    ):
        s.node(point, color, "", 10)


def pv_osim() -> Sketch:
    s = Sketch(640, 200)
    tree_of_two(s, (80, 100))
    s.text((278, 60), "$e_1$", color=BLUE)
    s.text((278, 140), "$e_2$", color=ORANGE)
    s.matrix((380, 45), ["bbbvvv", "bbbvvv", "bbbvvv", "vvvooo", "vvvooo", "vvvooo"],
             {"b": BLUE, "o": ORANGE, "v": VIOLET}, 14)  # fmt: skip
    s.text((422, 26), "$L = J M^{-1} J^T$", "middle")
    s.text((422, 150), "joints that both pass", "middle", VIOLET)
    s.text((422, 166), "fill the block between them", "middle", VIOLET)
    s.text((130, 184), "one sweep inward, a sum on the way", "middle")
    return s


def pv_osim_fast() -> Sketch:
    s = Sketch(640, 190)
    s.bar((40, 40), (210, 40), color=VIOLET, wide=18)
    for x, color in ((55, BLUE), (125, ORANGE), (195, GREEN)):
        foot = leg(s, (x, 47), color)[-1]
        s.ground(foot, below=7)
    s.text((230, 40), "base", color=VIOLET)
    lines = ["bb....", "bb....", "..oo..", "..oo..", "....gg", "....gg"]
    s.matrix((285, 55), lines, {"b": BLUE, "o": ORANGE, "g": GREEN}, 13)
    s.text((386, 94), "+", "middle")
    s.matrix((405, 55), ["vv"] * 6, {"v": VIOLET}, 13)
    s.matrix((442, 81), ["vv", "vv"], {"v": VIOLET}, 13)
    s.matrix((480, 81), ["vvvvvv"] * 2, {"v": VIOLET}, 13)
    s.text((324, 38), "$L_b$: a block a leg", "middle")
    s.text((470, 38), "$U^T D^{-1} U$", "middle", VIOLET)
    s.text((400, 160), "solve leg by leg, and once for the base: $L$ is never formed", "middle")
    return s


def pv_osimr() -> Sketch:
    s = Sketch(640, 200)
    meet = (230, 100)
    s.world((30, 100))
    stalk = [(80, 100), (130, 100), (180, 100), meet]
    for a, b in zip([(30.0, 100.0), *stalk], stalk):
        s.path([a, b], INK, 1.4)
    for k, y in enumerate((30, 65, 135, 170)):
        ends = [(300, y), (360, y)]
        s.path([meet, ends[0], ends[1]], INK, 1.4)
        s.arrow((352, y - 15), (308, y - 15), color=ORANGE)
        for point in ends:
            s.node(point, ORANGE, "", 9)
        s.text((376, y), f"6 rows $χ_{k + 1}$", color=ORANGE)
    for k, point in enumerate(stalk):
        s.node(point, BLUE if k < 3 else GREEN, "", 10)
    s.arrow((205, 76), (55, 76), color=BLUE, wide=2)
    s.text((130, 60), "6 columns $E$", "middle", BLUE)
    s.text((200, 128), "here", "middle", GREEN)
    s.text((190, 146), "$χ_c = E F_c$", "middle", GREEN)
    s.text((462, 92), "24 rows arrive,", color=GREEN)
    s.text((462, 108), "6 wrenches go on", color=GREEN)
    return s


def constrained_derivatives() -> Sketch:
    s = Sketch(640, 200)
    hip, knee, foot, moved = (80, 45), (150, 95), (95, 150), (135, 168)
    s.bar((58, 40), (102, 40), color=GREY, wide=18)
    s.bar(knee, moved, ghost=True)
    s.bar(hip, knee, color=BLUE)
    s.bar(knee, foot, color=ORANGE)
    for point in (hip, knee):
        s.hinge(point)
    s.turn(knee, 36, -140, -102, GREEN)
    s.text((160, 122), "$dq$", color=GREEN)
    s.arrow(foot, (52, 128), color=RED, wide=2)
    s.arrow(moved, (105, 190), color=GREY, wide=1.6)
    s.dot(foot, RED, 4)
    s.dot(moved, GREY, 4)
    s.text((46, 124), "$λ$", "end", RED)
    s.text((98, 190), "$λ + dλ$", "end", GREY)
    s.text((84, 166), "held", "end", RED)
    s.text((240, 50), "along a change $dx$ both equations go on holding:")
    s.matrix((245, 78), ["bbbr", "bbbr", "bbbr", "rrr."], {"b": BLUE, "r": RED}, 17)
    s.text((262, 160), "$M$", "middle", BLUE)
    s.text((303, 160), "$J$", "middle", RED)
    s.text((328, 96), "forces: $M da - J^T dλ = dτ - τ_x dx$", color=BLUE)
    s.text((328, 122), "rows: $J da = -ρ_x dx$", color=RED)
    return s


def linearization() -> Sketch:
    s = Sketch(640, 190)
    for x, name, rule in ((95, "open", "$λ = 0$"), (275, "sticking", "$U_n = b$, $U_t = 0$"),
                          (455, "sliding", "$|λ_t| = μ λ_n$, against $U_t$")):  # fmt: skip
        low = 110.0
        touching = name != "open"
        center = (x, low - 18 - (0 if touching else 22))
        s.ground((x, low), width=110)
        if touching:
            s.path([(x - 32, low - 64), (x, low), (x + 32, low - 64)], GREY, 1.0, "3 3")
        s.node(center, BLUE, "", 17)
        if name == "sticking":
            s.arrow((x, low), (x + 12, low - 58), color=RED, wide=2)
            s.text((x + 36, low - 46), "$λ$", color=RED)
        if name == "sliding":
            s.arrow((x, low), (x - 29, low - 58), color=RED, wide=2)
            s.arrow((x + 20, low - 18), (x + 62, low - 18), color=GREEN, wide=2)
            s.text((x - 38, low - 46), "$λ$", "end", RED)
            s.text((x + 60, low - 32), "$U_t$", "middle", GREEN)
        if name == "open":
            s.arrow((x, center[1] - 20), (x, center[1] - 44), color=GREEN, wide=2)
            s.text((x + 8, center[1] - 38), "$U_n > b$", color=GREEN)
        s.text((x, low + 24), name, "middle")
        s.text((x, low + 44), rule, "middle")
    s.text(
        (280, 176), "which of them a contact obeys is kept; its equations $F(x, λ) = 0$ are differentiated", "middle"
    )
    return s


def branching(s: Sketch, at: Point) -> None:
    """A numbered tree with two branches."""
    x, y = at
    places = [(x + 45, y), (x + 95, y - 32), (x + 145, y - 32), (x + 95, y + 32), (x + 145, y + 32)]
    for above, k in ((None, 0), (0, 1), (1, 2), (0, 3), (3, 4)):
        s.path([at if above is None else places[above], places[k]], INK, 1.4)
    s.world(at)
    for k, point in enumerate(places):
        s.node(point, (VIOLET, BLUE, BLUE, ORANGE, ORANGE)[k], str(k + 1))


SPARSE = {"v": VIOLET, "b": BLUE, "o": ORANGE, "r": RED}
"""Colours of the letters of a matrix."""


def baselines() -> Sketch:
    s = Sketch(640, 190)
    branching(s, (30, 80))
    s.path([(175, 59), (175, 101)], RED, 1.6, "4 3")
    s.text((186, 80), "loop, cut", color=RED)
    s.matrix((270, 45), ["vvvvv", "vbb..", "vbb..", "v..oo", "v..oo"], SPARSE, 15)
    s.matrix((380, 45), ["v....", "vb...", "vbb..", "v..o.", "v..oo"], SPARSE, 15)
    s.matrix((490, 45), [".", "r", "r", "r", "r"], SPARSE, 15)
    s.text((307, 28), "$H = L^T L$", "middle")
    s.text((417, 28), "$L$: no fill-in", "middle")
    s.text((498, 28), "$K^T$", "middle")
    s.text((320, 150), "entry $kj$ of $L$ is zero unless $j$ is on the way from $k$ to the world,", "middle")
    s.text(
        (320, 168),
        "$Y = L^{-T} K^T$ fills the ways of both ends to the world: $Y^T Y$ couples loops that share joints",
        "middle",
    )
    return s


def constrained_baselines() -> Sketch:
    s = Sketch(640, 190)
    branching(s, (30, 80))
    for y, color in ((48, BLUE), (112, ORANGE)):
        s.ground((202, y), width=24, below=-3)
        s.path([(186, y), (202, y)], INK, 1.4)
        s.dot((202, y - 4), color)
    s.text((222, 46), "held", color=BLUE)
    s.text((222, 110), "held", color=ORANGE)
    s.matrix((280, 45), ["v....", "vb...", "vbb..", "v..o.", "v..oo"], SPARSE, 15)
    s.matrix((390, 45), ["vv", "b.", "b.", ".o", ".o"], SPARSE, 15)
    s.matrix((470, 60), ["bv", "vo"], SPARSE, 18)
    s.text((317, 28), "$L$,  $M = L^T L$", "middle")
    s.text((412, 28), "$Y = L^{-T} J^T$", "middle")
    s.text((490, 112), "$Y^T Y$", "middle")
    s.text((280, 150), "rows of a foot fill its own path only; paths meet in the joints both feet share,", "middle")
    s.text((280, 168), "and these alone couple the feet's multipliers", "middle")
    return s
