"""What reading a URDF costs, in calls of Python functions, which no busy machine changes."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from helpers import calls

from kinloop.io import load

LINK = """
<link name="l{k}">
  <inertial>
    <origin xyz="0.1 0 0.2" rpy="0 0 0"/>
    <mass value="1.5"/>
    <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>
  </inertial>
  <visual><origin xyz="0 0 1" rpy="0 0 0"/><geometry><mesh filename="package://meshes/l{k}.stl"/></geometry></visual>
  <collision><origin xyz="0 0 1" rpy="0 0 0"/><geometry><mesh filename="package://meshes/l{k}.stl"/></geometry></collision>
</link>
<joint name="j{k}" type="revolute">
  <parent link="l{above}"/><child link="l{k}"/><origin xyz="0 0 0.3" rpy="0 0 0"/><axis xyz="0 0 1"/>
  <limit lower="-1" upper="1" effort="10" velocity="3"/><dynamics damping="0.1" friction="0"/>
</joint>
"""


def test_a_link_with_its_joint_and_shapes_takes_few_calls(tmp_path):
    def written(links: int) -> Path:
        path = tmp_path / f"chain{links}.urdf"
        body = "".join(LINK.format(k=k, above=k - 1) for k in range(1, links))
        path.write_text(f'<robot name="chain"><link name="l0"/>{body}</robot>', encoding="utf-8")
        return path

    load(written(3))  # what is imported on the way is not counted
    few, some, many = (calls(partial(load, written(n))) for n in (11, 31, 71))
    each = (some - few) / 20
    assert each < 450, each
    assert (many - some) / 40 < 1.02 * each, "no work over all links for each"
