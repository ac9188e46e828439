"""SDFormat, as much of it as robots use.

| module | what is there |
|---|---|
| `read_sdf` | the model of an `<sdf>` into a mechanism |
| `sdf_scopes` | several models, nested and included ones, made one |
| `sdf_elements` | every element of the specification: read, silent, listed or refused |
| `sdf_poses` | poses, and the frames they are relative to |
| `sdf_links` | mass, inertia and shapes of links |
| `sdf_shapes` | visual and collision shapes |
| `sdf_joints` | types and axes of joints, from either end |
| `sdf_joint_parameters` | limits, passive forces, rotors and mimics of joints |
| `sdf_spanning_tree` | which joints carry links and which close loops |
| `sdf_gearboxes` | gearboxes as linear couplings |
"""
