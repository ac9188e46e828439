"""URDF and its dialects.

| module | what is there |
|---|---|
| `read_urdf` | a `<robot>` into a mechanism: links, joints, mimics |
| `loop_tags` | the words of URDF+, Isaac and Drake for loops and couplings |
| `urdf_joint_types` | words for types of joints, in the tree and in loops |
| `urdf_shapes` | visual and collision shapes, materials |
| `write_urdf` | a mechanism as URDF+ |
"""
