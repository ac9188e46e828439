"""Learning: environments by the thousand, what trains on them, and kinloop's functions in JAX and PyTorch.

- `learning_task`: `Task`, what to learn, as functions of one environment's state; `TaskState`, what they are asked at.
- `random_numbers`: streams of random numbers inside kernels.
- `task_kernels`: the functions of a task as kernels.
- `rows_on_their_way`: environments as rows of one batch, which begin anew one by one.
- `vector_env`: `KinloopVectorEnv`, Gymnasium's vector environment. `single_env`: `KinloopEnv`, one of them alone.
- `tasks`: standing, walking and hopping.
- `environments`: all of these by name, registered with Gymnasium.

Functions for JAX and PyTorch:

- `array_functions`: a quantity as a function of arrays, with the kernels of its value and its derivatives.
- `simulated`: steps and rollouts of a simulator as such functions. `step_kernels`: steps and their slopes as kernels.
- `xla_frames`: whether XLA's foreign functions are what kinloop knows, and the kernels registered with it.
- `jax_primitives`: these kernels as primitives of JAX, with the rules by which JAX transforms them.
- `jax_functions`: what `kinloop.jax` offers.
- `torch_functions`: the same for `kinloop.torch`.
"""
