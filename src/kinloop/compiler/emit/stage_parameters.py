"""What the functions of stages take: the scratch array, and where the plan's outputs lie."""

from __future__ import annotations

from collections.abc import Sequence

STAGE = ("ptr noalias %scratch", "ptr noalias %out")  # what the function of a stage takes
LAP = (*STAGE, "ptr noalias %marks", "ptr noalias %constants")  # what the function of a pattern takes
WHOLE = (0,)  # the parts of outputs that lie together


def stage_parameters(parts: Sequence[int]) -> tuple[str, ...]:
    """STAGE, with a pointer more for every part of the plan's outputs that lies elsewhere."""
    return (*STAGE, *(f"ptr noalias {out_pointer(k)}" for k in range(1, len(parts))))


def out_pointer(part: int) -> str:
    """The name of the pointer to a part of the outputs."""
    return f"%out{part}" if part else "%out"
