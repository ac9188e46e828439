"""Mesh files: their triangles and their convex hulls.

| module | what is there |
|---|---|
| `mesh_files` | triangles of mesh files |
| `mesh_worker` | the program that reads them, within limits of memory and time |
| `convex_hulls` | the vertices of convex hulls, of points and of mesh files |
"""
