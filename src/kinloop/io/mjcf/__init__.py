"""MJCF, read through MuJoCo's own compiler, and written for it.

| module | what is there |
|---|---|
| `read_mjcf` | a `<mujoco>` into a mechanism |
| `safe_source` | the document made safe for the compiler: files read by us, the rest left out |
| `brought_files` | files and other models that a document brings in, read into memory |
| `heightfield_files` | files of height fields made safe for its decoder |
| `mjcf_bounds` | what a document asks the compiler for, counted before it is compiled |
| `mujoco_codes` | the compiled model's numbers for kinds of parts |
| `mjcf_names` | names of parts, those without one included |
| `mjcf_bodies` | bodies, joints and sites as links, joints and frames |
| `mjcf_shapes` | geoms as shapes |
| `mjcf_contacts` | surfaces of geoms, pairs of them, bodies that never touch |
| `mjcf_equalities` | connects, welds and joint equalities as loops and couplings |
| `mjcf_tendon_equalities` | equalities of tendons as couplings of their joints, or rods |
| `joint_polynomials` | polynomials of joints about their reference positions |
| `mjcf_actuators` | what the control of an actuator means, and what it acts on |
| `mjcf_tendons` | tendons: their joints or paths, springs and limits |
| `tendon_inertia` | inertia of tendons along one joint |
| `mjcf_sensors` | sensors: what they measure, of which part or frame |
| `mjcf_unmodelled` | warnings of what kinloop does not model |
| `write_mjcf` | the dynamics of a mechanism as MJCF |
| `written_closures` | loops and couplings as MuJoCo's equalities |
"""
