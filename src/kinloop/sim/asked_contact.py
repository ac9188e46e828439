"""The contact that a user asked for: points on a ground, or all shapes of a scene, with the stops of joints."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from kinloop.errors import MethodError
from kinloop.robot import Robot
from kinloop.sim.actuators import Drive
from kinloop.sim.contact.candidates import ContactPoint, can_move, find_candidates
from kinloop.sim.contact.ground import Ground
from kinloop.sim.contact.impact import Contact
from kinloop.sim.contact.joint_limits import JointLimit, joint_limits
from kinloop.sim.contact.pair_contact import PairContact
from kinloop.sim.contact.room import usual_poses, with_room
from kinloop.sim.contact.scene import Collisions, make_scene
from kinloop.sim.integrators import INTEGRATORS
from kinloop.sim.integrators.integrator import Integrator
from kinloop.sim.motors import Motor
from kinloop.sim.stiff_gains import NOTHING, StiffGains, mobilities
from kinloop.sim.transmissions import Setting, actuator_line

SHOWN = 5
"""Names that a warning lists."""

LEVEL = 3
"""From a warning here to the line that made the simulator."""


class Asked(NamedTuple):
    """What a simulator was told about contact; `limits`: whether stops and dry friction of joints act."""

    robot: Robot
    drive: Drive
    method: Integrator
    ground: Ground | None
    limits: bool
    iterations: int

    @property
    def _joints(self) -> list[JointLimit]:
        return joint_limits(self.robot.tree, self.drive, self.method.has_contact) if self.limits else []

    @property
    def _able(self) -> str:
        """The integrators that have contact, in words."""
        return " or ".join(repr(name) for name, kind in INTEGRATORS.items() if kind.has_contact)

    def points(self, contacts: Sequence[ContactPoint | str] | None) -> Contact | None:
        """Contact of points with the ground, and stops; None where there is neither."""
        candidates = find_candidates(self.robot, contacts) if self.ground is not None else []
        moving = [c for c in candidates if can_move(self.robot.tree, c.body)]
        joints, name = self._joints, self.method.name
        if candidates and not self.method.has_contact:
            raise MethodError(f"contact needs integrator={self._able}, received {name!r}")
        if len(moving) < len(candidates):
            names = listed([c.name for c in candidates if not can_move(self.robot.tree, c.body)])
            warnings.warn(f"contacts on bodies that cannot move are left out: {names}", stacklevel=LEVEL)
        if joints and not self.method.has_contact:
            names = listed([j.name(self.robot.tree.top) for j in joints])
            warnings.warn(
                f"integrator {name!r} ignores the stops and the dry friction of {names}; "
                f"integrator={self._able} minds them, limits=False says that they are not meant",
                stacklevel=LEVEL,
            )
            return None
        return Contact(self.ground, moving, joints, self.iterations) if moving or joints else None

    def collisions(self, asked: Collisions | bool, contacts: Sequence[ContactPoint | str] | None) -> Contact:
        """Contact between all shapes of the scene."""
        if not self.method.has_contact:
            raise MethodError(f"collisions need integrator={self._able}, received {self.method.name!r}")
        if contacts is not None:
            raise MethodError("give either contacts=, points that touch a ground, or collisions=, all shapes, not both")
        options = asked if isinstance(asked, Collisions) else Collisions()
        scene = with_room(self.robot, make_scene(self.robot, options, self.ground))
        usual = usual_poses(self.robot, scene) if scene.searched else []
        return PairContact(self.robot.tree, scene, self._joints, self.iterations, usual)


def check_named(ground: str) -> None:
    """Refuse a ground by another name than "model"."""
    if ground != "model":
        raise MethodError(
            f"ground {ground!r} is not 'model', the world of the model; give that, a Plane or HeightField"
        )


def check_motors(drive: Drive, method: Integrator, limits: bool) -> None:
    """Refuse motors that an integrator cannot do, or that need what `limits` leaves out."""
    if drive.states and not method.has_contact:
        names = listed([drive.motors[k].joint for k in dict.fromkeys(drive.states)])
        raise MethodError(f"integrator {method.name!r} has no activations of motors ({names}); use 'semi_implicit'")
    if (rubbing := drive.rubbing_names) and not (method.has_contact and limits):
        raise MethodError(
            f"the motors of {listed(rubbing)} have friction or backlash, which integrator='semi_implicit' with "
            f"limits=True minds; received integrator={method.name!r}, limits={limits!r}"
        )


def listed(names: Sequence[str]) -> str:
    """A few names, and how many more there are."""
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(map(repr, names[:SHOWN])) + more


def with_stiff_gains(robot: Robot, drive: Drive, dt: float) -> Drive:
    """The drive with what `stiff_gains` asks for, if a spring or servo is too stiff for steps of length dt."""
    if not (any(m.stiffness for m in drive.motors) or np.any(drive.stiffness)):
        return drive
    gains, at = StiffGains(mobilities(robot), dt), Setting(drive.top, drive.top.neutral())
    lines = [(float(s), {d: 1.0}) for d, s in enumerate(drive.stiffness)]
    for m, d in zip(drive.motors, drive.dofs, strict=True):
        own = {d: m.ratio} if isinstance(m, Motor) else actuator_line(m.actuator, drive.named_tendons, at).arms
        lines.append((m.stiffness, own))
    stiff = any(gains.faded(k, arms, dt) is not NOTHING for k, arms in lines)
    return replace(drive, stiff=gains) if stiff else drive


def with_mobilities(robot: Robot, drive: Drive) -> Drive:
    """The drive with the mobilities of coordinates, where motors have windings."""
    wound = any(isinstance(m, Motor) and m.winding is not None for m in drive.motors)
    return replace(drive, mobility=mobilities(robot)) if wound else drive
