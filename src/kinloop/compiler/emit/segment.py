"""One segment of a plan as an LLVM function of the scratch array and of where the plan's outputs lie."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from kinloop.compiler.emit.indexed_reads import write_take
from kinloop.compiler.emit.ir import INTRINSIC, LIKELY, Module, Writer
from kinloop.compiler.emit.lane_arithmetic import all_lanes, any_nonzero, in_all_lanes
from kinloop.compiler.emit.lane_calls import LANE_CALLS, lane_call
from kinloop.compiler.emit.stage_parameters import LAP, out_pointer, stage_parameters
from kinloop.compiler.emit.table_rows import Beside
from kinloop.compiler.emit.vector_type import Vector
from kinloop.compiler.emit.windows import Windows
from kinloop.compiler.plan.rare_values import Choice, find_choices
from kinloop.compiler.plan.stage_types import Operand, Pattern, Place, Plan, Segment

_ARITHMETIC = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
_FUSED = ("fma", "fms", "fnma")
_INTRINSIC = {"sqrt": "sqrt", "abs": "fabs", "floor": "floor"}
_EXTREME = {"minimum": "olt", "maximum": "ogt"}
_COMPARE = {"lt": "olt", "le": "ole"}
_JOIN = ("and", "or")
TRUTHS = (*_COMPARE, *_JOIN, "not")  # operations that answer yes or no


def write_segment(
    module: Module, name: str, plan: Plan, segment: Segment, vector: Vector, parts: Sequence[int],
    beside: Sequence[Beside],
) -> None:  # fmt: skip
    """@name(scratch, out, ...): the operations of a segment in order, each value stored where others look for it.

    It also takes pointers to slots that lie `beside`.
    """
    pointers = [f"ptr {b.pointer}" for b in beside]  # what is left may be written over a row
    with module.stage(name, *stage_parameters(parts), *pointers) as w:
        writer = SegmentWriter(w, plan, vector, parts, name.partition("_")[0], beside)
        if segment.gate is None:
            writer.write_segment(segment)
        else:
            with w.when(any_nonzero(w, vector, "%scratch", segment.gate)):
                writer.write_segment(segment)
        w.ret()


def write_pattern(module: Module, name: str, pattern: Pattern, vector: Vector) -> None:
    """@name(scratch, out, marks, constants): the operations of a lap, with its rows of the tables."""
    with module.stage(name, *LAP) as w:
        _LapWriter(w, pattern, vector).write(range(len(pattern.operations)))
        w.ret()


def table_name(prefix: str, number: int) -> str:
    """The name of a table of constants of the plan whose stages' names begin with `prefix`."""
    return f"@{prefix}_table{number}"


class OperationWriter:
    """Writes operations; values from elsewhere are loaded at their first use.

    A value has a name as a number, as a truth value, or both; each is made where it is first wanted.
    """

    def __init__(self, writer: Writer, code: Plan | Pattern, vector: Vector) -> None:
        self.writer, self.code, self.vector = writer, code, vector
        self.T, self.B = vector.type, vector.truth
        self.zero, self.one = vector.const(0.0), vector.const(1.0)
        self._fma = f"call {self.T} @{INTRINSIC}fma.{vector.suffix}({self.T}"
        self.numbers: dict[int, str] = {}
        self.truths: dict[int, str] = {}
        self.negatives: dict[str, str] = {}

    def write(self, values: Sequence[int]) -> None:
        for k in values:
            op, args = self.code.operations[k]
            if op in TRUTHS:
                self.truths[k] = self._truth_operation(op, args)
            else:
                self.numbers[k] = self.number_operation(op, args)
            if k in self.code.stores:
                self._store_home(k)

    def _store_home(self, k: int, name: str | None = None) -> None:
        """Store a value, or what has another name in its place, wherever others look for it."""
        for place in self.code.stores.get(k, ()):
            self.writer.store(self.T, name or self._number(k), self._address(place), self.vector.align)

    def _address(self, place: Any) -> str:
        """The address that a place stands for."""
        raise NotImplementedError

    def _fetch(self, x: int) -> str:
        """Load a value that was not made here."""
        return self.writer.load(self.T, self._address(self.code.home[x]), self.vector.align)

    def _store(self, x: Operand, place: Any) -> None:
        value = self._number(x)
        self.writer.store(self.T, value, self._address(place), self.vector.align)

    def _number(self, x: Operand) -> str:
        """The name of a value as a number."""
        if isinstance(x, float):
            return self.vector.const(x)
        name = self.numbers.get(x)
        if name is None:
            if x in self.truths:
                name = self._select(self.truths[x], self.one, self.zero)
            else:
                name = self._fetch(x)
            self.numbers[x] = name
        return name

    def _truth(self, x: Operand) -> str:
        """The name of a value as a truth value: not zero (so nan is true, as in NumPy)."""
        if isinstance(x, float):
            return self.vector.splat("i1", "false" if x == 0 else "true")
        if x not in self.truths:
            self.truths[x] = self._compare("une", self._number(x), self.zero)
        return self.truths[x]

    def _select(self, condition: str, a: str, b: str) -> str:
        return self.writer.new(f"select {self.B} {condition}, {self.T} {a}, {self.T} {b}")

    def _compare(self, order: str, a: str, b: str) -> str:
        return self.writer.new(f"fcmp {order} {self.T} {a}, {b}")

    def _negative(self, x: Operand) -> str:
        if isinstance(x, float):
            return self.vector.const(-x)
        name = self._number(x)
        if name not in self.negatives:
            self.negatives[name] = self.writer.new(f"fneg {self.T} {name}")
        return self.negatives[name]

    def _truth_operation(self, op: str, args: Sequence[Operand]) -> str:
        if op in _COMPARE:
            a, b = map(self._number, args)
            return self._compare(_COMPARE[op], a, b)
        truths = [self._truth(x) for x in args]
        if op == "not":
            return self.writer.new(f"xor {self.B} {truths[0]}, {self.vector.splat('i1', 'true')}")
        return self.writer.new(f"{op} {self.B} {truths[0]}, {truths[1]}")

    def number_operation(self, op: str, args: Sequence[Operand]) -> str:
        instruction = _ARITHMETIC.get(op)
        if instruction is not None:
            a, b = self._number(args[0]), self._number(args[1])
            return self.writer.new(f"{instruction} {self.T} {a}, {b}")
        if op in _FUSED:
            a = self._negative(args[0]) if op == "fnma" else self._number(args[0])
            b = self._number(args[1])
            c = self._negative(args[2]) if op == "fms" else self._number(args[2])
            return self.writer.new(f"{self._fma} {a}, {self.T} {b}, {self.T} {c})")
        if op == "where":
            condition = self._truth(args[0])
            return self._select(condition, self._number(args[1]), self._number(args[2]))
        return self._function(op, [self._number(x) for x in args])

    def _function(self, op: str, names: list[str]) -> str:
        if op == "neg":
            return self.writer.new(f"fneg {self.T} {names[0]}")
        if op in _INTRINSIC:
            return self._intrinsic(_INTRINSIC[op], *names)
        if op in _EXTREME:
            return self._extreme(_EXTREME[op], *names)
        if op in LANE_CALLS:
            return lane_call(self.writer, self.vector, op, *names)
        raise AssertionError(f"no code for operation {op!r}")

    def _intrinsic(self, name: str, *names: str) -> str:
        return self.writer.call(self.T, f"{INTRINSIC}{name}.{self.vector.suffix}", *[f"{self.T} {x}" for x in names])

    def _extreme(self, order: str, a: str, b: str) -> str:
        """minimum, maximum as in NumPy: the first argument if it is nan or comes first, else the second."""
        extreme = self._select(self._compare(order, a, b), a, b)  # one instruction of the processor
        return self._select(self._compare("uno", a, a), a, extreme)


class SegmentWriter(OperationWriter):
    """Writes the operations of a segment, whose values wait in slots of the scratch array."""

    code: Plan

    def __init__(
        self, writer: Writer, code: Plan, vector: Vector, parts: Sequence[int], prefix: str,
        beside: Sequence[Beside] = (),
    ) -> None:  # fmt: skip
        super().__init__(writer, code, vector)
        self.parts, self.prefix, self.beside = parts, prefix, beside
        self.choices: dict[int, Choice] = {}
        self.used: set[Operand] = set()
        self.windows: Windows | None = None

    def write_segment(self, segment: Segment) -> None:
        """All operations, then the copies; for one state, usual choices as branches."""
        values = segment.values
        self.windows = Windows(self.writer, self.code, segment, self.vector, [b.slots for b in self.beside])
        usual = self._branching(values)
        if usual:
            kept = {*self.code.stores, *(x for x, _ in segment.copies if isinstance(x, int))}
            self.choices = find_choices(values, self.code.operations, usual, kept)
            self.used = {x for v in values for x in self.code.operations[v][1]} | {x for x, _ in segment.copies}
            apart = {v for choice in self.choices.values() for v in (*choice.members[1:], *choice.rare)}
            self._read_early(values, apart)
            values = tuple(v for v in values if v not in apart)
        self.write(values)
        for x, slot in segment.copies:
            self._store(x, slot)

    def _read_early(self, values: Sequence[int], apart: set[int]) -> None:
        """Read inputs that are written over here before that: what is computed apart comes later than its turn."""
        over = {slot for v in values for slot in self.code.stores.get(v, ()) if slot in self.code.in_place}
        read = {x for v in apart for x in self.code.operations[v][1] if isinstance(x, int)} if over else set()
        for x in sorted(read):
            if x not in self.code.operations and self.code.home.get(x) in over:
                self._number(x)

    def _branching(self, values: Sequence[int]) -> set[int]:
        """The usual choices that become branches: of lanes those with a condition, the others are one instruction."""
        lanes = self.vector.width > 1
        return {v for v in self.code.usual.intersection(values) if not lanes or self.code.operations[v][0] == "where"}

    def write(self, values: Sequence[int]) -> None:
        done = 0
        for n, k in enumerate(values):
            if k in self.choices:
                super().write(values[done:n])
                self._write_choice(self.choices[k])
                done = n + 1
        super().write(values[done:])

    def number_operation(self, op: str, args: Sequence[Operand]) -> str:
        if op != "take" or not isinstance(args[0], int):
            return super().number_operation(op, args)
        table = self.code.tables[args[0]]
        self.writer.alone = False
        at = table_name(self.prefix, args[0]) if table.constants else self._address(table.at)
        return write_take(self.writer, self.vector, table, at, self._number(args[1]))

    def _write_choice(self, choice: Choice) -> None:
        """Go on with the usual values, or by way of a block that makes the rare ones.

        Values that nothing here uses are stored before it is known, and stored over on that way.
        """
        w, arguments = self.writer, [self.code.operations[k] for k in choice.members]
        op, args = arguments[0]
        seen = [k for k in choice.members if k in self.used]
        if op == "where":
            condition, first = self._truth(args[0]), [x[1] for _, x in arguments]
        else:
            a, b = map(self._number, args)
            condition, first = self._compare(_EXTREME[op], a, b), [args[0]]
        usual = {k: self._number(x) for k, x in zip(choice.members, first, strict=True) if k in self.used}
        before, rare, on = w.here, w.label("rare"), w.label("on")
        known = self._known()
        if self.vector.width > 1:
            before = w.label("usually")
            w.branch(all_lanes(w, self.vector, condition), before, rare)
            w.block(before)
        for k, x in zip(choice.members, first, strict=True):
            if k not in self.used and self.code.stores.get(k) != (self._slot(x),):
                self._store_home(k, self._number(x))
        if self.vector.width > 1:
            w.jump(on)
            self.numbers, self.truths, self.negatives = dict(known[0]), dict(known[1]), dict(known[2])
        else:
            w.branch(condition, on, rare, LIKELY)
            known = self._known()
        w.block(rare)
        others = self._others(choice, condition, first)
        for k, x in others.items():
            if k not in self.used:
                self._store_home(k, x)
        after = w.here
        w.jump(on)
        w.block(on)
        # what was made or loaded on the way is not there if the way was not taken
        self.numbers, self.truths, self.negatives = known
        for k in seen:
            self.numbers[k] = w.phi(self.T, (usual[k], before), (others[k], after))
        for k in seen:
            self._store_home(k)

    def _others(self, choice: Choice, condition: str, first: Sequence[Operand]) -> dict[int, str]:
        """What the members of a choice are where not all states have the usual values, and all that this needs."""
        arguments = [self.code.operations[k] for k in choice.members]
        if arguments[0][0] != "where":
            a, b = map(self._number, arguments[0][1])
            return {choice.members[0]: self._select(self._compare("uno", a, a), a, b)}
        self.write([k for k in choice.rare if k not in self._later(choice)])
        found = [self._number(x[2]) for _, x in arguments]
        if self.vector.width > 1:
            found = [self._select(condition, self._number(x), y) for x, y in zip(first, found, strict=True)]
        return dict(zip(choice.members, found, strict=True))

    def _known(self) -> tuple[dict[int, str], dict[int, str], dict[str, str]]:
        """Copies of the names of all that was made so far."""
        return dict(self.numbers), dict(self.truths), dict(self.negatives)

    def _slot(self, x: Operand) -> int | None:
        """The slot where a value lies that was not made here."""
        return None if isinstance(x, float) else self.code.home.get(x)

    def _later(self, choice: Choice) -> set[int]:
        """Members of choices among the rare values that are written with the first of them."""
        return {v for k in choice.rare if k in self.choices for v in self.choices[k].members[1:]}

    def _address(self, place: int) -> str:
        for pointer, slots in self.beside:
            if place in slots:
                return self.writer.offset(pointer, (place - slots.start) * self.vector.size)
        output = place - self.code.n_in
        if self.vector.width == 1 and 0 <= output < self.code.n_out:  # those of W states are in their slots
            part = bisect_right(self.parts, output) - 1
            return self.writer.offset(out_pointer(part), (output - self.parts[part]) * self.vector.size)
        seen = self.windows.address(place) if self.windows else None
        return seen or self.writer.offset("%scratch", place * self.vector.size)


class _LapWriter(OperationWriter):
    """Writes the operations of a pattern: marks, in bytes, and constants are read from the rows of a lap."""

    code: Pattern

    def __init__(self, writer: Writer, code: Pattern, vector: Vector) -> None:
        super().__init__(writer, code, vector)
        self.marks: dict[tuple[int | None, bool], str] = {(None, False): "%scratch", (None, True): "%out"}

    def _address(self, place: Place) -> str:
        base = (place.mark, place.output)
        if base not in self.marks:
            mark = self.writer.load("i32", self.writer.offset("%marks", place.mark or 0, "i32"), 4)
            mark = self.writer.new(f"sext i32 {mark} to i64")
            self.marks[base] = self.writer.offset("%out" if place.output else "%scratch", mark)
        return self.writer.offset(self.marks[base], place.shift * self.vector.size)

    def _fetch(self, x: int) -> str:
        column = self.code.columns.get(x)
        if column is None:
            return super()._fetch(x)
        real = self.vector.real
        number = self.writer.load(real, self.writer.offset("%constants", column, real), self.vector.real_size)
        return in_all_lanes(self.writer, self.vector, number)
