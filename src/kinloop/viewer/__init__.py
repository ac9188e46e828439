"""Pictures of robots in a browser: live, or as pages that play by themselves."""

from kinloop.viewer.live import Viewer, show
from kinloop.viewer.playback import record

__all__ = ["Viewer", "record", "show"]
