"""A kernel as a handler of XLA's foreign functions, as the text of an LLVM module: @handler(call frame).

XLA hands over a call frame (xla/ffi/api/c_api.h, of which `abi.Frame` has the offsets): buffers of all inputs, each one
row or as many as the others, and of all outputs. @handler finds out how many rows there are and has them computed, by
one thread or, where they are worth it, by those of XLA that are free. No Python is needed.

@rows(start, stop, table) computes some of the rows, block by block: single precision is widened on the way in and
rounded on the way out, and where a judge (see `guarded_call`) finds fault with the first input outputs are nan.
"""

from __future__ import annotations

from dataclasses import dataclass

from kinloop.compiler.abi import CACHE_LINE, Frame, Job, symbol
from kinloop.compiler.emit.array_table import ENTRY, read_entry, write_entry
from kinloop.compiler.emit.ir import Module, Value, Writer

BLOCK = 32
"""Rows that are widened, judged and rounded together."""

_STACK_LIMIT = 1 << 16  # bytes of memory kept on the stack
_NAN = "0x7FF8000000000000"


@dataclass(frozen=True)
class Code:
    """Where the machine code of a kernel for rows is, and the bytes of its scratch array."""

    address: int
    scratch: int


@dataclass(frozen=True)
class Handler:
    """What a handler is made for: numbers per row of all inputs and outputs, code, and how much work a row is.

    `single` says whether buffers hold single precision. Of the outputs of the judge, `found` numbers, the first
    `judged` must not be above 1. `one` says that the code is that of a single row. Rows are shared by `threads`,
    `share` of them at a time, where there are `least` of them.
    """

    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    kernel: Code
    single: bool = False
    judge: Code | None = None
    found: int = 0
    judged: int = 0
    one: bool = False
    threads: int = 1
    share: int = 1
    least: int = 1

    @property
    def size(self) -> int:
        """Bytes of a number in a buffer."""
        return 4 if self.single else 8

    @property
    def in_blocks(self) -> bool:
        return self.single or self.judge is not None

    @property
    def block(self) -> int:
        return 1 if self.one else BLOCK


def handler_text(handler: Handler) -> str:
    """LLVM IR of @handler."""
    module = Module()
    for name, result, parameters in (
        ("PyMem_RawMalloc", "ptr", ["i64"]),
        ("PyMem_RawFree", "void", ["ptr"]),
        ("yield", "i32", []),
    ):
        module.declare(result, symbol(name), *parameters)
    _write_rows(module, handler)
    if handler.threads > 1:
        _write_work(module)
    _write_handler(module, handler)
    return module.text()


# --- rows


class _Memory:
    """What @rows works with besides the buffers: parts of one stretch of memory, one after the other."""

    def __init__(self) -> None:
        self.size = 0

    def part(self, size: int) -> int:
        """Where so many bytes begin, on a cache line."""
        at, self.size = self.size, self.size + -(-size // CACHE_LINE) * CACHE_LINE
        return at


def _write_rows(module: Module, h: Handler) -> None:
    """@rows(start, stop, table)."""
    memory = _Memory()
    scratch, table = memory.part(h.kernel.scratch), memory.part(ENTRY * (len(h.inputs) + len(h.outputs)))
    judging = [memory.part(x) for x in (h.judge.scratch, 2 * ENTRY, 8 * h.found * h.block)] if h.judge else []
    wide = [memory.part(8 * n * h.block) for n in (*h.inputs, *h.outputs)] if h.single else []
    with module.function("void", "rows", "i64 %start", "i64 %stop", "ptr %table") as w:
        base, heap = _memory(w, memory.size)
        at = [w.offset(base, x) for x in (scratch, table)]
        if not h.in_blocks:
            _run(w, h.kernel, "%start", "%stop", "%table", at[0])
        else:
            with w.count("%start", "%stop", h.block, at_least_once=True) as blocks:
                left = w.integer("sub", "%stop", blocks.index)
                rows = w.select(w.compare("ult", left, h.block), "i64", left, h.block)
                block = _Block(w, h, blocks.index, rows, [w.offset(base, x) for x in wide], at[1])
                block.take()
                _run(w, h.kernel, "0", rows, at[1], at[0])
                if h.judge is not None:
                    block.judge(h.judge, *(w.offset(base, x) for x in judging))
                block.give()
        if heap:
            w.call("void", symbol("PyMem_RawFree"), f"ptr {heap}")
        w.ret()


def _memory(w: Writer, size: int) -> tuple[str, str]:
    """Memory on a cache line, and what has to be freed, if anything."""
    if size <= _STACK_LIMIT:
        return w.new(f"alloca [{size} x i8], align {CACHE_LINE}"), ""
    heap = w.call("ptr", symbol("PyMem_RawMalloc"), f"i64 {size + CACHE_LINE}")
    number = w.integer("add", w.new(f"ptrtoint ptr {heap} to i64"), CACHE_LINE - 1)
    return w.new(f"inttoptr i64 {w.integer('and', number, -CACHE_LINE)} to ptr"), heap


def _run(w: Writer, code: Code, start: Value, stop: Value, table: str, scratch: str) -> None:
    """Have machine code compute rows."""
    function = w.new(f"inttoptr i64 {code.address} to ptr")
    w.new(f"call i64 {function}(i64 {start}, i64 {stop}, ptr {table}, ptr {scratch})")


class _Block:
    """Some rows of all arrays, from row `first` on: the kernel sees them as rows from 0 on, by a table of their own."""

    def __init__(self, w: Writer, h: Handler, first: str, rows: str, wide: list[str], table: str) -> None:
        self.w, self.h, self.first, self.rows, self.wide, self.table = w, h, first, rows, wide, table
        self._places = [read_entry(w, "%table", k) for k in range(len(h.inputs) + len(h.outputs))]

    def take(self) -> None:
        """Inputs where the kernel finds them; outputs where it is to write."""
        w, h = self.w, self.h
        for k, n in enumerate((*h.inputs, *h.outputs)):
            data, stride = self._places[k]
            start = w.offset(data, w.integer("mul", self.first, stride))
            if not h.single:
                write_entry(w, self.table, k, start, stride)
                continue
            wide = w.select(w.compare("eq", stride, 0), "i64", 0, 8 * n)
            write_entry(w, self.table, k, self.wide[k], wide)
            if k < len(h.inputs):
                count = w.select(w.compare("eq", stride, 0), "i64", n, w.integer("mul", self.rows, n))
                with w.count(0, count) as number:
                    x = w.load("float", w.offset(start, number.index, "float"), 4)
                    w.store("double", w.new(f"fpext float {x} to double"), self._wide(k, number.index), 8)

    def give(self) -> None:
        """Outputs in single precision, rounded."""
        w, h = self.w, self.h
        for k, n in enumerate(h.outputs, start=len(h.inputs)) if h.single else ():
            data, stride = self._places[k]
            start = w.offset(data, w.integer("mul", self.first, stride))
            with w.count(0, w.integer("mul", self.rows, n)) as number:
                x = w.load("double", self._wide(k, number.index), 8)
                w.store("float", w.new(f"fptrunc double {x} to float"), w.offset(start, number.index, "float"), 4)

    def _wide(self, k: int, number: str) -> str:
        return self.w.offset(self.wide[k], number, "double")

    def judge(self, code: Code, scratch: str, table: str, found: str) -> None:
        """Outputs of rows that are at fault become nan."""
        w, h = self.w, self.h
        data, stride = read_entry(w, self.table, 0)
        write_entry(w, table, 0, data, stride)
        write_entry(w, table, 1, found, 8 * h.found)
        _run(w, code, "0", self.rows, table, scratch)
        with w.count(0, self.rows, at_least_once=True) as row:
            good = "true"
            for k in range(h.judged):
                place = w.offset(found, w.integer("add", w.integer("mul", row.index, h.found), k), "double")
                within = w.new(f"fcmp ole double {w.load('double', place, 8)}, 1.0")
                good = w.integer("and", good, within, "i1")
            with w.when(w.integer("xor", good, "true", "i1")):
                for k, n in enumerate(h.outputs, start=len(h.inputs)):
                    base, _ = read_entry(w, self.table, k)
                    start = w.offset(base, w.integer("mul", row.index, 8 * n))
                    with w.count(0, n) as column:
                        w.store("double", _NAN, w.offset(start, column.index, "double"), 8)


# --- threads


def _write_work(module: Module) -> None:
    """@work(job): rows of a job, as long as there are any; @task(job), the same for a thread of XLA's."""
    with module.function("void", "work", "ptr %job") as w:
        rows, share = (w.load("i64", w.offset("%job", at), 8) for at in (Job.ROWS, Job.SHARE))
        table = w.offset("%job", Job.TABLE)
        again, some, done = w.label("again"), w.label("some"), w.label("done")
        w.jump(again)
        w.block(again)
        start = w.new(f"atomicrmw add ptr {w.offset('%job', Job.NEXT)}, i64 {share} seq_cst")
        w.branch(w.compare("ult", start, rows), some, done)
        w.block(some)
        left = w.integer("sub", rows, start)
        count = w.select(w.compare("ult", left, share), "i64", left, share)
        w.call("void", "rows", f"i64 {start}", f"i64 {w.integer('add', start, count)}", f"ptr {table}")
        w.new(f"atomicrmw add ptr {w.offset('%job', Job.DONE)}, i64 {count} seq_cst")
        w.jump(again)
        w.block(done)
        w.ret()
    with module.function("void", "release", "ptr %job") as w:
        users = w.new(f"atomicrmw sub ptr {w.offset('%job', Job.USERS)}, i64 1 seq_cst")
        with w.when(w.compare("eq", users, 1)):
            w.call("void", symbol("PyMem_RawFree"), "ptr %job")
        w.ret()
    with module.function("void", "task", "ptr %job") as w:
        w.call("void", "work", "ptr %job")
        w.call("void", "release", "ptr %job")
        w.ret()


def _share_out(w: Writer, h: Handler, rows: str, table: str) -> None:
    """Rows by this thread and those of XLA that come in time: who comes late finds nothing left and is not waited for.

    A job lives until the last of its users is gone.
    """
    entries = ENTRY * (len(h.inputs) + len(h.outputs))
    job = w.call("ptr", symbol("PyMem_RawMalloc"), f"i64 {Job.TABLE + entries}")
    for at, value in ((Job.NEXT, 0), (Job.DONE, 0), (Job.USERS, h.threads), (Job.ROWS, rows), (Job.SHARE, h.share)):
        w.store("i64", value, w.offset(job, at), 8)
    with w.count(0, entries, 8) as word:
        w.store("i64", w.load("i64", w.offset(table, word.index), 8), w.offset(w.offset(job, Job.TABLE), word.index), 8)
    api, context = w.load("ptr", w.offset("%frame", Frame.API), 8), w.load("ptr", w.offset("%frame", Frame.CONTEXT), 8)
    schedule = w.load("ptr", w.offset(api, Frame.SCHEDULE), 8)
    destroy = w.load("ptr", w.offset(api, Frame.DESTROY), 8)
    given = w.new("alloca [5 x i64], align 8")
    words: list[tuple[str, Value]] = [("i64", 40), ("ptr", "null"), ("ptr", context), ("ptr", "@task"), ("ptr", job)]
    for k, (kind, value) in enumerate(words):
        w.store(kind, value, w.offset(given, k, "i64"), 8)
    refused = w.new("alloca [3 x i64], align 8")
    with w.count(1, h.threads):
        error = w.new(f"call ptr {schedule}(ptr {given})")
        with w.when(w.compare("ne", error, "null", "ptr")):
            of_error: list[tuple[str, Value]] = [("i64", 24), ("ptr", "null"), ("ptr", error)]
            for k, (kind, value) in enumerate(of_error):
                w.store(kind, value, w.offset(refused, k, "i64"), 8)
            w.do(f"call void {destroy}(ptr {refused})")
            w.call("void", "release", f"ptr {job}")
    w.call("void", "work", f"ptr {job}")
    wait, waiting, all_done = w.label("wait"), w.label("waiting"), w.label("done")
    w.jump(wait)
    w.block(wait)
    finished = w.new(f"load atomic i64, ptr {w.offset(job, Job.DONE)} seq_cst, align 8")
    w.branch(w.compare("ult", finished, rows), waiting, all_done)
    w.block(waiting)
    w.call("i32", symbol("yield"))
    w.jump(wait)
    w.block(all_done)
    w.call("void", "release", f"ptr {job}")


# --- the call frame


def _write_handler(module: Module, h: Handler) -> None:
    """@handler(frame): null, which says that all went well."""
    with module.function("ptr", "handler", "ptr %frame", public=True) as w:
        table = w.new(f"alloca [{ENTRY * (len(h.inputs) + len(h.outputs))} x i8], align 8")
        extension = w.load("ptr", w.offset("%frame", Frame.EXTENSION), 8)
        with w.unless(w.compare("eq", extension, "null", "ptr")):
            _tell_version(w, extension)
        stage = w.load("i32", w.offset("%frame", Frame.STAGE), 4)
        with w.unless(w.compare("eq", stage, Frame.EXECUTE, "i32")):
            w.ret("ptr", "null")
        arguments, results = (w.load("ptr", w.offset("%frame", at), 8) for at in (Frame.ARGUMENTS, Frame.RESULTS))
        counts = [_count_rows(w, arguments, k, n) for k, n in enumerate(h.inputs)]
        rows: Value = 1
        for count, n in zip(counts, h.inputs, strict=True):
            rows = w.select(w.compare("ne", count, 1), "i64", count, rows) if n else rows
        for k, (count, n) in enumerate(zip(counts, h.inputs, strict=True)):
            stride = w.select(w.compare("eq", count, rows), "i64", n * h.size, 0)
            write_entry(w, table, k, _data(w, arguments, k), stride)
        for k, n in enumerate(h.outputs):
            write_entry(w, table, len(h.inputs) + k, _data(w, results, k), n * h.size)
        with w.unless(w.compare("ne", rows, 0)):
            w.ret("ptr", "null")
        _compute(w, h, str(rows), table)
        w.ret("ptr", "null")


def _compute(w: Writer, h: Handler, rows: str, table: str) -> None:
    """All rows, by one thread or several."""
    if h.threads == 1:
        w.call("void", "rows", "i64 0", f"i64 {rows}", f"ptr {table}")
        return
    several, alone, behind = w.label("several"), w.label("alone"), w.label("behind")
    w.branch(w.compare("uge", rows, h.least), several, alone)
    w.block(several)
    _share_out(w, h, rows, table)
    w.jump(behind)
    w.block(alone)
    w.call("void", "rows", "i64 0", f"i64 {rows}", f"ptr {table}")
    w.jump(behind)
    w.block(behind)


def _tell_version(w: Writer, extension: str) -> None:
    """Answer XLA's question for the version of the call frame that the handler knows; leave."""
    kind = w.load("i32", w.offset(extension, Frame.EXTENSION_TYPE), 4)
    with w.when(w.compare("eq", kind, Frame.METADATA, "i32")):
        metadata = w.load("ptr", w.offset(extension, Frame.METADATA_PLACE), 8)
        for at, value in ((Frame.MAJOR_PLACE, Frame.MAJOR), (Frame.MINOR_PLACE, Frame.MINOR), (Frame.TRAITS, 0)):
            w.store("i32", int(value), w.offset(metadata, at), 4)
    w.ret("ptr", "null")


def _count_rows(w: Writer, buffers: str, k: int, n: int) -> str:
    """How many rows of n numbers a buffer has."""
    buffer = w.load("ptr", w.offset(buffers, k, "ptr"), 8)
    rank, sizes = w.load("i64", w.offset(buffer, Frame.RANK), 8), w.load("ptr", w.offset(buffer, Frame.SIZES), 8)
    with w.count(0, rank, carry=[("i64", 1)]) as axis:
        size = w.load("i64", w.offset(sizes, axis.index, "i64"), 8)
        axis.following = [w.integer("mul", axis.carried[0], size)]
    return w.integer("udiv", axis.results[0], max(n, 1))


def _data(w: Writer, buffers: str, k: int) -> str:
    """Where the numbers of a buffer begin."""
    return w.load("ptr", w.offset(w.load("ptr", w.offset(buffers, k, "ptr"), 8), Frame.BUFFER_DATA), 8)
