"""Momentum, Coriolis matrix and derivatives of frames beside Pinocchio's, on a quadruped with a free base."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

import kinloop as kl
from kinloop.io.convert import pinocchio_order
from tests.algorithms.trees.test_derivatives import tree_path
from tests.helpers import relative

FOOT = "FL_foot"
ANGULAR_FIRST = [3, 4, 5, 0, 1, 2]


class Beside(NamedTuple):
    """The same robot and state twice; `back` are our velocities in Pinocchio's."""

    pin: Any
    robot: kl.Robot
    model: Any
    ours: tuple[np.ndarray, ...]
    theirs: tuple[np.ndarray, ...]
    back: np.ndarray

    def twists(self, x: np.ndarray) -> np.ndarray:
        """Their twists or momenta, one column per velocity, in our order."""
        return x[ANGULAR_FIRST][:, self.back]


@pytest.fixture(scope="module")
def go1() -> Beside:
    pin = pytest.importorskip("pinocchio")
    path = tree_path("go1.urdf")
    robot = kl.Robot(kl.load(path, floating_base=True).mechanism, backend="numpy")
    model = pin.buildModelFromUrdf(path, pin.JointModelFreeFlyer())
    i, j = pinocchio_order(robot, model)
    rng = np.random.default_rng(1)
    q, v = robot.random_state(rng)
    a = rng.normal(size=robot.nv)
    return Beside(pin, robot, model, (q, v, a), (q[i], v[j], a[j]), np.argsort(j))


def test_dynamics_terms_are_pinocchios(go1):
    pin, robot, model, (q, v, _), (Q, V, _), back = go1
    data = model.createData()
    C = pin.computeCoriolisMatrix(model, data, Q, V)[np.ix_(back, back)]
    assert relative(robot.coriolis_matrix(q, v), C) <= 1e-13
    assert relative(robot.gravity_force(q), pin.computeGeneralizedGravity(model, data, Q)[back]) <= 1e-13


def test_momentum_is_pinocchios(go1):
    pin, robot, model, (q, v, _), (Q, V, _), back = go1
    data = model.createData()
    assert relative(robot.center_of_mass_jacobian(q), pin.jacobianCenterOfMass(model, data, Q)[:, back]) <= 1e-13
    pin.dccrba(model, data, Q, V)
    assert relative(robot.centroidal_momentum_matrix(q), go1.twists(data.Ag)) <= 1e-13
    assert relative(robot.centroidal_momentum_bias(q, v), (data.dAg @ V)[ANGULAR_FIRST]) <= 1e-13
    h = pin.computeCentroidalMomentum(model, data, Q, V).vector[ANGULAR_FIRST]
    assert relative(robot.centroidal_momentum(q, v), h) <= 1e-13


def test_derivatives_of_frames_are_pinocchios(go1):
    pin, robot, model, (q, v, a), (Q, V, A), _ = go1
    data, foot = model.createData(), model.getFrameId(FOOT)
    pin.computeForwardKinematicsDerivatives(model, data, Q, V, A)
    pin.updateFramePlacements(model, data)
    theirs = pin.getFrameVelocityDerivatives(model, data, foot, pin.LOCAL)
    for one, other in zip(robot.frame_velocity_derivatives(q, v, FOOT), theirs, strict=True):
        assert relative(one, go1.twists(other)) <= 1e-13
    _, *theirs = pin.getFrameAccelerationDerivatives(model, data, foot, pin.LOCAL)
    for one, other in zip(robot.frame_acceleration_derivatives(q, v, a, FOOT), theirs, strict=True):
        assert relative(one, go1.twists(other)) <= 1e-13
    # in world axes theirs leave the origin of the frame where it is
    ours, J = robot.frame_velocity_derivatives(q, v, FOOT, axes="world")
    theirs, _ = pin.getFrameVelocityDerivatives(model, data, foot, pin.LOCAL_WORLD_ALIGNED)
    shifted = np.cross(robot.frame_velocity(q, v, FOOT, axes="world")[:3], J[3:].T).T
    assert relative(ours, go1.twists(theirs) + np.concatenate([np.zeros((3, robot.nv)), shifted])) <= 1e-13


def test_accelerations_of_frames_are_pinocchios(go1):
    pin, robot, model, (q, v, a), (Q, V, A), _ = go1
    data, foot = model.createData(), model.getFrameId(FOOT)
    pin.forwardKinematics(model, data, Q, V, A)
    spatial = pin.getFrameAcceleration(model, data, foot, pin.LOCAL).vector[ANGULAR_FIRST]
    assert relative(robot.frame_acceleration(q, v, a, FOOT), spatial) <= 1e-13
    of_origin = pin.getFrameClassicalAcceleration(model, data, foot, pin.LOCAL_WORLD_ALIGNED).vector[ANGULAR_FIRST]
    assert relative(robot.frame_acceleration(q, v, a, FOOT, axes="world"), of_origin) <= 1e-13


@pytest.mark.parametrize(("axes", "theirs"), [("body", "LOCAL"), ("world", "LOCAL_WORLD_ALIGNED")])
def test_the_kinematic_hessian_is_pinocchios(go1, axes, theirs):
    pin, robot, model, (q, *_), (Q, *_), back = go1
    data, joint = model.createData(), model.getJointId("FL_calf_joint")
    pin.computeJointJacobians(model, data, Q)
    pin.computeJointKinematicHessians(model, data, Q)
    found = np.array(pin.getJointKinematicHessian(model, data, joint, getattr(pin, theirs)))
    by_columns = found.reshape(-1).reshape(found.shape, order="F")  # what it hands to Python stands in that order
    expected = by_columns[ANGULAR_FIRST][:, back][:, :, back]
    assert relative(robot.frame_hessian(q, "FL_calf", axes), expected) <= 1e-13
