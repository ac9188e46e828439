"""Standalone C99 of a kernel, which needs nothing but libm."""

from __future__ import annotations

from kinloop.compiler.export.c_interface import argument_names, prototype, real, sizes
from kinloop.compiler.plan.stage_types import Angles, Choose, Move, Operand, Plan, Repeat, Segment
from kinloop.compiler.signature import Signature

_INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
_CALLS = {f: f for f in ("tan", "asin", "acos", "atan", "atan2", "exp", "log", "sqrt", "floor")} | {"abs": "fabs"}


def source_text(function: str, header: str, signature: Signature, plan: Plan) -> str:
    """A plan as the source of a C function that a header declares."""
    arguments = argument_names(signature)
    lines = [f'#include "{header}.h"', "", "#include <math.h>", "#include <string.h>", ""]
    lines += [f"typedef {real(signature)} real;", ""]
    names: dict[int, list[str]] = {}
    lines += _helpers(plan)
    _write_plan(plan, signature.dtype == "float32", lines, names)
    inputs, outputs = sizes(signature)
    lines += [prototype(function, signature), "{", f"    real w[{max(plan.slots, 1)}];"]
    place = 0
    for k, (a, n) in enumerate(zip(arguments, inputs + outputs)):
        if k == len(inputs):
            lines += [f"    {f}(w);" for f in names[id(plan)]]
        if n:
            ends = (a, f"w + {place}") if k >= len(inputs) else (f"w + {place}", a)
            lines.append(f"    memcpy({ends[0]}, {ends[1]}, {n} * sizeof(real));")
        elif k < len(inputs):
            lines.append(f"    (void){a};")
        place += n
    return "\n".join([*lines, "}", ""])


def _write_plan(plan: Plan, single: bool, lines: list[str], names: dict[int, list[str]]) -> None:
    if id(plan) in names:
        return
    for stage in plan.stages:
        if isinstance(stage, Repeat):
            _write_plan(stage.body, single, lines, names)
    number = len(names)
    names[id(plan)] = [f"p{number}_{k}" for k in range(len(plan.stages))]
    prefix = f"p{number}_table"
    for k, table in plan.tables.items():
        if table.constants:
            numbers = ", ".join(_constant(x, single) for x in table.constants)
            lines += [f"static const real {prefix}{k}[{table.count}] = {{{numbers}}};", ""]
    for word, stage in zip(names[id(plan)], plan.stages, strict=True):
        lines += [f"static void {word}(real *w)", "{"]
        if isinstance(stage, Segment):
            lines += _segment(plan, stage, single, prefix)
        elif isinstance(stage, Angles):
            lines += [
                "    int i;",
                f"    for (i = 0; i < {stage.count}; i++) {{",
                f"        w[{stage.sin} + i] = (real)sin(w[{stage.at} + i]);",
                f"        w[{stage.cos} + i] = (real)cos(w[{stage.at} + i]);",
                "    }",
            ]
        elif isinstance(stage, Move):
            lines.append(f"    memcpy(w + {stage.target}, w + {stage.source}, {stage.count} * sizeof(real));")
        elif isinstance(stage, Choose):
            lines.append(f"    choose(w + {stage.at}, {stage.count}, {stage.stride}, w + {stage.out}, {stage.slots});")
        elif isinstance(stage, Repeat):
            lines += _repeat(stage, names[id(stage.body)])
        else:
            raise AssertionError("C is written operation by operation, without series")
        lines += ["}", ""]


def _repeat(stage: Repeat, body: list[str]) -> list[str]:
    if stage.rounds < 1:
        return ["    (void)w;"]
    n = stage.body.n_in
    copy = [f"        memcpy(w + {k}, w + {n + k}, {count} * sizeof(real));" for k, count in stage.copied]
    wanted = "" if stage.gate is None else f" && w[{stage.gate}] != 0"
    places, read, leave = [], [], []
    place = stage.body.n_in - sum(width for _, width in stage.tables)
    for k, (at, width) in enumerate(stage.tables):
        places.append(f"    const real *rows{k} = w + {at};")
        read.append(f"        memcpy(w + {place}, rows{k} + i * {width}, {width} * sizeof(real));")
        place += width
    if stage.left:
        places.append(f"    real *leaves = w + {stage.leaves};")
        row, first = f"leaves + i * {stage.left}", stage.body.n_in + stage.carried
        leave.append(f"        memcpy({row}, w + {first}, {stage.left} * sizeof(real));")
    clear = [f"    memset(leaves, 0, {stage.rounds * stage.left} * sizeof(real));"] if stage.cleared else []
    return [
        "    long i;",
        *places,
        *clear,
        f"    w += {stage.base};",
        f"    for (i = 0; i < {stage.rounds}{wanted}; i++) {{",
        *read,
        *[f"        {f}(w);" for f in body],
        *leave,
        *copy,
        "    }",
    ]


_HELPERS = """\
static real at(real x, long last)
{
    return x > 0 ? (x < last ? (real)(long)x : (real)last) : 0;
}

static void choose(const real *keys, long count, long stride, real *out, long slots)
{
    long n, k, worst, found = 0;
    for (k = 0; k <= slots; k++) out[k] = 0;
    for (n = 0; n < count; n++) {
        const real key = keys[n * stride];
        if (!(key < 0)) continue;
        if (found < slots) {
            out[found] = (real)n;
        } else if (slots > 0) {
            worst = 0;
            for (k = 1; k < slots; k++) {
                if (keys[(long)out[k] * stride] > keys[(long)out[worst] * stride]) worst = k;
            }
            if (key < keys[(long)out[worst] * stride]) out[worst] = (real)n;
        }
        found++;
    }
    out[slots] = (real)found;
}
"""


def _helpers(plan: Plan) -> list[str]:
    """C functions that some stages call, where there are such stages."""
    plans = [plan]
    for p in plans:
        plans += [stage.body for stage in p.stages if isinstance(stage, Repeat)]
    at, choose = _HELPERS.split("\n\n")
    reads = any(op == "take" for p in plans for op, _ in p.operations.values())
    chooses = any(isinstance(stage, Choose) for p in plans for stage in p.stages)
    return [*([at, ""] if reads else []), *([choose] if chooses else [])]


def _segment(plan: Plan, segment: Segment, single: bool, prefix: str) -> list[str]:
    here = set(segment.values)

    def read(x: Operand) -> str:
        if isinstance(x, int):
            return f"v{x}" if x in here else f"w[{plan.home[x]}]"
        return _constant(x, single)

    lines = [] if segment.gate is None else [f"    if (w[{segment.gate}] == 0) return;"]
    for v in segment.values:
        op, args = plan.operations[v]
        if op == "take" and isinstance(args[0], int):
            table = plan.tables[args[0]]
            first = f"{prefix}{args[0]}" if table.constants else f"(w + {table.at})"
            text = f"{first}[(long)at({read(args[1])}, {table.count - 1}) * {table.stride}]"
        else:
            text = _expression(op, [read(x) for x in args])
        lines.append(f"    const real v{v} = {text};")
        lines += [f"    w[{slot}] = v{v};" for slot in plan.stores.get(v, ())]
    lines += [f"    w[{slot}] = {read(x)};" for x, slot in segment.copies]
    return lines or ["    (void)w;"]


def _constant(x: float, single: bool) -> str:
    if x != x:
        return "(real)NAN"
    if x in (float("inf"), float("-inf")):
        return "(real)INFINITY" if x > 0 else "(-(real)INFINITY)"
    text = f"{x!r}{'f' if single else ''}"
    return f"({text})" if text.startswith("-") else text


def _expression(op: str, a: list[str]) -> str:
    if op in _INFIX:
        return f"{a[0]} {_INFIX[op]} {a[1]}"
    if op in _CALLS:
        return f"(real){_CALLS[op]}({', '.join(a)})"
    match op:
        case "neg":
            return f"-{a[0]}"
        case "lt" | "le":
            return f"(real)({a[0]} {'<' if op == 'lt' else '<='} {a[1]})"
        case "and" | "or":
            return f"(real)({a[0]} != 0 {'&&' if op == 'and' else '||'} {a[1]} != 0)"
        case "not":
            return f"(real)({a[0]} == 0)"
        case "where":
            return f"{a[0]} != 0 ? {a[1]} : {a[2]}"
        case "minimum" | "maximum":
            return f"({a[0]} {'<' if op == 'minimum' else '>'} {a[1]} || {a[0]} != {a[0]}) ? {a[0]} : {a[1]}"
    raise AssertionError(f"no C for operation {op!r}")
