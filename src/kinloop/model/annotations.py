"""What a model says besides its dynamics: actuators, keyframes, carried weights. No quantity depends on these."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from kinloop.errors import ModelError
from kinloop.model.frame import Frame
from kinloop.model.frozen_arrays import frozen

ACTUATOR_KINDS = ("torque", "position", "velocity")
ACTUATOR_DYNAMICS = ("none", "integrator", "filter")
UNBOUNDED = (-np.inf, np.inf)


class Transmission(NamedTuple):
    """A joint that an actuator acts on, and its gear (moment arm) on each of the joint's velocities."""

    joint: str
    gear: tuple[float, ...]


class DrivenCoordinate(NamedTuple):
    """One coordinate of a joint, "joint" or "joint[2]", and an actuator's gear on it."""

    name: str
    gear: float


@dataclass(frozen=True)
class Actuator:
    """An actuator as a model file describes it.

    Its length is `l = sum(gear * q)` over the joints of its transmission, and a force f of the actuator acts on each
    of their coordinates as `gear * f`, with

        f = (gain[0] + gain[1] l + gain[2] ldot) u + bias[0] + bias[1] l + bias[2] ldot

    for the control u, which is kept within `control_range` as f is within `force_range`. `kind` says what the control
    is: "torque", f = gain[0] u; "position", a target with the gains `kp` and `kd`; "velocity", a target rate with the
    gain `kd`. `exact` is False where that is only the nearest of the three: the law has other terms, the actuator has
    dynamics of its own (a muscle, a filter), its joint bounds forces more in one direction than in the other, or it
    pushes a body along axes of the world; `beyond` says what.

    An actuator that does not act through joints has an empty transmission. It pulls on a `tendon` with a path, its
    length being `gear` times the tendon's; or it pushes at the origin of the frame `site`, with `wrench` (moment,
    force; in that frame's axes) times its force. Against a `reference` frame, whose axes the wrench is in then, its
    length is the wrench times the site's pose relative to that frame, and only motions relative to it are felt.

    Gears on a free body's position are along axes of the world, those on a ball or on a free body's rotation are about
    axes of the body, or of its parent with `in_parent`.

    `dynamics`: "none"; "integrator", u is not the control but its integral; "filter", u follows the control with
    `time_constant` [s]. That activation stays within `activation_range`. `unmodelled` says in words what of the
    actuator nothing here does.
    """

    name: str
    kind: str
    transmission: tuple[Transmission, ...]
    gain: tuple[float, float, float] = (1.0, 0.0, 0.0)
    bias: tuple[float, float, float] = (0.0, 0.0, 0.0)
    control_range: tuple[float, float] = UNBOUNDED
    force_range: tuple[float, float] = UNBOUNDED
    exact: bool = True
    tendon: str = ""
    gear: float = 1.0
    site: Frame | None = None
    reference: Frame | None = None
    wrench: tuple[float, ...] = ()
    in_parent: bool = False
    dynamics: str = "none"
    time_constant: float = 0.0
    activation_range: tuple[float, float] = UNBOUNDED
    unmodelled: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        what = f"actuator {self.name!r}"
        if self.dynamics not in ACTUATOR_DYNAMICS:
            known = ", ".join(ACTUATOR_DYNAMICS)
            raise ModelError(f"{what} has the dynamics {self.dynamics!r}; they must be one of {known}")
        if not 0 <= self.time_constant < np.inf:
            raise ModelError(f"{what} has the time constant {self.time_constant!r}; it must be a number not below zero")
        if self.kind not in ACTUATOR_KINDS:
            raise ModelError(f"{what} has the kind {self.kind!r}; it must be one of {', '.join(ACTUATOR_KINDS)}")
        for key in ("gain", "bias"):
            object.__setattr__(self, key, _floats(getattr(self, key), 3, f"{key} of {what}"))
        wrench = _floats(self.wrench, 6 if self.site else 0, f"wrench of {what}")
        object.__setattr__(self, "wrench", wrench)
        for key in ("control_range", "force_range", "activation_range"):
            object.__setattr__(self, key, as_range(getattr(self, key), f"{key} of {what}"))
        acts_on = tuple(
            Transmission(t.joint, _floats(t.gear, len(t.gear), f"gear of {what} on joint {t.joint!r}"))
            for t in self.transmission
        )
        object.__setattr__(self, "transmission", acts_on)

    @property
    def beyond(self) -> tuple[str, ...]:
        """What it has beyond a motor or servo of its kind, in words; empty where it is one exactly."""
        out = []
        if self.gain[1] or self.gain[2]:
            out.append(f"a gain that depends on its length and rate, {self.gain}")
        if self.bias[0]:
            out.append(f"a constant force of {self.bias[0]:g}")
        own = {"position": (-self.bias[1], "stiffness"), "velocity": (-self.bias[2], "damping")}
        if self.kind in own and self.gain[0] != own[self.kind][0]:
            out.append(f"a gain of {self.gain[0]:g} against a {own[self.kind][1]} of {own[self.kind][0]:g}")
        elif self.kind == "torque" and (self.bias[1] or self.bias[2]):
            out.append(f"a force that depends on its length and rate, {self.bias}")
        if not (self.exact or out):
            out.append("dynamics, a limit or a frame of its own")
        return tuple(out)

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of the joints it acts on."""
        return tuple(t.joint for t in self.transmission)

    @property
    def kp(self) -> float:
        """Force per length between the target and the actuator; zero but for position actuators."""
        return self.gain[0] if self.kind == "position" else 0.0

    @property
    def kd(self) -> float:
        """Force per rate of its length with which it resists motion, or follows a target rate."""
        return -self.bias[2]

    @property
    def coordinate(self) -> DrivenCoordinate | None:
        """The one coordinate it acts on; None where it acts on several or on none."""
        acting = [(t, k) for t in self.transmission for k, gear in enumerate(t.gear) if gear]
        if len(acting) != 1:
            return None
        ((t, k),) = acting
        return DrivenCoordinate(t.joint if len(t.gear) == 1 else f"{t.joint}[{k}]", t.gear[k])


@dataclass(frozen=True)
class Keyframe:
    """A named position, as a model file has it: not closed exactly, and of the file's joints.

    `ctrl` are the controls of the file's actuators there, `act` the activations of those with dynamics.
    """

    name: str
    q: tuple[float, ...]
    ctrl: tuple[float, ...] = ()
    act: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        for key in ("q", "ctrl", "act"):
            x = getattr(self, key)
            object.__setattr__(self, key, _floats(x, len(x), f"{key} of keyframe {self.name!r}"))


@dataclass(frozen=True)
class CarriedWeight:
    """Gravity compensation: the weight of a mass [kg] that is held up, at a point of a body [m]."""

    body: str
    mass: float
    at: tuple[float, ...]

    def __post_init__(self) -> None:
        what = f"carried weight of body {self.body!r}"
        object.__setattr__(self, "mass", float(frozen(self.mass, (), f"mass of {what}")))
        object.__setattr__(self, "at", _floats(self.at, 3, f"point of {what}"))


def _floats(x: ArrayLike, count: int, what: str) -> tuple[float, ...]:
    return tuple(float(v) for v in frozen(x, (count,), what))


def as_range(x: tuple[float, float], what: str) -> tuple[float, float]:
    try:
        low, high = map(float, x)
    except (TypeError, ValueError):
        raise ModelError(f"{what} is {x!r}; give two numbers") from None
    if not low <= high:
        raise ModelError(f"{what} is from {low} to {high}; the first must not be above the second")
    return low, high
