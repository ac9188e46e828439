"""A plan as LLVM IR, for one state or for W states side by side.

A row is a row of a NumPy array: one state of a batch. A lane is its place beside the others in a register.

- `kernel_module`: the whole kernel, from the modules below;
- `kernel_layout`: the sizes it is made for;
- `ir`: the writer of LLVM IR: functions, basic blocks, branches, counted loops;
- `vector_type`, `lane_arithmetic`, `some_lanes`: numbers side by side, arithmetic on them, reads and writes of a part.

What the kernel computes:

- `stages`: the stages of a plan as functions, loops included;
- `segment`: straight-line code;
- `row_segment`: the same for one state, with rows of values in vector registers;
- `stage_parameters`: what the functions of stages take;
- `table_rows`: rows of tables that loops use where they lie;
- `indexed_reads`: tables read by an index, and the nearest of many keys;
- `windows`: pointers next to the slots that a segment uses most;
- `series_loop`: code that is run time after time, with tables;
- `sincos`: sines and cosines;
- `common_functions`: what kernels have in common, and lies in a module of its own;
- `lane_calls`: other functions, by libm lane by lane.

How it is reached:

- `lane_transfer`: rows of arrays to lanes and back;
- `shared_outputs`: where outputs lie, those that are the same number once;
- `array_table`: the table that says where the arrays are;
- `rows_ahead`: rows that laps fetch before they are read or written;
- `batch_loop`: all batch rows;
- `iteration_loop`: many steps of each row;
- `builtin_wrapper`, `argument_checks`, `call_keywords`: the C function of a CPython builtin, its checks of ndarrays,
  and the keywords it reads;
- `xla_handler`: the C function of a foreign function of XLA's, which JAX calls;
- `guarded_call`, `number_checks`: the C function of a builtin that computes only what is beyond doubt, and its checks
  of numbers;
- `spare_arrays`: results that nobody has any more, which serve again.
"""
