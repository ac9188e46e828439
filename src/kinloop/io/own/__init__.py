"""kinloop's own format: a mechanism as JSON, every number bit for bit (docs/formats.md).

| module | what is there |
|---|---|
| `contact_entries` | surfaces, contact rules, tables of numbers |
| `own_schema` | version and fields, which reading and writing agree on |
| `json_values` | numbers, texts, poses and joint types out of JSON, checked |
| `own_annotations` | actuators, tendons, sensors, keyframes and carried weights, written and read |
| `read_own` | JSON into a mechanism |
| `write_own` | a mechanism into JSON |
"""
