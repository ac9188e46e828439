"""From a traced function to a plan, whatever the number of lanes and the language it is written in.

- `stage_types`: what a plan consists of: segments, angles, loops, and the slots between them;
- `planner`: makes the plan of a function;
- `draft`: a plan in the making, and the slots given away so far;
- `fuse`: products join the sum that uses them, so that both round once;
- `rolling`, `find_series`: which operations repeat themselves, and in which order;
- `find_rows`: which operations do the same with neighbouring numbers;
- `orders`: other orders of the same operations;
- `patterns`: what repeats itself once, with tables of what differs;
- `gates`: which operations may be left out with a loop that no state wants;
- `rare_values`: which operations nothing but the rare value of a choice needs;
- `lifetimes`: how long values wait in slots, and which can share one;
- `in_place`: what loops carry and leave, written over what it takes the place of;
- `records`: the slots that laps leave values in.
"""
