"""Functions of libm, lane by lane, as LLVM IR."""

from __future__ import annotations

from kinloop.compiler.abi import symbol
from kinloop.compiler.emit.ir import Module, Writer
from kinloop.compiler.emit.vector_type import Vector

LANE_CALLS = {"tan": 1, "asin": 1, "acos": 1, "atan": 1, "exp": 1, "log": 1, "atan2": 2}  # how many arguments each has


def lane_call(w: Writer, vector: Vector, name: str, *args: str) -> str:
    """Call a function that `write_lane_call` defines."""
    return w.call(vector.type, f"lanes_{name}", *[f"{vector.type} {x}" for x in args])


def write_lane_call(module: Module, vector: Vector, name: str) -> None:
    """A function of W lanes that calls libm for each: the same libm for every W. Single goes via double."""
    T, R = vector.type, vector.real
    xs = [f"%x{i}" for i in range(LANE_CALLS[name])]
    with module.function(T, f"lanes_{name}", *[f"{T} {x}" for x in xs]) as w:
        out = "poison"
        for lane in range(vector.width):
            given = []
            for x in xs:
                one = x if vector.width == 1 else w.new(f"extractelement {T} {x}, i32 {lane}")
                given.append(f"double {w.new(f'fpext float {one} to double') if R == 'float' else one}")
            result = w.call("double", symbol(name), *given)
            if R == "float":
                result = w.new(f"fptrunc double {result} to float")
            out = result if vector.width == 1 else w.new(f"insertelement {T} {out}, {R} {result}, i32 {lane}")
        w.ret(T, out)
