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
    """Stopped: no step, however short, followed its motion; it led beyond all bounds, or changed too quickly."""
    SINGULAR = 5
    """Stopped before a singular configuration, so near that rounding hides how its motion goes on."""
    UNBALANCED = 6
    """It went all the way, but its energy does not balance the work of the forces on it: not to be trusted."""
    UNSOLVED = 7
    """It went all the way, but impulses that contacts and stops asked for were not found: not to be trusted."""
    CROWDED = 8
    """It went all the way, but in some step there were more contacts than slots for them: the nearest counted."""


class Fault(IntEnum):
    """Why a step is refused: the reason for which a row that needs ever shorter steps stops at last."""

    OPEN = 1
    """Its loops do not close."""
    ROUGH = 2
    """The accelerations of the steps before do not foretell its own."""
    FAST = 3
    """Joints turn too far in it."""
    BEYOND = 4
    """Its positions or velocities are beyond all bounds, or no numbers."""
    BLIND = 5
    """Its accelerations are lost to rounding, so near to a singular configuration as it comes."""
