"""The stages of a plan as LLVM functions, and the order in which they run."""

from __future__ import annotations

from kinloop.compiler.emit.ir import Vector, branch_if_any
from kinloop.compiler.emit.segment import LANE_CALLS, SegmentWriter, lane_call
from kinloop.compiler.emit.sincos import angles_function
from kinloop.compiler.plan import Angles, Plan, Repeat, Segment


def stage_functions(plan: Plan, vector: Vector, block: Vector, fma: bool) -> tuple[list[str], list[str]]:
    """Lines of all stage functions of a plan, loops and all, and the names of the plan's own stages in order.

    `block` is how many angles one state takes at a time.
    """
    lines: list[str] = []
    names: dict[int, list[str]] = {}
    _write_plan(plan, vector, block, lines, names)
    used = {op for p in _all_plans(plan) for op, _ in p.operations.values()}
    for name in LANE_CALLS:
        if name in used:
            lines += lane_call(vector, name)
    if used & {"sin", "cos"}:
        lines += angles_function(block if vector.width == 1 else vector, fma)
    return lines, names[id(plan)]


def _all_plans(plan: Plan) -> list[Plan]:
    return [plan, *[p for s in plan.stages if isinstance(s, Repeat) for p in _all_plans(s.body)]]


def _write_plan(plan: Plan, vector: Vector, block: Vector, lines: list[str], names: dict[int, list[str]]) -> None:
    if id(plan) in names:  # the same body in two loops is written once
        return
    for stage in plan.stages:
        if isinstance(stage, Repeat):
            _write_plan(stage.body, vector, block, lines, names)
    number = len(names)
    names[id(plan)] = [f"p{number}_{k}" for k in range(len(plan.stages))]
    for name, stage in zip(names[id(plan)], plan.stages, strict=True):
        if isinstance(stage, Segment):
            lines += SegmentWriter(plan, vector).write(name, stage)
        elif isinstance(stage, Angles):
            lines += _angles(name, stage, vector, block)
        else:
            lines += _repeat(name, stage, vector, names[id(stage.body)])


def _angles(name: str, stage: Angles, vector: Vector, block: Vector) -> list[str]:
    blocks = stage.count if vector.width > 1 else -(-stage.count // block.width)
    places = [f"  %{k} = getelementptr i8, ptr %w, i64 {at * vector.size}" for k, at in _slots(stage)]
    return [
        f"define internal void @{name}(ptr noalias %w) #0 {{",
        *places,
        f"  call void @angles(ptr %at, ptr %sin, ptr %cos, i64 {blocks})",
        "  ret void",
        "}",
    ]


def _slots(stage: Angles) -> list[tuple[str, int]]:
    return [("at", stage.at), ("sin", stage.sin), ("cos", stage.cos)]


def _repeat(name: str, stage: Repeat, vector: Vector, body: list[str]) -> list[str]:
    """A loop: the body's stages, then its outputs back to its first inputs."""
    T, align = vector.type, min(vector.size, 64)
    if stage.rounds < 1:
        return [f"define internal void @{name}(ptr noalias %w) #0 {{", "  ret void", "}"]
    return [
        f"define internal void @{name}(ptr noalias %w) #0 {{",
        f"  %b = getelementptr i8, ptr %w, i64 {stage.base * vector.size}",
        "  br label %round",
        "round:",
        "  %i = phi i64 [ 0, %0 ], [ %i2, %next ]",
        *(["  br label %go"] if stage.gate is None else branch_if_any(vector, "%b", stage.gate, "go", "end")),
        "go:",
        *[f"  call void @{f}(ptr %b)" for f in body],
        f"  %out = getelementptr {T}, ptr %b, i64 {stage.body.n_in}",
        f"  br label %{'copy' if stage.carried else 'next'}",
        "copy:",
        "  %k = phi i64 [ 0, %go ], [ %k2, %copy ]",
        f"  %p = getelementptr {T}, ptr %out, i64 %k",
        f"  %x = load {T}, ptr %p, align {align}",
        f"  %q = getelementptr {T}, ptr %b, i64 %k",
        f"  store {T} %x, ptr %q, align {align}",
        "  %k2 = add i64 %k, 1",
        f"  %on = icmp ult i64 %k2, {stage.carried}",
        "  br i1 %on, label %copy, label %next",
        "next:",
        "  %i2 = add i64 %i, 1",
        f"  %again = icmp ult i64 %i2, {stage.rounds}",
        "  br i1 %again, label %round, label %end",
        "end:",
        "  ret void",
        "}",
    ]


def run_function(names: list[str], groups: int, bytes_per_group: int) -> list[str]:
    """@run(scratch, groups): every stage over all groups, one stage after the other."""
    lines = ["define internal void @run(ptr %w, i64 %groups) #0 {"]
    if groups == 1:
        return [*lines, *[f"  call void @{f}(ptr %w)" for f in names], "  ret void", "}"]
    before = "0"
    for k, f in enumerate(names):
        lines += [
            f"  br label %stage{k}",
            f"stage{k}:",
            f"  %g{k} = phi i64 [ 0, %{before} ], [ %n{k}, %stage{k} ]",
            f"  %o{k} = mul i64 %g{k}, {bytes_per_group}",
            f"  %p{k} = getelementptr i8, ptr %w, i64 %o{k}",
            f"  call void @{f}(ptr %p{k})",
            f"  %n{k} = add i64 %g{k}, 1",
            f"  %c{k} = icmp slt i64 %n{k}, %groups",
            f"  br i1 %c{k}, label %stage{k}, label %done{k}",
            f"done{k}:",
        ]
        before = f"done{k}"
    return [*lines, "  ret void", "}"]
