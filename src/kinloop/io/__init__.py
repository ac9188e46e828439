"""Model files in and out, and states from and to other libraries: the only place where conventions convert."""

from kinloop.io import convert
from kinloop.io.load import load
from kinloop.io.own.write_own import save
from kinloop.io.shared.failure import ModelFileError, ModelWarning, file_error
from kinloop.io.shared.safe_xml import Limits
from kinloop.io.urdf.write_urdf import to_urdf_plus

__all__ = ["Limits", "ModelFileError", "ModelWarning", "convert", "file_error", "load", "save", "to_urdf_plus"]
