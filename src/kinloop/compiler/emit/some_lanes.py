"""Reads and writes of some lanes of a vector: what the others would reach is left alone."""

from __future__ import annotations

from kinloop.compiler.emit.ir import INTRINSIC, Module, Writer
from kinloop.compiler.emit.vector_type import Vector


def declare_masked(module: Module, vector: Vector) -> None:
    """Declare what the functions of this module call, for vectors of several lanes."""
    T, mask = vector.type, vector.truth
    if vector.width > 1:
        module.declare(T, _name("load", vector), "ptr", "i32 immarg", mask, T)
        module.declare("void", _name("store", vector), T, "ptr", "i32 immarg", mask)


def masked_load(w: Writer, vector: Vector, place: str, lanes: range) -> str:
    """The numbers of `lanes`, lane 0 at `place`; zeros in the others."""
    given = f"ptr {place}", f"i32 {vector.real_size}", _mask(vector, lanes), f"{vector.type} {vector.const(0.0)}"
    return w.call(vector.type, _name("load", vector), *given)


def masked_store(w: Writer, vector: Vector, value: str, place: str, lanes: range) -> None:
    """Write the numbers of `lanes`, with lane 0 at `place`."""
    given = f"{vector.type} {value}", f"ptr {place}", f"i32 {vector.real_size}", _mask(vector, lanes)
    w.call("void", _name("store", vector), *given)


def _mask(vector: Vector, lanes: range) -> str:
    chosen = ", ".join(f"i1 {'true' if k in lanes else 'false'}" for k in range(vector.width))
    return f"{vector.truth} <{chosen}>"


def _name(what: str, vector: Vector) -> str:
    return f"{INTRINSIC}masked.{what}.{vector.suffix}.p0"
