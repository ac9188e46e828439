"""Errors and warnings about what MuJoCo compiled name the line of the element in the user's file."""

import re

import pytest
from io_samples import write

import kinloop as kl
from kinloop.io import ModelFileError, load

pytest.importorskip("mujoco")
pytestmark = pytest.mark.filterwarnings("ignore::kinloop.io.ModelWarning")

MODEL = """<mujoco>
<worldbody>
<body name="b">
<joint name="s" type="ball" stiffness="3"/>
<geom size="0.1"/>
</body>
<body name="c">
<joint name="j"/><joint name="k" axis="1 0 0"/>
<geom size="0.1"/>
</body>
</worldbody>
<tendon>
<fixed armature="1">
<joint joint="j" coef="1"/><joint joint="k" coef="1"/>
</fixed>
</tendon>
<actuator>
<motor joint="j"/>
<motor armature="0.1" joint="j"/>
</actuator>
<sensor>
<clock/>
<jointlimitpos joint="j"/>
</sensor>
</mujoco>
"""


def test_warnings_name_the_line_of_their_element(tmp_path):
    lines = load(write(tmp_path, MODEL)).warnings
    ours = [line for line in lines if "<" not in line]
    found = {re.search(r":\d+: (\w+)", line)[1]: int(re.search(r":(\d+):", line)[1]) for line in ours}
    assert found == {"tendon": 13, "joint": 4, "actuator": 19}
    assert any(":23: <jointlimitpos" in line for line in lines)


def test_an_equality_that_cannot_be_read_or_closed_is_blamed_on_its_line(tmp_path):
    tied = MODEL.replace("<actuator>", "<equality>\n<tendon tendon1='t'/>\n</equality>\n<actuator>")
    tied = tied.replace("<fixed arm", '<fixed name="t" arm')
    with pytest.raises(ModelFileError, match="says nothing about any joint") as error:
        load(write(tmp_path, tied.replace('coef="1"', 'coef="0"')))
    assert error.value.line == 18
    loop = MODEL.replace("<actuator>", "<equality>\n<connect site1='p' site2='q'/>\n</equality>\n<actuator>")
    loop = loop.replace('<joint name="j"/>', '<joint name="j"/><site name="p" pos="9 0 0"/>')
    path = write(tmp_path, loop.replace('<joint name="s"', '<site name="q"/><joint name="s"'))
    with pytest.raises(ModelFileError, match="cannot be closed") as error:
        kl.load(path)
    assert error.value.line == 18


NUMBERS = """<mujoco>
<worldbody>
<geom name="w" size="0.1" pos="0.5 0 0"/>
<body name="fixed" pos="0.7 0 0">
<geom size="0.11"/>
<site pos="0.12 0 0"/>
</body>
<body name="b">
<joint name="j"/>
<geom name="g" size="0.13" pos="0.14 0 0"/>
<site name="s" pos="0.15 0 0"/>
</body>
<body name="c">
<joint name="k"/>
<geom name="h" size="0.18"/>
</body>
</worldbody>
<equality>
<joint joint1="j" joint2="k" polycoef="0.19 0 0 0 0"/>
<connect body1="b" body2="world" anchor="0.21 0 0" active="true"/>
</equality>
<actuator>
<motor joint="j"/>
<general joint="j" gainprm="0.23" gear="0.25"/>
</actuator>
<keyframe>
<key name="start" qpos="0.32 0"/>
</keyframe>
</mujoco>
"""


@pytest.mark.parametrize(
    ("number", "line"),
    [
        ("0.1", 3), ("0.5", 3), ("0.7", 4), ("0.11", 4), ("0.12", 4), ("0.13", 10), ("0.14", 10),
        ("0.15", 11), ("0.18", 15), ("0.19", 19), ("0.21", 20), ("0.23", 24), ("0.25", 24), ("0.32", 27),
    ],
)  # fmt: skip
def test_numbers_nobody_means_are_blamed_on_their_element_or_its_body(tmp_path, number, line):
    """Shapes and sites without a name are known by their body."""
    load(write(tmp_path, NUMBERS))
    with pytest.raises(ModelFileError, match="must be finite and at most") as error:
        load(write(tmp_path, re.sub(rf"{re.escape(number)}(?=[ \"])", "1e60", NUMBERS)))
    assert error.value.line == line and error.value.element and "1e+60" in error.value.reason


def test_loops_beside_a_urdf_are_blamed_on_their_own_file(tmp_path):
    link = '<link name="{}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial></link>'
    joint = (
        '<joint name="j{0}" type="continuous"><parent link="base"/><child link="{0}"/><origin xyz="{1} 0 0"/></joint>'
    )
    text = "<robot name='r'><link name='base'/>" + link.format("a") + link.format("b")
    write(tmp_path, text + joint.format("a", 0) + joint.format("b", 9) + "</robot>", "robot.urdf")
    (tmp_path / "robot.yaml").write_text("name_mot: [ja]\nclosed_loop: [[a, b]]\ntype: [3d]\n")
    with pytest.raises(ModelFileError, match="cannot be closed") as error:
        kl.load(tmp_path / "robot.urdf")
    assert error.value.file.endswith("robot.yaml") and error.value.line == 2
