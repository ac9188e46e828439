"""One segment of a plan as an LLVM function of the scratch pointer."""

from __future__ import annotations

from collections.abc import Callable

from kinloop.compiler.emit.ir import Vector, branch_if_any
from kinloop.compiler.fuse import Operation
from kinloop.compiler.plan import Operand, Plan, Segment

_ARITHMETIC = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
_INTRINSIC = {"sqrt": "sqrt", "abs": "fabs", "floor": "floor"}
_COMPARE = {"lt": "olt", "le": "ole"}
LANE_CALLS = {"tan": 1, "asin": 1, "acos": 1, "atan": 1, "exp": 1, "log": 1, "atan2": 2}


class SegmentWriter:
    """Writes the operations of one segment; values from elsewhere are loaded at their first use.

    A value is a number (`%v7`) or a truth value (`%b7`); each is converted where the other is wanted.
    """

    def __init__(self, plan: Plan, vector: Vector) -> None:
        self.plan, self.vector = plan, vector
        self.T, self.B, self.suffix = vector.type, vector.of("i1"), vector.suffix
        self.zero, self.one = vector.const(0.0), vector.const(1.0)
        self.align = min(vector.size, 64)
        self.lines: list[str] = []
        self.numbers: set[int] = set()
        self.truths: set[int] = set()
        self.constants: dict[float, str] = {}
        self.temporaries = 0

    def write(self, name: str, segment: Segment) -> list[str]:
        self.lines.append(f"define internal void @{name}(ptr noalias %w) #0 {{")
        operations, stores = self.plan.operations, self.plan.stores
        if segment.gate is not None:
            self.lines += [*branch_if_any(self.vector, "%w", segment.gate, "go", "end"), "end:", "  ret void", "go:"]
        for k in segment.values:
            self.operation(k, operations[k])
            for slot in stores.get(k, ()):
                self.store(k, slot)
        for x, slot in segment.copies:
            self.store(x, slot)
        self.lines += ["  ret void", "}"]
        return self.lines

    def temporary(self) -> str:
        self.temporaries += 1
        return f"%t{self.temporaries}"

    def address(self, slot: int) -> str:
        p = self.temporary()
        self.lines.append(f"  {p} = getelementptr i8, ptr %w, i64 {slot * self.vector.size}")
        return p

    def store(self, x: Operand, slot: int) -> None:
        value = self.number(x)
        self.lines.append(f"  store {self.T} {value}, ptr {self.address(slot)}, align {self.align}")

    def number(self, x: Operand) -> str:
        """The name of a value as a number."""
        if isinstance(x, float):
            return self.vector.const(x)
        if x not in self.numbers:
            self.numbers.add(x)
            if x in self.truths:
                self.lines.append(f"  %v{x} = select {self.B} %b{x}, {self.T} {self.one}, {self.T} {self.zero}")
            else:
                place = self.address(self.plan.home[x])
                self.lines.append(f"  %v{x} = load {self.T}, ptr {place}, align {self.align}")
        return f"%v{x}"

    def truth(self, x: Operand) -> str:
        """The name of a value as a truth value: not zero (so nan is true, as in NumPy)."""
        if isinstance(x, float):
            return self.vector.splat("i1", "false" if x == 0 else "true")
        if x not in self.truths:
            value = self.number(x)
            self.truths.add(x)
            self.lines.append(f"  %b{x} = fcmp une {self.T} {value}, {self.zero}")
        return f"%b{x}"

    def negative(self, x: Operand) -> str:
        if isinstance(x, float):
            return self.vector.const(-x)
        value, out = self.number(x), self.temporary()
        self.lines.append(f"  {out} = fneg {self.T} {value}")
        return out

    def operation(self, k: int, operation: Operation) -> None:
        op, args = operation
        if op in _ARITHMETIC:
            a, b = self.number(args[0]), self.number(args[1])
            self.lines.append(f"  %v{k} = {_ARITHMETIC[op]} {self.T} {a}, {b}")
        elif op in ("fma", "fms", "fnma"):
            x, y, z = args
            a = self.negative(x) if op == "fnma" else self.number(x)
            b = self.number(y)
            c = self.negative(z) if op == "fms" else self.number(z)
            T = self.T
            self.lines.append(f"  %v{k} = call {T} @llvm.fma.{self.suffix}({T} {a}, {T} {b}, {T} {c})")
        elif op in _LOGIC:
            _LOGIC[op](self, k, args)
            self.truths.add(k)
            return
        else:
            self.function(k, op, args)
        self.numbers.add(k)

    def function(self, k: int, op: str, args: tuple[Operand, ...]) -> None:
        T = self.T
        if op == "where":
            c, a, b = self.truth(args[0]), self.number(args[1]), self.number(args[2])
            self.lines.append(f"  %v{k} = select {self.B} {c}, {T} {a}, {T} {b}")
            return
        names = [self.number(x) for x in args]
        if op == "neg":
            self.lines.append(f"  %v{k} = fneg {T} {names[0]}")
        elif op in _INTRINSIC:
            self.lines.append(f"  %v{k} = call {T} @llvm.{_INTRINSIC[op]}.{self.suffix}({T} {names[0]})")
        elif op in ("minimum", "maximum"):
            self.extreme(k, "olt" if op == "minimum" else "ogt", *names)
        elif op in LANE_CALLS:
            self.lines.append(f"  %v{k} = call {T} @lanes_{op}({', '.join(f'{T} {x}' for x in names)})")
        else:
            raise AssertionError(f"no code for operation {op!r}")

    def extreme(self, k: int, order: str, a: str, b: str) -> None:
        """minimum, maximum as in NumPy: the first argument if it is nan or comes first, else the second."""
        first, nan, pick = self.temporary(), self.temporary(), self.temporary()
        self.lines += [
            f"  {first} = fcmp {order} {self.T} {a}, {b}",
            f"  {nan} = fcmp uno {self.T} {a}, {a}",
            f"  {pick} = or {self.B} {first}, {nan}",
            f"  %v{k} = select {self.B} {pick}, {self.T} {a}, {self.T} {b}",
        ]


def _compare(w: SegmentWriter, k: int, args: tuple[Operand, ...], op: str) -> None:
    a, b = w.number(args[0]), w.number(args[1])
    w.lines.append(f"  %b{k} = fcmp {_COMPARE[op]} {w.T} {a}, {b}")


def _join(w: SegmentWriter, k: int, args: tuple[Operand, ...], op: str) -> None:
    a, b = w.truth(args[0]), w.truth(args[1])
    w.lines.append(f"  %b{k} = {op} {w.B} {a}, {b}")


def _not(w: SegmentWriter, k: int, args: tuple[Operand, ...]) -> None:
    a = w.truth(args[0])
    w.lines.append(f"  %b{k} = xor {w.B} {a}, {w.vector.splat('i1', 'true')}")


_LOGIC: dict[str, Callable[[SegmentWriter, int, tuple[Operand, ...]], None]] = {
    "lt": lambda w, k, args: _compare(w, k, args, "lt"),
    "le": lambda w, k, args: _compare(w, k, args, "le"),
    "and": lambda w, k, args: _join(w, k, args, "and"),
    "or": lambda w, k, args: _join(w, k, args, "or"),
    "not": _not,
}


def lane_call(vector: Vector, name: str) -> list[str]:
    """A function of W lanes that calls libm for each: the same libm for every W. Single goes via double."""
    T, count = vector.type, LANE_CALLS[name]
    lines = [f"define internal {T} @lanes_{name}({', '.join(f'{T} %x{i}' for i in range(count))}) #0 {{"]
    out = "poison"
    for lane in range(vector.width):
        given = []
        for i in range(count):
            one = f"%x{i}"
            if vector.width > 1:
                lines.append(f"  %a{lane}_{i} = extractelement {T} %x{i}, i32 {lane}")
                one = f"%a{lane}_{i}"
            if vector.real == "float":
                lines.append(f"  %d{lane}_{i} = fpext float {one} to double")
                one = f"%d{lane}_{i}"
            given.append(f"double {one}")
        lines.append(f"  %r{lane} = call double @kinloop_{name}({', '.join(given)})")
        result = f"%r{lane}"
        if vector.real == "float":
            lines.append(f"  %f{lane} = fptrunc double {result} to float")
            result = f"%f{lane}"
        if vector.width > 1:
            lines.append(f"  %o{lane} = insertelement {T} {out}, {vector.real} {result}, i32 {lane}")
            result = f"%o{lane}"
        out = result
    return [*lines, f"  ret {T} {out}", "}"]
