"""Numbers of a simulation that are left open: every batch row has its own masses, friction, motors, terrain.

A number is named `part.quantity`: a body's mass, com, inertia and a joint's armature (`kinloop.model.parameters`), the
strength and the gear of the motor on a joint, the friction of the ground, and whatever numbers the height of a
`HeightField` depends on. Numbers on which the closing of loops depends stay as the model has them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from kinloop.clusters import ClusterTree
from kinloop.errors import MethodError, ShapeError, unknown
from kinloop.inputs import checked
from kinloop.model.parameters import BODY, parameter_size, parameter_value, with_parameters
from kinloop.scalar import Array
from kinloop.sim.actuators import Drive
from kinloop.sim.contact.ground import HeightField, Plane
from kinloop.sim.contact.impact import Contact
from kinloop.sim.motors import Motor
from kinloop.sim.state import unchecked

OF_MOTORS = ("strength", "gear")
OF_MODEL = (*BODY, "armature")
LEAST = {"mass": np.finfo(float).tiny, "armature": 0.0, "strength": 0.0, "friction": 0.0}
"""What numbers of a quantity may not be below, where there is something."""


class Parts(NamedTuple):
    """What has numbers: the parts of a `stepper.System`."""

    tree: ClusterTree
    drive: Drive
    contact: Contact | None


@dataclass(frozen=True)
class OpenNumbers:
    """Open numbers by name, how many each name stands for, and what the model has for them."""

    names: tuple[str, ...] = ()
    sizes: tuple[int, ...] = ()
    usual: tuple[float, ...] = ()

    @property
    def inputs(self) -> dict[str, int]:
        """The input of kernels that has them, and its size; nothing where there are none."""
        return {"numbers": len(self.usual)} if self.names else {}

    def columns(self, name: str) -> slice:
        """Where the numbers of a name are among all of them."""
        if name not in self.names:
            raise unknown("open number", name, self.names)
        k = self.names.index(name)
        start = sum(self.sizes[:k])
        return slice(start, start + self.sizes[k])

    def rows(self, numbers: Mapping[str, ArrayLike], count: int) -> Array:
        """Numbers by name, (n,) or (count, n) each, as those of so many rows; what is not named is as in the model."""
        out = np.repeat(np.array(self.usual)[None], count, axis=0)
        for name, given in numbers.items():
            where = self.columns(name)
            x = checked(f"numbers of {name!r}", given, where.stop - where.start)
            if x.shape[:-1] not in ((), (1,), (count,)):
                raise ShapeError(f"numbers of {name!r} are those of {len(x)} rows, there are {count} batch rows")
            check_values(name, x)
            out[:, where] = x
        return out

    def put(self, parts: Parts, numbers: Array) -> Parts:
        """The parts with these numbers, or symbols for them."""
        of_model: dict[str, Array] = {}
        tree, drive, contact = parts
        motors = list(drive.motors)
        for name in self.names:
            part, quantity, x = *_split(name), numbers[self.columns(name)]
            if part == "ground":
                contact = _on_ground(contact, quantity, x[0])
            elif quantity in OF_MOTORS:
                k = _motor(drive, part)
                motors[k] = unchecked(Motor, {**motors[k].__dict__, quantity: x[0]})
            else:
                of_model[name] = x
        if of_model:
            tree = tree.with_topology(with_parameters(tree.top, of_model))
        return Parts(tree, replace(drive, motors=tuple(motors), top=tree.top), contact)


NONE = OpenNumbers()


def open_numbers(parts: Parts, names: Sequence[str], able: bool = True) -> OpenNumbers:
    """The open numbers of these names; an error that says what there is for one that does not exist.

    `able` says whether the simulator can have any.
    """
    if isinstance(names, str) or len(set(names)) < len(names):
        raise MethodError(f"open numbers are a list of different names like 'trunk.mass', received {names!r}")
    if names and not able:
        raise MethodError(f"open numbers ({', '.join(names)}) need integrator='semi_implicit' and monitor=False")
    usual = [_usual(parts, name) for name in names]
    return OpenNumbers(tuple(names), tuple(map(len, usual)), tuple(float(x) for some in usual for x in some))


def check_values(name: str, values: Array) -> None:
    """Refuse values that an open number cannot have: a mass below zero, and the like."""
    least, quantity = LEAST.get(_split(name)[1], -np.inf), _split(name)[1]
    if np.any(values < least):
        allowed = "above zero" if quantity == "mass" else "zero at least"
        raise MethodError(f"{name!r} cannot be {np.min(values):g}; give numbers that are {allowed}")


def refuse_unknown_numbers(names: Sequence[str], depending: Sequence[str], open: OpenNumbers) -> None:
    """Refuse to record what depends on numbers that every row has its own of: it would be told with the model's."""
    for name in names:
        if open.names and name in depending:
            raise MethodError(
                f"{name!r} depends on masses and motors and cannot be recorded with open numbers "
                f"({', '.join(open.names)}); record q and qd, and compute it from these"
            )


def _usual(parts: Parts, name: str) -> Array:
    """What the model has for a number."""
    part, quantity = _split(name)
    if part == "ground":
        return np.array([_ground_numbers(parts.contact, name)[quantity]])
    if quantity in OF_MOTORS:
        return np.array([getattr(parts.drive.motors[_motor(parts.drive, part, quantity)], quantity)])
    if quantity not in OF_MODEL:
        known = (*OF_MODEL, *OF_MOTORS, "ground.friction")
        raise MethodError(f"open number {name!r} is not of the form 'part.quantity' with one of {', '.join(known)}")
    top = parts.tree.top
    assert parameter_size(top, name) == len(parameter_value(top, name))
    return parameter_value(top, name)


def _split(name: str) -> tuple[str, str]:
    part, _, quantity = name.rpartition(".")
    return part, quantity


def _motor(drive: Drive, joint: str, quantity: str = "") -> int:
    """The number of the motor on a joint; with a `quantity`, one that may be open."""
    found = [k for k, m in enumerate(drive.motors) if m.joint == joint]
    if len(found) != 1:
        raise unknown("motor of its own on joint", joint, [m.joint for m in drive.motors])
    motor = drive.motors[found[0]]
    if not isinstance(motor, Motor):
        raise MethodError(f"the motor on {joint!r} is one of the model file; give motors=[Motor({joint!r}, ...), ...]")
    if quantity == "gear" and (motor.friction or motor.rotor or motor.winding or motor.is_lossy):
        raise MethodError(
            f"the gear of the motor on {joint!r} cannot be open: friction, losses, backlash and windings depend on it"
        )
    return found[0]


def _ground_numbers(contact: Contact | None, name: str) -> dict[str, float]:
    """The numbers of the ground by name."""
    ground = contact.ground if contact is not None else None
    if not isinstance(ground, Plane | HeightField):
        raise MethodError(f"open number {name!r} needs ground=Plane(...) or HeightField(...) with points of contact")
    known = {"friction": ground.friction} | (dict(ground.numbers) if isinstance(ground, HeightField) else {})
    if _split(name)[1] not in known:
        raise unknown("number of the ground", _split(name)[1], known)
    return known


def _on_ground(contact: Contact | None, quantity: str, x: Any) -> Contact:
    """The contact on a ground with another number."""
    assert contact is not None and contact.ground is not None, "checked when it was opened"
    ground = contact.ground
    fields = dict(ground.__dict__)
    if quantity == "friction":
        fields["friction"] = x
    else:
        fields["numbers"] = tuple((n, x if n == quantity else old) for n, old in fields["numbers"])
    out = copy(contact)
    out.ground = unchecked(type(ground), fields)
    return out
