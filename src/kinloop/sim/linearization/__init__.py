"""Derivatives of the simulator's step, contact included: `Simulator.linearize`. docs/algorithms/linearization.md.

- `linearize`: what is asked for A and B, and gives a `Linearization`.
- `step_map`: the map that is linearised: one step from a state without memory.
- `active_set`: which laws of contact hold as equations at a solution, and these equations.
- `row_chain`: linear systems of contacts and joints, block after block; rows may depend on each other.
- `directional`: the derivative along a direction by the graph of the step: every integrator and loop.
- `slot_steps`, `slot_slopes`: the same of steps with contact between bodies, by a kernel and a small matrix.
- `recursive`: A and B by recursions on the tree, for robots without bending loops.
- `recursive_loops`: the same where loops bend. `loop_motion`, `loop_slopes`: what clusters do by themselves in a step,
  and its slopes; `loop_frames`: how frames of loops change; `stage_columns`: slopes of the dynamics; `free_bases`: what
  is known of free bases without solving; `chained_columns`: all of it joined, a few columns at a time; `loop_contacts`,
  `touching_bodies`: contacts and stops; `joint_slopes`: single joints.
- `traced`: what differentiates graphs, called with numbers.
- `rollout_gradient`: the gradient of a cost of a whole rollout.
- `local_maps`: the parts of a step that act joint by joint. `contact_bodies`: contacts and the bodies that carry them.
"""
