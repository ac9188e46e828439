"""The keywords that a builtin reads itself, as LLVM IR: `out=` with ready arrays, and `threads=1`.

A name counts if it is the very string that Python's compiler makes of it, the 1 if it is Python's own: looked at by
their addresses. Other names, and those that a program has put together, go the slow way.
"""

from __future__ import annotations

from typing import NamedTuple

from kinloop.compiler.abi import TYPE, symbol
from kinloop.compiler.emit.ir import Module, Value, Writer

_NONE, _ONE = f"@{symbol('None')}", f"@{symbol('one')}"


class Given(NamedTuple):
    """Arguments in a row as if none had a name, how many they are, and whether one thread was asked for."""

    arguments: str
    total: str
    one_thread: str


def declare_keywords(module: Module) -> None:
    """What `read_keywords` refers to."""
    for name in ("None", "one", "out", "threads", "tuple"):
        module.declare_object(symbol(name))
    module.declare("i64", symbol("PyTuple_Size"), "ptr")
    module.declare("ptr", symbol("PyTuple_GetItem"), "ptr", "i64")


def read_keywords(w: Writer, place: str, n_in: int, n_out: int, slow: str) -> Given:
    """Read %args, %nargs and %kwnames; go on at `slow` if a keyword is not expected.

    `place` has room for all inputs and outputs.
    """
    named, with_out, ready = w.label("named"), w.label("with_out"), w.label("ready")
    before = w.here
    w.branch(w.compare("eq", "%kwnames", "null", "ptr"), ready, named)
    w.block(named)
    out, threads = _values(w, slow)
    one = w.compare("eq", threads, _ONE, "ptr")
    w.require(w.integer("or", one, w.compare("eq", threads, _NONE, "ptr"), "i1"), otherwise=slow)
    after_names = w.here
    w.branch(w.compare("eq", out, _NONE, "ptr"), ready, with_out)
    w.block(with_out)
    w.require(w.compare("eq", "%nargs", n_in), otherwise=slow)
    for k in range(n_in):
        _set(w, place, k, w.load("ptr", w.offset("%args", k, "ptr"), 8))
    _append(w, place, n_in, n_out, out, slow)
    after_out = w.here
    w.jump(ready)
    w.block(ready)
    return Given(
        w.phi("ptr", ("%args", before), ("%args", after_names), (place, after_out)),
        w.phi("i64", ("%nargs", before), ("%nargs", after_names), (n_in + n_out, after_out)),
        w.phi("i1", ("false", before), (one, after_names), (one, after_out)),
    )


def _values(w: Writer, slow: str) -> tuple[str, str]:
    """The values of `out=` and `threads=`, None for what is not among the keywords."""
    count = w.call("i64", symbol("PyTuple_Size"), "ptr %kwnames")
    with w.count(0, count, carry=[("ptr", _NONE), ("ptr", _NONE)]) as k:
        name = w.call("ptr", symbol("PyTuple_GetItem"), "ptr %kwnames", f"i64 {k.index}")
        value = w.load("ptr", w.offset("%args", w.integer("add", "%nargs", k.index), "ptr"), 8)
        is_out, is_threads = (w.compare("eq", name, f"@{symbol(x)}", "ptr") for x in ("out", "threads"))
        w.require(w.integer("or", is_out, is_threads, "i1"), otherwise=slow)
        is_named = zip((is_out, is_threads), k.carried, strict=True)
        k.following = [w.select(this, "ptr", value, so_far) for this, so_far in is_named]
    out, threads = map(str, k.results)
    return out, threads


def _append(w: Writer, place: str, n_in: int, n_out: int, out: str, slow: str) -> None:
    """The arrays of `out` behind the inputs: itself if there is one output, else those of a tuple."""
    if n_out == 1:
        _set(w, place, n_in, out)
        return
    kind = w.load("ptr", w.offset(out, TYPE), 8)
    w.require(w.compare("eq", kind, f"@{symbol('tuple')}", "ptr"), otherwise=slow)
    size = w.call("i64", symbol("PyTuple_Size"), f"ptr {out}")
    w.require(w.compare("eq", size, n_out), otherwise=slow)
    for k in range(n_out):
        _set(w, place, n_in + k, w.call("ptr", symbol("PyTuple_GetItem"), f"ptr {out}", f"i64 {k}"))


def _set(w: Writer, place: str, k: int, value: Value) -> None:
    w.store("ptr", value, w.offset(place, k, "ptr"), 8)
