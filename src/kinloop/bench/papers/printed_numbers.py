"""Numbers printed in the papers, to put beside ours."""

from __future__ import annotations

ROBOTS = {
    "geared_chain": "12-link geared chain",
    "belt_chain": "12-link belt chain",
    "mini_cheetah": "Mini Cheetah",
    "mit_humanoid": "MIT Humanoid",
    "tello_with_arms": "Tello with arms",
    "jvrc1": "JVRC-1",
}
"""The six robots of [Chignoli2023, section IX], by their names in the zoo."""

PERCENT = {
    "inverse_dynamics": {
        "approximate_rnea": (-40.3, -36.2, -41.0, -42.0, -59.6, -37.7),
        "projected_rnea": (38.0, 37.8, 36.7, 35.9, 22.4, 36.6),
    },
    "forward_dynamics": {
        "approximate_aba": (-34.1, -34.6, -35.3, -38.6, -49.4, -38.4),
        "projection": (86.8, 73.5, 21.0, 32.5, 22.2, 87.3),
        "lagrange": (133.1, 119.8, 76.3, 106.2, 82.7, 212.8),
    },
    "inverse_osim": {
        "approximate_efpa": (-35.7, -52.1, -28.6, -37.4, -51.4, -22.54),
        "projected_osim": (51.8, 6.3, 19.0, 23.2, 7.80, 107.4),
    },
}
"""Tables II, III and IV of [Chignoli2023]: percent of time more (+) or less (-) than the cluster algorithm."""

TABLES = {
    "inverse_dynamics": ("II", "cluster_rnea", "9"),
    "forward_dynamics": ("III", "cluster_aba", "10"),
    "inverse_osim": ("IV", "cluster_efpa", "12"),
}
"""Number of the table, the algorithm it compares with, number of the figure that shows the times."""

NAMES = {
    "cluster_rnea": "C-RNEA",
    "cluster_aba": "C-ABA",
    "cluster_efpa": "C-EFPA",
    "approximate_rnea": "approximate RNEA",
    "approximate_aba": "approximate ABA",
    "approximate_efpa": "approximate EFPA",
    "projected_rnea": "projected RNEA",
    "projection": "projection method",
    "lagrange": "Lagrange multipliers",
    "projected_osim": "projected inverse OSIM",
}
"""Methods by the papers' names."""

SATHYA_TABLE_II = {
    "Iiwa (0D)": (0.55, 0.55, 0.63, 2.15, 0.55, 0.63, 3.11),
    "Iiwa (H3)": (0.75, 0.61, 0.83, 2.73, 0.61, 0.80, 4.45),
    "Iiwa (H)": (1.01, 1.09, 1.08, 3.53, 0.63, 0.89, 4.88),
    "Go1 (0D)": (1.65, 1.67, 1.74, 4.68, 1.64, 1.74, 7.10),
    "Go1 (F3)": (1.88, 1.81, 1.96, 5.61, 1.70, 1.84, 11.2),
    "Go1 (2F3)": (2.10, 1.98, 2.20, 6.40, 1.76, 1.98, 12.0),
    "Go1 (3F3)": (2.32, 2.14, 2.48, 7.33, 1.82, 2.16, 12.8),
    "Go1 (4F3)": (2.53, 2.33, 2.85, 8.20, 1.90, 2.33, 13.5),
    "Atlas (0D)": (3.44, 3.47, 4.64, 12.3, 3.47, 4.64, 15.9),
    "Atlas (F)": (4.59, 3.94, 5.88, 15.4, 3.61, 5.58, 31.5),
    "Atlas (2F)": (6.09, 4.40, 7.52, 18.5, 3.73, 6.61, 34.2),
    "Atlas (2F+H)": (7.37, 5.03, 8.69, 22.3, 3.76, 6.93, 36.5),
    "Atlas (2F+2H)": (8.27, 5.52, 11.8, 26.5, 3.82, 7.77, 38.8),
    "Talos (0D)": (4.92, 4.97, 8.14, 17.1, 4.96, 8.28, 23.6),
    "Talos (F)": (5.63, 5.48, 9.25, 21.1, 4.96, 8.65, 51.3),
    "Talos (2F)": (6.72, 6.45, 10.9, 25.2, 4.99, 9.21, 54.3),
    "Talos (2F+H)": (8.40, 7.06, 13.4, 30.0, 5.08, 10.6, 57.0),
    "Talos (2F+2H)": (10.13, 7.40, 15.4, 34.7, 5.11, 11.9, 59.4),
}
"""Table II of [Sathya2023]: microseconds by PV, PV-early, LTL, Pinocchio, PV-soft, LTL-soft, MuJoCo."""
SATHYA_METHODS = ("pv", "pv_early", "ltl", "pinocchio", "pv_soft", "ltl_soft", "mujoco")
