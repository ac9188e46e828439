# ruff: noqa: E501  (model text)
"""Small valid models of every dialect, written for the tests, and where real ones are looked for."""

from __future__ import annotations

import importlib.metadata
import warnings
from pathlib import Path

import pytest

from kinloop.io import ModelWarning, load
from kinloop.model import Mechanism

SHARED = Path(__file__).resolve().parents[3] / "shared" / "models"


def shared(name: str) -> Path:
    path = SHARED / name
    if not path.exists():
        pytest.skip("the folder shared/models is not beside the repository")
    return path


def wheel(ending: str) -> list[Path]:
    """Model files of the example-robot-data wheel with the given ending."""
    try:
        files = importlib.metadata.distribution("example-robot-data").files or []
    except importlib.metadata.PackageNotFoundError:
        return []
    return sorted(Path(str(f.locate())).resolve() for f in files if str(f).endswith(ending))


REAL = (
    "urdf_plus/mini_cheetah.urdf", "urdf_plus/planar_leg_linkage.urdf", "parallel/5bar_linkage/robot.urdf",
    "parallel/cassie_like/robot.urdf", "menagerie/agility_cassie/cassie.xml", "menagerie/robotiq_2f85/2f85.xml",
    "talos_full_v2.urdf", "cassie_v2.sdf", "tiago_pro.urdf",
)  # fmt: skip
"""Real files of every format: of the folder beside the repository, or of the wheel."""


def real_mechanism(name: str) -> Mechanism:
    """The mechanism of one of `REAL`."""
    path = shared(name) if "/" in name else next(iter(wheel(name)), None)
    if path is None:
        pytest.skip("example-robot-data is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        return load(path)


BAR = """<inertial><origin xyz="{half} 0 0"/><mass value="{mass}"/>
    <inertia ixx="0.001" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.02"/></inertial>
    <visual><geometry><box size="0.1 0.02 0.02"/></geometry><material name="red"><color rgba="1 0 0 1"/></material></visual>
    <collision><origin xyz="{half} 0 0" rpy="0 1.5707963267948966 0"/><geometry><cylinder radius="0.02" length="0.2"/></geometry></collision>"""


def bar(name: str, mass: float = 1.0, half: float = 0.25) -> str:
    return f'<link name="{name}">{BAR.format(mass=mass, half=half)}</link>'


def revolute(name: str, parent: str, child: str, xyz: str = "0 0 0", axis: str = "0 0 1", more: str = "") -> str:
    return (
        f'<joint name="{name}" type="revolute"{more}><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{xyz}"/><axis xyz="{axis}"/><limit lower="-3" upper="3" effort="10" velocity="5"/>'
        f'<dynamics damping="0.1" friction="0.01"/></joint>'
    )


FOUR_BAR_LINKS = (
    '<link name="base"/>' + bar("crank") + bar("coupler", 0.5, 0.5) + bar("rocker", 0.7)
    + revolute("a", "base", "crank") + revolute("b", "crank", "coupler", "0.5 0 0", more=' independent="false"')
    + revolute("c", "base", "rocker", "1 0 0", more=' independent="false"')
)  # fmt: skip

URDF_PLUS = f"""<?xml version="1.0"?>
<robot name="four_bar_with_gear">
{FOUR_BAR_LINKS}
{bar("rotor", 0.1, 0.0)}
{revolute("r", "base", "rotor", "0 0 0.1", more=' independent="false"')}
<loop name="pin" type="revolute"><predecessor link="coupler"><origin xyz="1 0 0"/></predecessor>
<successor link="rocker"><origin xyz="0.5 0 0"/></successor><axis xyz="0 0 1"/></loop>
<coupling name="gear"><predecessor link="crank"/><successor link="rotor"/><ratio value="6.0"/></coupling>
</robot>
"""

MIMIC = f"""<robot name="gripper">
{bar("palm")}{bar("left")}{bar("right")}{bar("tip", 0.1)}
{revolute("jl", "palm", "left", "0 0.1 0", "0 0 2")}
<joint name="jr" type="prismatic"><parent link="palm"/><child link="right"/><axis xyz="0 1 0"/>
<limit lower="0" upper="0.1" effort="1" velocity="1"/><mimic joint="jl" multiplier="-0.5" offset="0.02"/></joint>
<joint name="jt" type="fixed"><parent link="left"/><child link="tip"/><origin xyz="0.5 0 0" rpy="0 0 1.5707963267948966"/></joint>
</robot>
"""

ISAAC = f"""<robot name="isaac">
{FOUR_BAR_LINKS}
<loop_joint name="pin" type="spherical"><link1 link="coupler" rpy="0 0 0" xyz="1 0 0"/>
<link2 link="rocker" rpy="0 0 0" xyz="0.5 0 0"/></loop_joint>
</robot>
"""

DRAKE = f"""<robot name="drake" xmlns:drake="http://drake.mit.edu">
{FOUR_BAR_LINKS}
<drake:ball_constraint><drake:ball_constraint_body_A name="coupler"/><drake:ball_constraint_body_B name="rocker"/>
<drake:ball_constraint_p_AP value="1 0 0"/><drake:ball_constraint_p_BQ value="0.5 0 0"/></drake:ball_constraint>
</robot>
"""

MJCF = """<mujoco model="four_bar">
<compiler angle="radian" autolimits="true"/>
<option gravity="0 0 -9.8"/>
<default><joint damping="0.1" armature="0.01"/><geom type="capsule" size="0.02" mass="0.5"/></default>
<worldbody>
<geom type="plane" size="1 1 0.1"/>
<body name="crank"><joint name="a" axis="0 1 0" ref="0.2" range="-1 1"/><geom fromto="0 0 0 0.5 0 0"/>
<body name="coupler" pos="0.5 0 0"><joint name="b" axis="0 1 0" pos="0.01 0 0" stiffness="2" springref="0.1"/>
<geom fromto="0 0 0 1 0 0"/><site name="tip" pos="1 0 0"/></body></body>
<body name="rocker" pos="1 0 0" quat="0.9 0.1 0.2 0.1"><joint name="c1" axis="0 1 0"/><joint name="c2" type="slide" axis="1 0 0"/>
<geom fromto="0 0 0 0.5 0 0"/><body name="pad" pos="0.5 0 0"><geom type="box" size="0.1 0.1 0.1"/></body></body>
<body name="ball" pos="0 1 0"><joint name="s" type="ball" frictionloss="0.01"/><geom fromto="0 0 0 0 0 0.3"/></body>
<body name="loose" pos="0 -1 1"><freejoint/><geom type="ellipsoid" size="0.1 0.2 0.3"/></body>
</worldbody>
<equality><connect body1="coupler" body2="rocker" anchor="1 0 0"/>
<joint joint1="c2" joint2="a" polycoef="0 0.1 0.2 0 0" active="false"/></equality>
<actuator><motor name="ma" joint="a" gear="5" ctrlrange="-1 1"/><position name="pb" joint="b" kp="10"/>
<velocity name="vc" joint="c1" kv="3"/></actuator>
</mujoco>
"""

SDF = """<sdf version="1.6"><model name="four_bar">
<link name="base"><pose>0 0 1 0 0 0</pose><inertial><mass>2</mass><inertia><ixx>0.1</ixx><iyy>0.1</iyy><izz>0.1</izz></inertia></inertial></link>
<link name="crank"><pose>0 0 1 0 0 0</pose><inertial><pose>0.25 0 0 0 0 0</pose><mass>1</mass><inertia><ixx>0.001</ixx><iyy>0.02</iyy><izz>0.02</izz></inertia></inertial>
<visual name="v"><geometry><box><size>0.1 0.1 0.1</size></box></geometry></visual></link>
<link name="coupler"><pose>0.5 0 1 0 0 0</pose><inertial><pose>0.5 0 0 0 0 0</pose><mass>1</mass><inertia><ixx>0.001</ixx><iyy>0.02</iyy><izz>0.02</izz></inertia></inertial></link>
<link name="rocker"><pose>1.5 0 0.5 0 -1.5707963267948966 0</pose><inertial><pose>0.25 0 0 0 0 0</pose><mass>1</mass><inertia><ixx>0.001</ixx><iyy>0.02</iyy><izz>0.02</izz></inertia></inertial></link>
<joint name="a" type="revolute"><parent>base</parent><child>crank</child><axis><xyz>0 1 0</xyz><limit><lower>-1</lower><upper>1</upper></limit><dynamics><damping>0.1</damping></dynamics></axis></joint>
<joint name="b" type="revolute"><parent>crank</parent><child>coupler</child><axis><xyz>0 1 0</xyz></axis></joint>
<joint name="c" type="revolute"><parent>base</parent><child>rocker</child><axis><xyz>0 1 0</xyz></axis></joint>
<joint name="pin" type="revolute"><pose>0.5 0 0 0 0 0</pose><parent>coupler</parent><child>rocker</child><axis><xyz>0 1 0</xyz></axis></joint>
</model></sdf>
"""

MJCF_SCENE = """<mujoco><compiler angle="radian"/>
<asset><mesh name="wedge" vertex="0 0 0  1 0 0  0 1 0  0 0 1"/><hfield name="hills" nrow="2" ncol="3" size="1 2 0.5 0.1" elevation="0 1 2 3 4 5"/></asset>
<worldbody><geom name="floor" type="plane" size="0 0 1" friction="0.7 0.01 0.002"/><geom type="hfield" hfield="hills"/>
<body name="a"><joint name="a" axis="0 1 0"/><geom name="ball" size="0.1" condim="6" priority="2" contype="4" margin="0.01" gap="0.002"/><site name="s"/>
<body name="b" pos="0.5 0 0"><joint name="b" axis="0 1 0"/><geom name="box" type="box" size="0.1 0.1 0.1" contype="0" conaffinity="0"/></body></body>
<body name="c" pos="1 0 0"><joint name="c" axis="0 1 0"/><geom type="mesh" mesh="wedge"/><site name="t" pos="0 0 0.5"/></body></worldbody>
<contact><exclude body1="a" body2="b"/><pair name="p" geom1="floor" geom2="box" condim="4" friction="0.5 0.6 0.01 0.02 0.03" solref="0.03 1"/></contact>
<tendon><fixed name="one"><joint joint="a" coef="2"/><joint joint="b" coef="-3"/></fixed><spatial name="line"><site site="s"/><site site="t"/></spatial></tendon>
<equality><tendon tendon1="one" polycoef="0.3 0 0 0 0"/><tendon tendon1="line"/></equality>
</mujoco>
"""

SDF_WORLD = """<sdf version="1.11" xmlns:drake="http://drake.mit.edu"><world name="w"><gravity>0 0 -9.8</gravity><frame name="f"><pose>0 0 1 0 0 0</pose></frame>
<model name="ground"><static>true</static><link name="l"><collision name="c"><geometry><plane><size>5 5</size></plane></geometry><surface><friction><ode><mu>0.7</mu><mu2>0.7</mu2></ode><torsional><coefficient>0.5</coefficient><patch_radius>0.02</patch_radius></torsional></friction><contact><collide_bitmask>3</collide_bitmask></contact></surface></collision></link></model>
<model name="arm" placement_frame="mount"><pose relative_to="f">1 0 0 0 0 0.3</pose><link name="base"/><frame name="mount" attached_to="base"><pose>0 0.2 0 0.3 0 0</pose></frame>
<model name="hand"><pose relative_to="mount">0.1 0 0 0 0.2 0</pose><link name="palm"/></model>
<joint name="wrist" type="revolute"><parent>mount</parent><child>hand::palm</child><axis><xyz expressed_in="__model__">0 1 0</xyz></axis></joint></model>
<model name="cart"><link name="body"/><drake:joint name="slide" type="planar"><drake:parent>world</drake:parent><drake:child>body</drake:child><drake:damping>1 1 1</drake:damping></drake:joint></model>
<joint name="tie" type="fixed"><parent>ground::l</parent><child>arm::base</child></joint></world></sdf>
"""

XML = {
    "urdf_plus": URDF_PLUS, "mimic": MIMIC, "isaac": ISAAC, "drake": DRAKE, "mjcf": MJCF, "mjcf_scene": MJCF_SCENE,
    "sdf": SDF, "sdf_world": SDF_WORLD,
}  # fmt: skip


def write(folder: Path, text: str, name: str = "") -> Path:
    """A model file in a folder, with the ending its root asks for."""
    ending = ".xml" if "<mujoco" in text else ".sdf" if "<sdf" in text else ".urdf"
    path = folder / (name or f"model{ending}")
    path.write_text(text, encoding="utf-8")
    return path
