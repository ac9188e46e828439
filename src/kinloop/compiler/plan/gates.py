"""Which operations nothing but a loop needs that may be left out: they are left out with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kinloop.compiler.plan.stage_types import LoopNode, Operand, Operation

BARRIERS = ("sin", "cos", "loop", "table", "nearest")  # operations that are stages of their own, or wait for all
_ALWAYS = -1


def find_gates(
    operations: Mapping[int, Operation], loops: Mapping[int, LoopNode], outputs: Iterable[Operand]
) -> dict[int, int]:
    """For every operation that may be left out, the value that says whether it is needed.

    That value is the gate of the one loop that all its uses end in, or of one of several, the others running only
    where it does.
    """
    if all(loop.gate is None for loop in loops.values()):
        return {}
    gate: dict[int, int] = {}

    def within(g: Operand, other: Operand) -> bool:
        """Whether the gate g opens only where the other does: it says "and"."""
        op, args = operations.get(g, ("", ())) if isinstance(g, int) else ("", ())
        return g == other or (op == "and" and any(within(x, other) for x in args))

    def ask(x: Operand, g: int) -> None:
        if isinstance(x, int):
            now = gate.get(x, g)
            gate[x] = now if within(g, now) else g if within(now, g) else _ALWAYS

    for x in outputs:
        ask(x, _ALWAYS)
    in_segments = {k for k, (op, _) in operations.items() if op not in BARRIERS and op != "pick"}
    for k in sorted(operations, reverse=True):
        args, loop = operations[k][1], loops.get(k)
        own = gate.get(k, _ALWAYS) if k in in_segments or operations[k][0] == "table" else _ALWAYS
        for i, x in enumerate(args):
            if loop is not None and loop.gate is not None and i >= loop.carried and i != loop.gate:
                g = args[loop.gate]
                ask(x, g if isinstance(g, int) else _ALWAYS)
            else:
                ask(x, own)
    return {k: g for k, g in gate.items() if g != _ALWAYS and k in in_segments}
