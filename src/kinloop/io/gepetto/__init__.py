"""Gepetto's parallel robots: a YAML file beside a URDF that closes its loops.

| module | what is there |
|---|---|
| `robot_yaml` | what the file says, added to the URDF's description |
| `yaml_subset` | the little of YAML that such files use |
"""
