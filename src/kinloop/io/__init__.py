"""Model files in and out, and states from and to other libraries: the only place where conventions convert."""

from kinloop.io import convert
from kinloop.io.failure import ModelFileError, ModelWarning, file_error
from kinloop.io.load import load
from kinloop.io.own import save
from kinloop.io.urdf_write import to_urdf_plus
from kinloop.io.xmltree import Limits

__all__ = ["Limits", "ModelFileError", "ModelWarning", "convert", "file_error", "load", "save", "to_urdf_plus"]
