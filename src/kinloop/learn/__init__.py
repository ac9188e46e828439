"""Learning: environments by the thousand, and what trains on them.

- `learning_task`: `Task`, what to learn, as functions of one environment's state; `TaskState`, what they are asked at.
- `random_numbers`: streams of random numbers inside kernels.
- `task_kernels`: the functions of a task as kernels.
- `rows_on_their_way`: environments as rows of one batch, which begin anew one by one.
- `vector_env`: `KinloopVectorEnv`, Gymnasium's vector environment. `single_env`: `KinloopEnv`, one of them alone.
- `tasks`: standing, walking and hopping.
- `environments`: all of these by name, registered with Gymnasium.
"""
