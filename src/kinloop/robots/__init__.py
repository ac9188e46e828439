"""The zoo: robots with loops, ready to load by name.

| module | what is there |
|---|---|
| `zoo` | `names`, `describe`, `mechanism`, `load` |
| `published_robots` | Mini Cheetah, MIT Humanoid, JVRC-1, a teleoperation arm: robots with published parameters |
| `tello` | Tello, whose legs are driven through differentials |
| `linkages` | four-bars and other planar and spatial linkages |
| `parallel_robots` | the Stewart-Gough platform |
| `vehicles` | suspensions, a rocker rover, a skid-steered rover |
| `link_chains` | chains of any length with gears, belts or four-bars |
| `tip_constrained_trees` | a ladder, a stalk, a plain chain: trees whose tips are to be constrained |
| `body_tables` | robots from the tables in `data/`, one line per body |
| `solid_inertias` | mass properties of boxes, bars and discs |
| `floating_bases` | bases freed from the world, or fixed to it |
| `option_checks` | options that must be whole numbers |
"""

from kinloop.robots.zoo import describe, load, mechanism, names

__all__ = ["describe", "load", "mechanism", "names"]
