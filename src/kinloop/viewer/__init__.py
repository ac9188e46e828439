"""Pictures of robots in a browser: live, or as pages that play by themselves."""

from kinloop.viewer.html_recording import record
from kinloop.viewer.live_server import Viewer, show

__all__ = ["Viewer", "record", "show"]
