"""The kernels of a motor space, and the search on numbers behind them.

A kernel finds the closed configuration from a reference, or from a configuration that it is given, and then computes
its map. Where it cannot vouch for that, its first number is not finite: such rows are looked for on numbers, in small
steps along the way (`linkage.followed`), which also explains what is wrong with a row.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.algorithms.requests import refuse_constrained_loops
from kinloop.clusters import ClusterTree, grow
from kinloop.clusters.state_faults import chart_gain
from kinloop.compiler import Kernel
from kinloop.control import space_maps
from kinloop.control.driven import Driven, as_driven
from kinloop.control.frame_angles import FrameAngles, angle_values, with_angles
from kinloop.control.linkage import Linkage, followed, found_at, make_linkage
from kinloop.errors import KinloopError, MethodError, SingularConfiguration, unknown
from kinloop.inputs import checked, checked_number
from kinloop.interpreted import rowwise
from kinloop.kernels import Computed, Kernels, charts_key
from kinloop.robot import Robot
from kinloop.scalar import Array
from kinloop.sim.file_motors import FileMotor
from kinloop.sim.motors import Motor

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

Found = tuple[tuple[Array, ...], Any]
"""Outputs of a map, and whether they mean something."""


class Map(NamedTuple):
    """A map: its inputs, the first of which fixes the configuration ("x" by joints, "y" by motors), the names of its
    outputs, and `call(linkage, q, *other inputs)`. One that `solves` for motors or joints is told the usual lengths of
    the rows of J, last."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    call: Callable[..., Found]
    solves: bool = False


def _velocities(linkage: Linkage, q: Array, yd: Array, usual: Array) -> Found:
    x, regular = space_maps.solved(linkage, usual, space_maps.jacobian(linkage, q), yd, transposed=False)
    return (x,), regular


def _forces(linkage: Linkage, q: Array, f: Array, usual: Array) -> Found:
    y, regular = space_maps.solved(linkage, usual, space_maps.jacobian(linkage, q), f, transposed=True)
    return (y,), regular


def _all(linkage: Linkage, q: Array, f: Array, usual: Array) -> Found:
    J = space_maps.jacobian(linkage, q)
    forces, regular = space_maps.solved(linkage, usual, J, f, transposed=True)
    return (space_maps.motor_position(linkage, q), forces, J), regular


MAPS = {
    "motor_position": Map(("x",), ("y",), lambda k, q: ((space_maps.motor_position(k, q),), True)),
    "joint_position": Map(("y",), ("x",), lambda k, q: ((space_maps.joint_position(k, q),), True)),
    "configuration": Map(("x",), ("q",), lambda k, q: ((q,), True)),
    "jacobian": Map(("x",), ("J",), lambda k, q: ((space_maps.jacobian(k, q),), True)),
    "motor_velocity": Map(("x", "xd"), ("yd",), lambda k, q, xd: ((space_maps.jacobian(k, q) @ xd,), True)),
    "joint_velocity": Map(("x", "yd"), ("xd",), _velocities, solves=True),
    "motor_force": Map(("x", "force_x"), ("force_y",), _forces, solves=True),
    "joint_force": Map(("x", "force_y"), ("force_x",), lambda k, q, f: ((space_maps.jacobian(k, q).T @ f,), True)),
    "map": Map(("x", "force_x"), ("y", "force_y", "J"), _all, solves=True),
    "geometric_stiffness": Map(
        ("x", "force_y"), ("H",), lambda k, q, f: ((space_maps.geometric_stiffness(k, q, f),), True)
    ),
}
"""Every map by name."""


MATRICES = ("J", "H")
"""Outputs that are matrices; all others are vectors."""


USUAL = 1e4
"""1 / the smallest pivot of a linkage's rows, weighted to size 1, up to which it is regular enough to start at."""


class SpaceKernels:
    """Kernels of the maps between motors and joints of a robot."""

    def __init__(
        self,
        robot: Robot,
        motors: Sequence[str | Motor | FileMotor],
        joints: Sequence[str | FrameAngles],
        held: Mapping[str, float | None],
        at: ArrayLike | None,
    ) -> None:
        refuse_constrained_loops(robot.tree.top, "MotorSpace")
        self._robot = robot
        self._angles = tuple(j for j in joints if isinstance(j, FrameAngles))
        self._kernels, tree = robot.kernels, robot.tree
        if self._angles:
            tree = grow(with_angles(robot.mechanism, self._angles))
            self._kernels = Kernels(tree, robot.backend)
        self.motors: tuple[Driven, ...] = tuple(as_driven(robot.tree.top, m) for m in motors)
        self.joint_names = tuple(n for j in joints for n in (j.names if isinstance(j, FrameAngles) else (j,)))
        named = (self.joint_names, [m.coordinate for m in self.motors])
        dofs = [
            *(_dofs(tree, names) for names in named),
            _dofs(tree, [*held], [n for n, p in held.items() if p is None]),
        ]
        _check_disjoint(tree, *dofs)
        self.linkage = make_linkage(tree, dofs[0], dofs[1], dofs[2], np.array([m.gear for m in self.motors]))
        self._check_motors()
        self._held_dofs = tuple(d for d, p in zip(self.linkage.held_dofs, held.values(), strict=True) if p is not None)
        self._held = np.array(
            [checked_number(f"held {n!r}", p, "be a position, or None") for n, p in held.items() if p is not None]
        )
        self._tree = tree
        self.start = self._started() if at is None else checked("at", at, robot.nq)
        robot.check_closed(self.start)
        self.reference = self._referred(self.start)
        self.usual = np.linalg.norm(space_maps.jacobian(self.linkage, self.reference), axis=1)

    def _check_motors(self) -> None:
        """Refuse motors of clusters that have no joints here: x says nothing about them."""
        for block, c in zip(space_maps.blocks(self.linkage), self.linkage.joints, strict=True):
            if block.motors and not block.joints:
                names = [self.motors[k].coordinate for k in block.motors]
                others = [self.linkage.joints.top.coordinates[d] for d in c.dofs]
                raise MethodError(f"motors {names} move none of the joints; name some of {others} as joints, too")

    def _started(self) -> Array:
        """The robot's neutral configuration, or the first of its keyframes where that is singular for this linkage."""
        robot, trees = self._robot, [t for t in (self.linkage.joints, self.linkage.motors) if t is not None]
        drawn = [np.array(k.q) for k in robot.mechanism.keyframes if len(k.q) == robot.nq]
        for k, q in enumerate([robot.neutral(), *drawn]):
            with contextlib.suppress(KinloopError), np.errstate(all="ignore"):
                q = robot.close(q) if k else q
                own = self._own(q)
                if all(chart_gain(t, c, own) < USUAL for t in trees for c in t.loop_clusters):
                    return q
        raise SingularConfiguration(
            f"at the neutral configuration of {robot.name!r} the joints {list(self.joint_names)}, or the motors "
            f"{[m.coordinate for m in self.motors]}, do not determine the motion, a dead centre; give at=, a closed "
            "configuration where they do"
        )

    def _referred(self, q: Array) -> Array:
        """The linkage's configuration at q, with everything held where it shall be."""
        near, dofs = self._own(q), (*self.linkage.joint_dofs, *self._held_dofs)
        values = np.concatenate([near[self.linkage.positions(self.linkage.joint_dofs)], self._held])
        return followed(self.linkage, self.linkage.joints, dofs, values, near, "joints")

    def _own(self, q: Array) -> Array:
        """Positions of the linkage's joints out of the robot's q, and the angles of frames there."""
        whole = np.concatenate([q, angle_values(self._robot.tree.top, self._angles, q)])
        at = [self._tree.top.q_of[i] for i in self.linkage.bodies]
        return np.concatenate([whole[s] for s in at])

    def taken(self, q: ArrayLike) -> Array:
        """The linkage's configurations at closed q of the robot, (..., n)."""
        q = checked("near", q, self._robot.nq)
        self._robot.check_closed(q)
        return rowwise(self._referred, q)

    def put(self, own: Array, q: Array) -> Array:
        """q of the robot with the linkage's configuration in it."""
        out = np.array(np.broadcast_to(q, (*np.broadcast_shapes(own.shape[:-1], q.shape[:-1]), q.shape[-1])))
        top, at = self._robot.tree.top, 0
        for i in self.linkage.bodies:
            n = self._tree.top.types[i].nq
            if i < len(top):
                out[..., top.q_of[i]] = own[..., at : at + n]
            at += n
        return out

    def sizes(self, name: str) -> dict[str, int]:
        """Inputs of a map and their lengths."""
        if name not in MAPS:
            raise unknown("map", name, MAPS)
        m, n = len(self.motors), len(self.joint_names)
        return {key: m if key in ("y", "yd", "force_y") else n for key in MAPS[name].inputs}

    @functools.cache  # noqa: B019
    def kernel(self, name: str, near: bool = False) -> Computed:
        """What computes a map; with `near`, from a configuration of the linkage that is its first input."""
        sizes, linkage = self.sizes(name), self.linkage
        tree = self._tree_of(name)
        if near:
            call: Callable[..., Any] = functools.partial(self._traced, name, tree)
            sizes = {"near": linkage.joints.top.nq} | sizes
        else:
            call = functools.partial(self._traced, name, tree, self.reference)
        charts = charts_key(linkage.joints), charts_key(tree)
        numbers = linkage.joint_dofs, linkage.motor_dofs, linkage.held_dofs, linkage.bodies
        key = (numbers, self._held_dofs, tuple(linkage.gear), tuple(self._held), tuple(self.reference), charts, near)
        return self._kernels.make(f"motor_space_{name}", call, sizes, key=key, sources=("control",), charts=False)

    def compile(self, name: str) -> Kernel:
        found = self.kernel(name)
        if not isinstance(found, Kernel):
            raise MethodError(f"map {name!r} has no kernel: the robot's backend is 'numpy', or llvmlite is missing")
        return found

    def answer(self, name: str, given: Sequence[Array], near: Array | None = None) -> Any:
        """A map the careful way: by its kernel, and where that gives up, by a search on numbers that explains why."""
        self._check_solvable(name)
        inputs = list(given) if near is None else [near, *given]
        found = self.kernel(name, near is not None)(*inputs)
        outputs = found if isinstance(found, tuple) else (found,)
        axes = [2 if key in MATRICES else 1 for key in MAPS[name].outputs]
        good = np.all(
            [np.isfinite(x).all(axis=tuple(range(-n, 0))) for x, n in zip(outputs, axes, strict=True)], axis=0
        )
        for where in map(tuple, np.argwhere(~good)):
            row = [np.broadcast_to(x, (*good.shape, x.shape[-1]))[where] for x in inputs]
            start = self.reference if near is None else row.pop(0)
            for out, x in zip(outputs, self._searched(name, row, start), strict=True):
                out[where] = x
        return found

    def _searched(self, name: str, given: Sequence[Array], near: Array) -> tuple[Array, ...]:
        """One row on numbers, reached in small steps."""
        linkage, tree, (dofs, values) = self.linkage, self._tree_of(name), self._fixed(name, given[0])
        what = "joints" if MAPS[name].inputs[0] == "x" else "motors"
        q = followed(linkage, tree, dofs, values, near, what)
        with np.errstate(all="ignore"):
            outputs, regular = self._mapped(name, q, given)
        if not bool(regular) or not all(np.isfinite(np.asarray(x, dtype=float)).all() for x in outputs):
            raise SingularConfiguration(
                f"at {np.array2string(given[0], precision=4)} the motors {[m.coordinate for m in self.motors]} "
                f"do not hold the joints {list(self.joint_names)}: their Jacobian is singular; move off this position"
            )
        return outputs

    def _traced(self, name: str, tree: ClusterTree, near: Array, *given: Array) -> dict[str, Array]:
        """A map as its kernel computes it, its first number infinite where it cannot vouch for it."""
        dofs, values = self._fixed(name, given[0])
        q, well = found_at(self.linkage, tree, dofs, values, near)
        outputs, regular = self._mapped(name, q, given)
        first = np.array(outputs[0], dtype=object)
        at = (0,) * first.ndim
        first[at] = sc.where(sc.logical_and(well, regular), first[at], np.inf)
        return dict(zip(MAPS[name].outputs, (first, *outputs[1:]), strict=True))

    def _mapped(self, name: str, q: Array, given: Sequence[Array]) -> Found:
        """A map at a closed configuration."""
        more = (self.usual,) if MAPS[name].solves else ()
        return MAPS[name].call(self.linkage, q, *given[1:], *more)

    def _fixed(self, name: str, given: Array) -> tuple[tuple[int, ...], Array]:
        """Which coordinates the first input of a map and what is held fix, and where."""
        linkage, by_joints = self.linkage, MAPS[name].inputs[0] == "x"
        own = given if by_joints else given * (1.0 / linkage.gear)
        dofs = linkage.joint_dofs if by_joints else linkage.motor_dofs
        return (*dofs, *self._held_dofs), np.concatenate([own, self._held])

    def _tree_of(self, name: str) -> ClusterTree:
        tree = self.linkage.joints if MAPS[name].inputs[0] == "x" else self.linkage.motors
        if tree is None:
            raise MethodError(
                f"the motors {[m.coordinate for m in self.motors]} do not determine the motion of the joints "
                f"{list(self.joint_names)}; {name} needs as many motors as there are freedoms, or held={{...}}"
            )
        return tree

    def _check_solvable(self, name: str) -> None:
        """Refuse what too few motors cannot do."""
        if MAPS[name].solves:
            for motors, joints in space_maps.blocks(self.linkage):
                if len(motors) < len(joints):
                    raise MethodError(
                        f"{len(motors)} motors {[self.motors[k].coordinate for k in motors]} cannot make any force at "
                        f"the joints {[self.joint_names[k] for k in joints]}; {name} needs at least as many motors, or "
                        "held={...}"
                    )


def _dofs(tree: ClusterTree, names: Sequence[str], without: Sequence[str] = ()) -> list[int]:
    """Places in the spanning velocity of coordinates by name, each of a position of its own, or named in `without`."""
    top, out = tree.top, []
    index = {name: d for d, name in enumerate(top.coordinates)}
    for name in names:
        if name not in index:
            raise unknown("coordinate", name, index)
        if top.plain_places()[index[name]] < 0 and name not in without:
            raise MethodError(f"coordinate {name!r} has no plain position; name others, or give FrameAngles(...)")
        out.append(index[name])
    if not out:
        return out
    twice = [n for k, n in enumerate(names) if n in names[:k]]
    if twice:
        raise MethodError(f"coordinate {twice[0]!r} is named twice; name each once")
    return out


def _check_disjoint(tree: ClusterTree, joints: Sequence[int], motors: Sequence[int], held: Sequence[int]) -> None:
    for what, dofs in (("joints", joints), ("motors", motors)):
        if not dofs:
            raise MethodError(f"a motor space needs {what}; name coordinates among {list(tree.top.coordinates)[:8]}")
        if both := [tree.top.coordinates[d] for d in dofs if d in held]:
            raise MethodError(f"{both[0]!r} is held and among the {what}; it can be one of them")
