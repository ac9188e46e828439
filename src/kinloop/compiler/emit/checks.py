"""Checks of one argument of a builtin, as LLVM IR that reads the fields of an ndarray."""

from __future__ import annotations

from kinloop.compiler.run.builtin import ALIGNED, C_CONTIGUOUS, DATA, DESCR, DIMENSIONS, FLAGS, NDIM, TYPE, WRITEABLE

INPUT = C_CONTIGUOUS | ALIGNED
OUTPUT = C_CONTIGUOUS | ALIGNED | WRITEABLE


class Check:
    """Lines that leave for %slow unless argument `k` is an array of this dtype and layout; data in %data."""

    def __init__(self, k: int, dtype: str, flags: int) -> None:
        self.k, self.blocks, self.names = k, 0, 0
        self.lines = [f"  %ap{k} = getelementptr ptr, ptr %args, i64 {k}", f"  %a{k} = load ptr, ptr %ap{k}, align 8"]
        self.demand(f"icmp eq ptr {self.field('type', TYPE, 'ptr')}, @kinloop_ndarray")
        value = self.field("flags", FLAGS, "i32")
        self.lines.append(f"  %masked{k} = and i32 {value}, {flags}")
        self.ndim = self.field("ndim", NDIM, "i32")
        self.dims = self.field("dims", DIMENSIONS, "ptr")
        self.field("data", DATA, "ptr")
        dtype_is_right = f"icmp eq ptr {self.field('descr', DESCR, 'ptr')}, @kinloop_{dtype}"
        self.always = (dtype_is_right, f"icmp eq i32 %masked{k}, {flags}")

    def demand(self, *conditions: str) -> None:
        """Leave unless all of these hold."""
        every = ""
        for condition in conditions:
            name = f"%ok{self.k}_{self.names}"
            self.lines.append(f"  {name} = {condition}")
            if every:
                self.lines.append(f"  {name}_all = and i1 {every}, {name}")
            every = f"{name}_all" if every else name
            self.names += 1
        label = f"go{self.k}_{self.blocks}"
        self.lines += [f"  br i1 {every}, label %{label}, label %slow, !prof !1", f"{label}:"]
        self.blocks += 1

    def field(self, name: str, offset: int, kind: str, of: str | None = None) -> str:
        self.lines += [
            f"  %{name}p{self.k} = getelementptr i8, ptr {of or f'%a{self.k}'}, i64 {offset}",
            f"  %{name}{self.k} = load {kind}, ptr %{name}p{self.k}",
        ]
        return f"%{name}{self.k}"

    def shape(self, *sizes: object) -> list[str]:
        """Demand exactly these sizes (numbers, or names of values)."""
        self.demand(*self.always, f"icmp eq i32 {self.ndim}, {len(sizes)}")
        if sizes:
            found = [self.field(f"dim{axis}_", 8 * axis, "i64", self.dims) for axis in range(len(sizes))]
            self.demand(*[f"icmp eq i64 {x}, {n}" for x, n in zip(found, sizes, strict=True)])
        return self.lines
