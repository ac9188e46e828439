"""What has become of a batch row: it is on its way, or it stopped for a reason."""

from __future__ import annotations

from enum import IntEnum


class Status(IntEnum):
    """Whether a batch row goes on. The integers are those in `Rollout.status` and in saved files."""

    RUNNING = 1
    """On its way; at the end of a rollout: it went all the way."""
    CHART = 2
    """Stopped before a step that its charts would spoil. It waits for better charts; no rollout ends so."""
    OPEN = 3
    """Stopped before a step that did not close its loops."""
    DIVERGED = 4
    """Stopped before a step that led to infinity, or at a singular configuration it could not pass."""
