"""Poses from files: exact where they can be, and the same from every way of writing them."""

import numpy as np
import pytest

from kinloop.io import Limits, ModelFileError
from kinloop.io.shared.exact_poses import composed, exact_pose, free_position, is_identity, origin_pose
from kinloop.io.shared.safe_xml import parse_xml
from kinloop.model.joints import Free
from kinloop.spatial import Transform, rpy_rotation


def origin(text):
    return origin_pose(parse_xml(f"<origin {text}/>".encode(), "f.xml", Limits()))


def test_right_angles_give_exact_zeros_and_ones():
    T = origin('xyz="1 2 3" rpy="0 1.5707963267948966 0"')
    np.testing.assert_array_equal(T.R, [[0, 0, 1], [0, 1, 0], [-1, 0, 0]])
    np.testing.assert_array_equal(T.p, [1, 2, 3])


def test_small_angles_of_a_file_are_kept():
    assert origin('rpy="1e-9 0 0"').R[2, 1] == pytest.approx(1e-9, rel=1e-6)


def test_quaternions_of_any_length_are_rotations():
    np.testing.assert_array_equal(origin('quat="2 0 0 0"').R, np.eye(3))
    np.testing.assert_array_equal(origin('quat="0 0 0 5"').R, np.diag([-1.0, -1.0, 1.0]))
    with pytest.raises(ModelFileError, match="has no length"):
        origin('quat="0 0 0 0"')


def test_the_identity_leaves_the_other_pose_bit_for_bit():
    T = exact_pose(np.array([0.1, 0.2, 0.3]), rpy_rotation(0.1, 0.2, 0.3))
    assert composed(Transform.identity(), T) is T and is_identity(origin_pose(None)) and not is_identity(T)
    np.testing.assert_allclose(composed(T, T).p, T.p + T.R @ T.p)


def test_a_pose_is_the_position_of_a_free_joint():
    T = exact_pose(np.array([0.1, 0.2, 0.3]), rpy_rotation(0.1, 0.2, 0.3))
    again = Free().pose(np.array(free_position(T)))
    np.testing.assert_allclose(again.R, T.R, atol=1e-15)
    np.testing.assert_array_equal(again.p, T.p)
