"""What has become of a batch row: it is on its way, or it stopped for a reason."""

from __future__ import annotations

from enum import IntEnum


class Status(IntEnum):
    """Whether a batch row goes on. The integers are those in `Rollout.status` and in saved files."""

    RUNNING = 1
    """On its way; at the end of a rollout: it followed its equations of motion all the way."""
    TOO_LONG = 2
    """Stopped before a step that is too long for it. It waits for shorter steps; no rollout ends so."""
    OPEN = 3
    """Stopped: its loops could not be closed, however short the steps."""
    DIVERGED = 4
    """Stopped: its motion led beyond all bounds, however short the steps."""
    SINGULAR = 5
    """Stopped at a singular configuration, from which its equations of motion lead nowhere in particular."""
