"""Tasks: what robots with loops may learn.

- `legged_machine`: a legged robot with what tasks need to know of it; Mini Cheetah, Tello, Cassie, Go1.
- `standing_task`: stand still where a push comes from.
- `walking_task`: walk with a commanded velocity.
- `hopping_task`: a planar leg, driven by a parallelogram, hops.
"""
