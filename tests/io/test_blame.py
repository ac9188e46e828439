"""Errors that only show when the robot is put together still name the file, the line and the part."""

import pytest

import kinloop as kl
from kinloop.errors import ModelError

OPEN = """<robot name="open">
  <link name="base"/>
  <link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="b"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="ja" type="continuous"><parent link="base"/><child link="a"/><axis xyz="1 0 0"/></joint>
  <joint name="jb" type="continuous"><parent link="base"/><child link="b"/><origin xyz="9 0 0"/></joint>
  <loop name="pin" type="revolute">
    <predecessor link="a"><origin xyz="1 0 0"/></predecessor>
    <successor link="b"><origin xyz="1 0 0"/></successor>
    <axis xyz="1 0 0"/>
  </loop>
</robot>
"""


def test_a_loop_that_cannot_close_is_an_error_about_its_file(tmp_path):
    path = tmp_path / "open.urdf"
    path.write_text(OPEN)
    with pytest.raises(ModelError, match=r"open\.urdf:7: 'pin': .*cannot be closed") as caught:
        kl.load(path)
    assert caught.value.line == 7


def test_long_chains_are_checked_in_linear_time():
    bodies = [kl.Body(f"b{k}", 1.0, inertia=(1, 1, 1)) for k in range(3000)]
    joints = [kl.Joint(f"j{k}", f"b{k - 1}" if k else "world", f"b{k}", _revolute()) for k in range(3000)]
    assert len(kl.Mechanism("long", bodies, joints[::-1]).joints) == 3000


def _revolute():
    from kinloop.model.joints import Revolute

    return Revolute()
