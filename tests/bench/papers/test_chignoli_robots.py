"""Tables II, III, IV of [Chignoli2023]."""

from kinloop import robots
from kinloop.bench.papers.chignoli_robots import link_coordinates, more, relative_table
from kinloop.bench.papers.printed_numbers import PERCENT


def test_exact_methods_are_exact_and_approximate_ones_are_not(tiny):
    for entry in tiny["parts"]["clusters"].values():
        for quantity, methods in entry.items():
            for method, e in methods.items():
                assert (e["error"] < 1e-9) != method.startswith("approximate"), (quantity, method)


def test_percents_are_of_the_cluster_algorithm():
    entries = {"projection": {"call_us": 3.0}, "cluster_aba": {"call_us": 2.0}}
    assert more(entries, "projection", "cluster_aba", "call_us") == 50.0


def test_a_table_has_a_line_per_robot_and_method(tiny):
    rows = relative_table(tiny["parts"]["clusters"], "forward_dynamics").rows
    assert len(rows) == len(PERCENT["forward_dynamics"])


def test_approximate_methods_move_the_links():
    names = link_coordinates(robots.load("tello")).independent_names
    assert len(names) == 16 and not any("rotor" in n for n in names)
