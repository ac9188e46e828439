"""Motion under constraints on accelerations, on cluster trees.

The solvers, a file each:

- `pv`: the solver of Popov and Vereshchagin; `branches`: its way for robots that branch at their base.
- `pv_early`: multipliers eliminated as early as a joint allows, O(n + m). Its parts: `early_rows` (rows on their way
  inward), `early_choices` (what is eliminated where), `reflections` (few rows that move a joint),
  `early_multipliers` (the way back).
- `pv_soft`: constraints that yield.
- `pv_osim`, `pv_osim_fast`, `pv_osimr`: the inverse operational-space inertia of constraints, three ways.
- `constrained_derivatives`: how accelerations and multipliers change with the state; `row_changes`: how rows do.

What they share:

- `motion_constraints`: what a user can ask for: points, welds, rows, closures of loops.
- `constraint_wrenches`: what a constraint's multipliers do to bodies and joints at a state, and its target.
- `passes`: the robot before its constraints act, and their way to the world.
- `delassus`: the matrix L = J M^-1 J^T.
- `multipliers`: multipliers where rows are redundant or in conflict.
- `plans`: ranks decided beforehand, so that a solver can be traced.
"""
