"""Machine code in this process, and the calls into it.

- `host`: the machine and the process: vector unit, libm, CPython and NumPy;
- `compilation`: LLVM IR to object code;
- `library`: object code to addresses;
- `variant`: the machine code of a kernel for one number of lanes;
- `arguments`: what a user may hand to a kernel, checked and laid out;
- `spare_results`: large arrays of results that nobody has any more, which serve again;
- `iteration`: the same for many steps in one call;
- `builtin`: a CPython builtin made at run time;
- `threads`: batches in chunks over threads.
"""
