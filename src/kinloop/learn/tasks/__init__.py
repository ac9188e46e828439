"""Tasks: what robots with loops may learn.

- `legged_machine`: a legged robot with what tasks need to know of it; Mini Cheetah, Tello, Cassie, Go1.
- `standing`: stand still where a push comes from.
- `walking`: walk with a commanded velocity.
- `hopping`: a planar leg, driven by a parallelogram, hops.
"""
