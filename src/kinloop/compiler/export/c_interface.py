"""The C interface of exported kernels: identifiers, prototypes, a header, an example that calls one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from kinloop.compiler.signature import Signature

_KEYWORDS = """
    auto break case char const continue default do double else enum extern float for goto if inline int long
    register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while
    main w i k real
"""
_RESERVED = frozenset(_KEYWORDS.split())


def identifiers(names: Iterable[str], prefix: str = "") -> list[str]:
    """C identifiers for names from anywhere: ASCII letters, digits, underscores; short, distinct, not reserved."""
    out: list[str] = []
    for name in names:
        base = prefix + re.sub(r"[^A-Za-z0-9]+", "_", str(name)).strip("_")[:40]
        if not re.match(r"[A-Za-z]", base) or base in _RESERVED:
            base = f"x_{base}"
        word, count = base, 1
        while word in out:
            count += 1
            word = f"{base}_{count}"
        out.append(word)
    return out


def function_name(name: str) -> str:
    """What an exported kernel is called."""
    return identifiers([name], "kl_")[0]


def sizes(signature: Signature) -> tuple[list[int], list[int]]:
    """Numbers of every input, and of every output."""
    return list(signature.inputs.values()), signature.output_sizes


def argument_names(signature: Signature) -> list[str]:
    """Identifiers of all inputs, then of all outputs."""
    return identifiers([*signature.inputs, *signature.outputs])


def real(signature: Signature) -> str:
    """The type of its numbers."""
    return "double" if signature.dtype == "float64" else "float"


def prototype(function: str, signature: Signature) -> str:
    """The C function of a kernel, inputs first."""
    n_in, kind = len(signature.inputs), real(signature)
    parts = [f"{'const ' if k < n_in else ''}{kind} *{a}" for k, a in enumerate(argument_names(signature))]
    return f"void {function}({', '.join(parts) or 'void'})"


def header_text(name: str, functions: Mapping[str, Signature]) -> str:
    """A header with the functions of some kernels."""
    guard = f"{name.upper()}_H"
    lines = [
        f"#ifndef {guard}",
        f"#define {guard}",
        "",
        "#ifdef __cplusplus",
        'extern "C" {',
        "#endif",
        "",
        "/* Made by kinloop. Arrays are row-major; nothing is allocated; safe to call from many threads. */",
    ]
    for function, signature in functions.items():
        inputs, outputs = sizes(signature)
        shown = [f"{a}[{n}]" for a, n in zip(argument_names(signature), inputs + outputs)]
        lines += [
            "",
            f"/* In: {', '.join(shown[: len(inputs)])}. Out: {', '.join(shown[len(inputs) :])}. */",
            f"{prototype(function, signature)};",
        ]
    return "\n".join([*lines, "", "#ifdef __cplusplus", "}", "#endif", "", "#endif", ""])


def main_text(name: str, signature: Signature) -> str:
    """A program that calls a kernel on numbers from standard input."""
    inputs, outputs = sizes(signature)
    kind, total = real(signature), sum(inputs)
    starts = [sum((inputs + outputs)[:k]) for k in range(len(inputs) + len(outputs))]
    given = ", ".join(f"x + {s}" for s in starts)
    lines = [
        "/* Reads the inputs, number by number, from standard input; prints the outputs, one per line. */",
        "#include <stdio.h>",
        "",
        f'#include "{name}.h"',
        "",
        "int main(void)",
        "{",
        f"    static {kind} x[{max(total + sum(outputs), 1)}];",
        "    double number;",
        "    int k;",
        f"    for (k = 0; k < {total}; k++) {{",
        '        if (scanf("%lf", &number) != 1) {',
        f'            fprintf(stderr, "expected {total} numbers, received %d\\n", k);',
        "            return 1;",
        "        }",
        f"        x[k] = ({kind})number;",
        "    }",
        f"    {name}({given});",
        f"    for (k = {total}; k < {total + sum(outputs)}; k++) {{",
        '        printf("%.17g\\n", (double)x[k]);',
        "    }",
        "    return 0;",
        "}",
        "",
    ]
    return "\n".join(lines)
