"""What the formats have in common, from bytes to a mechanism.

| module | what is there |
|---|---|
| `reading_options` | caps on what a file may ask for, and the options of `load` |
| `whole_files` | files read up to a limit, written whole or not at all |
| `paths` | files that a model refers to, inside the allowed roots only |
| `ros_packages` | packages by their `package.xml` |
| `file_errors` | errors and warnings that name file, line and element |
| `safe_xml` | XML without entities, every element with its line |
| `parse_numbers` | numbers and vectors out of attributes and texts |
| `exact_poses` | poses with exact zeros and ones |
| `shape_reader` | shapes counted, and their mesh files looked for |
| `robot_description` | links, joints and loops by the file's own names |
| `link_tree` | the tree that joints span over links, and its root |
| `lumping` | links that move as one made into a body, with a check of its inertia |
| `remap_closures` | loops and couplings written for bodies and joints |
| `remap_annotations` | actuators, tendons, sensors and carried weights of links as those of bodies |
| `make_mechanism` | a description into a mechanism |
| `written_mechanism` | what writers take, and how they refuse what a format lacks |
| `xml_lines` | XML written line by line |
"""
