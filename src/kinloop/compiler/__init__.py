"""Traced functions to native kernels, for one state and for batches, kept on disk; C99 and CasADi export.

The two ways in, and what they hand out:

- `make`: a kernel from a traced function, or from a recipe that is traced only if the cache does not have it;
- `kernel`: the handle users call; it makes machine code when first needed, and exports;
- `core`: a kernel's parts (signature, function, machine code), and what a call does with them;
- `guards`: builtins that compute only what is beyond doubt;
- `xla`: kernels as foreign functions of XLA, which JAX calls without Python;
- `build`: from a function to object code, through the rooms below;
- `exported`: kernels as C or as object code for another machine.

The rooms, none of which knows another except that `emit` and `export` read plans:

- `plan`: which operations run when, and which slot of the scratch array holds what;
- `emit`: a plan as LLVM IR;
- `run`: LLVM IR to machine code in this process, and the calls into it;
- `export`: a plan as C99, a graph as CasADi.

What they share:

- `signature`: what goes in and out of a kernel, by name;
- `target`: the machine that code is made for;
- `abi`: what emitted code and the process it runs in agree on;
- `keys`: digests of everything a kernel depends on;
- `cache`: object code on disk;
- `common`: machine code that many kernels call, loaded once.
"""

from kinloop.compiler.kernel import Kernel, guarded_check
from kinloop.compiler.make import compile_function, load_or_compile
from kinloop.compiler.run.host import available

__all__ = ["Kernel", "available", "compile_function", "guarded_check", "load_or_compile"]
