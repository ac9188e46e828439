"""The one writer of LLVM IR: functions, basic blocks, branches and counted loops, as text.

Values and labels get names of their own, so that the pieces of a function can be written by functions that
know nothing of each other. A value is a name (`%7`, `%row`, `@angles`) or a constant.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence

Value = str | int
INTRINSIC = "llvm."  # what the names of functions begin with that LLVM knows
LIKELY, UNLIKELY = ", !prof !0", ", !prof !1"  # which way a branch goes, for the layout of the machine code
_PROFILES = ('!0 = !{!"branch_weights", i32 2000, i32 1}', '!1 = !{!"branch_weights", i32 1, i32 2000}')


ANYWHERE = "nonlazybind"
"""Says of a function that it is called by its whole address: another module may lie farther away than 2 GB.

LLVM counts the room for addresses before it loads a module, and not those of functions that are called otherwise.
"""

PART = 6000
"""Lines that are worth a module of their own: LLVM takes 80 ms for them, and 2 ms for a module without any."""


class Module:
    """The text of a kernel, function by function: an LLVM module, or several that are loaded together.

    With `send`, a large kernel is cut into modules that can be compiled side by side: whenever stages of PART lines are
    written they are sent, as a module, and `text` is the last one, which calls them. Where a kernel is cut depends on
    nothing but its text.
    """

    def __init__(self, send: Callable[[str], None] | None = None) -> None:
        self._send = send
        self._intrinsics: list[str] = []
        self._lines: list[str] = []
        self._numbers: dict[int, tuple[str, Sequence[float]]] = {}
        self._stages: list[tuple[str, Sequence[str], list[str]]] = []  # those not sent yet: name, parameters, body

    def declare(self, result: str, name: str, *parameters: str) -> None:
        """A function that is defined elsewhere."""
        line = _declared(result, name, parameters)
        if name.startswith(INTRINSIC):
            self._intrinsics.append(line)
        else:
            self._lines.append(f"{line} {ANYWHERE}")

    def declare_object(self, name: str) -> None:
        """An object that lies elsewhere; only its address is used."""
        self._lines.append(f"@{name} = external global i8")

    def table(self, name: str, kind: str, entries: Iterable[str]) -> None:
        """Constants of one type, side by side."""
        listed = [f"{kind} {entry}" for entry in entries]
        self._lines.append(f"@{name} = internal constant [{len(listed)} x {kind}] [{', '.join(listed)}]")

    def numbers(
        self, name: str, kind: str, entries: Sequence[float], texts: Callable[[Sequence[float]], Iterable[str]]
    ) -> None:
        """A table of numbers as `texts` writes them; the same entries under a second name are not written again."""
        first, _ = self._numbers.setdefault(id(entries), (name, entries))
        if first == name:
            self.table(name, kind, texts(entries))
        else:
            self._lines.append(f"@{name} = internal alias [{len(entries)} x {kind}], ptr @{first}")

    @contextlib.contextmanager
    def function(self, result: str, name: str, *parameters: str, public: bool = False) -> Iterator[Writer]:
        """Define a function with parameters `type %name`; what the writer writes is its body."""
        writer = Writer()
        yield writer
        self._lines += _defined(f"{'' if public else 'internal '}{result}", name, parameters, writer.lines)

    @contextlib.contextmanager
    def stage(self, name: str, *parameters: str) -> Iterator[Writer]:
        """Define a function without a result that may go to another module, if it uses nothing of this one."""
        writer = Writer()
        yield writer
        if writer.alone:
            self._stages.append((name, parameters, writer.lines))
        else:
            self._lines += _defined("internal void", name, parameters, writer.lines)
        if self._send and sum(len(body) for *_, body in self._stages) >= PART:
            self._send(self._text([line for stage in self._stages for line in _defined("void", *stage)]))
            self._lines += [f"{_declared('void', name, given)} {ANYWHERE}" for name, given, _ in self._stages]
            self._stages = []

    def text(self) -> str:
        """All that was not sent."""
        return self._text([*(x for stage in self._stages for x in _defined("internal void", *stage)), *self._lines])

    def _text(self, lines: list[str]) -> str:
        return "\n".join([*self._intrinsics, *lines, "attributes #0 = { nounwind }", *_PROFILES, ""])


def _declared(result: str, name: str, parameters: Sequence[str]) -> str:
    return f"declare {result} @{name}({', '.join(x.partition(' %')[0] for x in parameters)})"


def _defined(result: str, name: str, parameters: Sequence[str], body: Sequence[str]) -> list[str]:
    return [f"define {result} @{name}({', '.join(parameters)}) #0 {{", *body, "}"]


class Writer:
    """Writes the body of one function, instruction by instruction; `here` is the label of the present block.

    It is `alone` as long as it uses nothing that its module defines. Values are numbered, since LLVM keeps names.
    """

    def __init__(self) -> None:
        self.here = "entry"
        self.lines = ["entry:"]
        self.alone = True
        self._values = self._labels = 0

    def new(self, instruction: str) -> str:
        """Number the value of an instruction."""
        name = f"%{self._values}"
        self._values += 1
        self.lines.append(f"{name} = {instruction}")
        return name

    def do(self, instruction: str) -> None:
        """An instruction without a value."""
        self.lines.append(instruction)

    def integer(self, operation: str, a: Value, b: Value, kind: str = "i64") -> str:
        return self.new(f"{operation} {kind} {a}, {b}")

    def compare(self, order: str, a: Value, b: Value, kind: str = "i64") -> str:
        """Compare integers or pointers."""
        return self.new(f"icmp {order} {kind} {a}, {b}")

    def select(self, condition: str, kind: str, a: Value, b: Value) -> str:
        return self.new(f"select i1 {condition}, {kind} {a}, {kind} {b}")

    def call(self, result: str, name: str, *arguments: str) -> str:
        """Call a function with arguments `type value`; the name of its value, if it has one."""
        self.alone = self.alone and name.startswith(INTRINSIC)
        text = f"call {result} @{name}({', '.join(arguments)})"
        if result == "void":
            self.do(text)
            return ""
        return self.new(text)

    def offset(self, base: str, count: Value, unit: str = "i8") -> str:
        """The address `count` units (bytes, unless said otherwise) behind `base`."""
        return self.new(f"getelementptr {unit}, ptr {base}, i64 {count}")

    def load(self, kind: str, place: str, align: int) -> str:
        return self.new(f"load {kind}, ptr {place}, align {align}")

    def store(self, kind: str, value: Value, place: str, align: int) -> None:
        self.do(f"store {kind} {value}, ptr {place}, align {align}")

    def ret(self, kind: str = "void", value: Value = "") -> None:
        """Return from the function."""
        self.do(f"ret {kind} {value}".rstrip())

    def label(self, hint: str) -> str:
        """A new label."""
        self._labels += 1
        return f"{hint}{self._labels}"

    def block(self, label: str) -> None:
        """Begin the basic block of this label."""
        self.lines.append(f"{label}:")
        self.here = label

    def jump(self, label: str) -> None:
        self.do(f"br label %{label}")

    def branch(self, condition: str, yes: str, no: str, profile: str = "") -> None:
        self.do(f"br i1 {condition}, label %{yes}, label %{no}{profile}")

    def require(self, condition: str, otherwise: str) -> None:
        """Go on if the condition holds, as it usually does, else at the label `otherwise`."""
        on = self.label("on")
        self.branch(condition, on, otherwise, LIKELY)
        self.block(on)

    @contextlib.contextmanager
    def unless(self, condition: str) -> Iterator[None]:
        """The body runs if the condition does not hold, which is rare, and ends by leaving the function."""
        without, on = self.label("without"), self.label("on")
        self.branch(condition, on, without, LIKELY)
        self.block(without)
        yield
        self.block(on)

    def phi(self, kind: str, *edges: tuple[Value, str]) -> str:
        """One value for each block that leads here."""
        return self.new(f"phi {kind} {_edges(edges)}")

    @contextlib.contextmanager
    def when(self, condition: str, profile: str = "") -> Iterator[Branch]:
        """The body runs only if the condition holds; then the code goes on behind it."""
        inside, behind = self.label("when"), self.label("behind")
        branch = Branch(self, before=self.here)
        self.branch(condition, inside, behind, profile)
        self.block(inside)
        yield branch
        branch.inside = self.here
        self.jump(behind)
        self.block(behind)

    @contextlib.contextmanager
    def count(
        self,
        start: Value,
        stop: Value,
        step: int = 1,
        carry: Sequence[tuple[str, Value]] = (),
        at_least_once: bool = False,
    ) -> Iterator[Loop]:
        """The body runs with `index` = start, start + step, ... below stop.

        `carry` lists type and first value of what the rounds hand on: `carried` holds these values in a
        round, the body sets `following`, and `results` are the last ones. `at_least_once` says that start
        is below stop, which saves the test before the first round.
        """
        if isinstance(start, int) and isinstance(stop, int):
            at_least_once = start < stop
        loop = Loop(self, carry, head=self.label("round"), end=self.label("end"))
        before = self.here
        if at_least_once:
            self.jump(loop.head)
        else:
            self.branch(self.compare("ult", start, stop), loop.head, loop.end)
            loop.leaves(before, [first for _, first in carry])
        self.block(loop.head)
        place = len(self.lines)
        self.lines.extend([""] * (1 + len(carry)))  # the phis; what comes from the end of the body is not known yet
        yield loop
        index = self.integer("add", loop.index, step)
        self.branch(self.compare("ult", index, stop), loop.head, loop.end)
        phis: list[tuple[str, str, Value, Value]] = [("i64", loop.index, start, index)]
        phis += [(kind, x, first, y) for (kind, first), x, y in zip(carry, loop.carried, loop.following, strict=True)]
        for k, (kind, name, first, following) in enumerate(phis):
            self.lines[place + k] = f"{name} = phi {kind} {_edges([(first, before), (following, self.here)])}"
        loop.leaves(self.here, loop.following)
        self.block(loop.end)
        loop.finish()


class Branch:
    """A body under a condition."""

    def __init__(self, writer: Writer, before: str) -> None:
        self._writer, self._before, self.inside = writer, before, ""

    def merge(self, kind: str, inside: Value, otherwise: Value) -> str:
        """Behind the body: the first value if it ran, else the second."""
        return self._writer.phi(kind, (inside, self.inside), (otherwise, self._before))


class Loop:
    """A counted loop: its index, and the values its rounds hand on; see `Writer.count`."""

    def __init__(self, writer: Writer, carry: Sequence[tuple[str, Value]], head: str, end: str) -> None:
        self._writer, self.head, self.end = writer, head, end
        self.index = f"%{head}.index"
        self.carried = [f"%{head}.carried{k}" for k in range(len(carry))]
        self.following: Sequence[Value] = []
        self.results: list[Value] = []
        self._kinds = [kind for kind, _ in carry]
        self._exits: list[tuple[str, Sequence[Value]]] = []

    def leave_unless(self, condition: str) -> None:
        """End the loop here, with the values this round began with, unless the condition holds."""
        on = self._writer.label("on")
        self.leaves(self._writer.here, self.carried)
        self._writer.branch(condition, on, self.end)
        self._writer.block(on)

    def leaves(self, block: str, values: Sequence[Value]) -> None:
        """Note that `block` leads to the end of the loop with these results."""
        self._exits.append((block, values))

    def finish(self) -> None:
        """Write the results, at the loop's end."""
        for k, kind in enumerate(self._kinds):
            edges = [(values[k], block) for block, values in self._exits]
            self.results.append(edges[0][0] if len(edges) == 1 else self._writer.phi(kind, *edges))


def _edges(edges: Sequence[tuple[Value, str]]) -> str:
    return ", ".join(f"[ {value}, %{block} ]" for value, block in edges)
