"""Pictures of robots in a browser: live, or as pages that play by themselves.

| module | what is there |
|---|---|
| `live_server` | `show`, `Viewer`: a robot in the browser, with sliders |
| `live_simulation` | `simulate`, `LiveSimulation`: a simulation in the browser, whose bodies the mouse drags |
| `mouse_grip` | the spring and damper between a body and the mouse |
| `slider_coordinates` | a closed configuration moved by one independent coordinate at a time |
| `html_recording` | `record`: a motion as one page that plays |
| `html_page` | the path, the caption and the file of that page |
| `robot_look` | all there is to draw of a robot, as plain data |
| `body_shapes` | shapes of a body: its geometry, and the solid of its inertia |
| `link_shapes` | what bodies without geometry look like: trunks, rotors, feet, links |
| `solids` | triangles of tapered links and rounded boxes |
| `loop_bars` | bars between bodies: rods without mass |
| `draw_ground` | a plane as a grid, a height field as a mesh |
| `camera_and_light` | the robot's bounding box; ground, light and camera around it |
| `viser_scene` | a robot's nodes in a viser scene, made once, then moved |
| `contact_arrows` | where a simulated robot is touched, and how hard |
| `viser_server` | viser's server, started and stopped |
| `tour_motion` | a motion that shows what of a robot moves |
| `poses` | poses of all bodies from one kernel |
"""

from kinloop.viewer.html_recording import record
from kinloop.viewer.live_server import Viewer, show
from kinloop.viewer.live_simulation import LiveSimulation, simulate

__all__ = ["LiveSimulation", "Viewer", "record", "show", "simulate"]
