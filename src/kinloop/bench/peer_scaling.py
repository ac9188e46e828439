"""How time grows with the robot: chains of four-bars and of geared links, beside the peers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from kinloop import robots
from kinloop.bench.contenders import CALL, KERNEL, ONE
from kinloop.bench.number_format import digits, magnitude, ratio
from kinloop.bench.peer_comparison import compare
from kinloop.bench.peer_tables import pick
from kinloop.bench.peers import missing
from kinloop.bench.report_elements import Plot, Section, Table
from kinloop.bench.timing import Effort

CHAINS = {"four_bar_chain": "chain of four-bars", "geared_chain": "geared chain", "serial_chain": "plain chain"}


def sizes(effort: Effort) -> list[int]:
    """Numbers of links."""
    return [2, 8, 20] if effort.quick else [1, 2, 4, 8, 12, 20, 40]


def tasks(effort: Effort) -> dict[str, Callable[[], Any]]:
    """Every chain at every length."""
    return {
        f"{name} {n}": partial(compare, partial(robots.load, name, links=n), effort)
        for n in sizes(effort)
        for name in CHAINS
    }


def curves(data: dict[str, Any], name: str) -> dict[str, tuple[list[int], list[float]]]:
    """Microseconds over links for everybody who can say the chain; ours as one call and in a batch."""
    out: dict[str, tuple[list[int], list[float]]] = {}
    for label, entry in data.items():
        chain, n = label.rsplit(" ", 1)
        if chain != name:
            continue
        points = [(f"{r['who']}" if r["who"] != KERNEL else "kinloop, one call", r["us"]) for r in
                  pick(entry, "forward dynamics", CALL)]  # fmt: skip
        points.append(("kinloop, batch", pick(entry, "forward dynamics", ONE)[0]["us"]))
        for who, us in points:
            x, y = out.setdefault(who, ([], []))
            x.append(int(n))
            y.append(us)
    return out


def show(data: dict[str, Any]) -> Section:
    """Curves over the links, and ratios to every peer."""
    plots = [
        Plot(f"growth_{name}", f"Forward dynamics, {title}", curves(data, name), x="links", y="[µs]", log=True)
        for name, title in CHAINS.items()
    ]  # fmt: skip
    rows = []
    for label, entry in data.items():
        ours, *others = pick(entry, "forward dynamics", CALL)
        chain, n = label.rsplit(" ", 1)
        for p in others:
            rows.append(
                [
                    CHAINS[chain], n, ratio(p["us"] / ours["us"]), digits(ours["us"]), p["who"], digits(p["us"]),
                    magnitude(ours["error"]), magnitude(p["error"]),
                ]
            )  # fmt: skip
    columns = ["chain", "links", "ratio", "kinloop [µs]", "peer", "[µs]", "error", "its error"]
    notes = [f"{text}; its curves are missing." for text in missing().values()]
    return Section(
        "Growing chains beside the peers",
        "Forward dynamics, one call from Python on one core. A link of the chain of four-bars is a loop of three.",
        [Table("Growing chains", columns, rows)], plots, notes,
    )  # fmt: skip
