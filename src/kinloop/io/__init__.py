"""Model files in and out, and states from and to other libraries: the only place where conventions convert.

| room | what is there |
|---|---|
| `load` | any model file into a mechanism, or into what is made of one |
| `urdf/` | URDF and its dialects (URDF+, Isaac, Drake) read; URDF+ written |
| `mjcf/` | MJCF read through MuJoCo's compiler; the dynamics written as MJCF |
| `sdf/` | SDFormat read |
| `gepetto/` | loops in a YAML file beside a URDF |
| `own/` | kinloop's own format, read and written bit for bit |
| `convert/` | states of MuJoCo's and Pinocchio's models, and loops as these say them |
| `shared/` | what the formats have in common: safe XML, paths, errors that name the line, links made into bodies |
"""

from kinloop.io import convert
from kinloop.io.load import build, load
from kinloop.io.mjcf.write_mjcf import MjcfOptions, mjcf_text, to_mjcf
from kinloop.io.own.write_own import save
from kinloop.io.shared.file_errors import ModelFileError, ModelWarning
from kinloop.io.shared.reading_options import Limits
from kinloop.io.urdf.write_urdf import to_urdf_plus

__all__ = [
    "Limits", "MjcfOptions", "ModelFileError", "ModelWarning", "build", "convert", "load", "mjcf_text", "save",
    "to_mjcf", "to_urdf_plus",
]  # fmt: skip
