"""Running the command as a user does."""

import re
import sys

import pytest

from kinloop import cli


@pytest.fixture
def run(monkeypatch, capsys):
    """Run `kinloop ARGS`; returns exit status, output, errors."""

    def call(*args):
        monkeypatch.setattr(sys, "argv", ["kinloop", *map(str, args)])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        out, err = capsys.readouterr()
        return stop.value.code or 0, out, err

    return call


def table_rows(text):
    """Words of every line of a table."""
    return [re.split(r"\s{2,}", line.strip()) for line in text.splitlines() if line.strip()]


@pytest.fixture
def rows():
    """Reads the lines of a printed table."""
    return table_rows


@pytest.fixture
def summary(run):
    """Run `kinloop sim ARGS` and return the lines of its table by name, as [value, unit]."""

    def call(*args):
        status, out, err = run("sim", *args)
        assert (status, err) == (0, "")
        return {line[0]: line[1:] for line in table_rows(out)}

    return call


LEGGED = """<mujoco model="legged">
  <compiler angle="radian"/>
  <worldbody>
    <geom type="plane" size="1 1 1"/>
    <body name="trunk" pos="0 0 0.5">
      <freejoint name="base"/>
      <geom type="box" size="0.2 0.15 0.05" mass="4"/>
      {legs}
    </body>
  </worldbody>
  <actuator>{actuators}</actuator>
  <keyframe>
    <key name="home" qpos="0 0 0.38 1 0 0 0 0.5 -1 0.5 -1 0.5 -1 0.5 -1"/>
    <key name="sunk" qpos="0 0 0.1 1 0 0 0 0.5 -1 0.5 -1 0.5 -1 0.5 -1"/>
  </keyframe>
</mujoco>"""

LEG = """<body name="thigh{k}" pos="{x} {y} 0">
  <joint name="hip{k}" axis="0 1 0" range="-1 1.5"/><geom type="capsule" fromto="0 0 0 0 0 -0.2" size="0.02" mass="0.5" contype="0" conaffinity="0"/>
  <body name="shank{k}" pos="0 0 -0.2">
    <joint name="knee{k}" axis="0 1 0" range="-2 -0.2" damping="0.5"/><geom type="capsule" fromto="0 0 0 0 0 -0.2" size="0.02" mass="0.2"/>
  </body>
</body>"""  # noqa: E501


@pytest.fixture
def legged(tmp_path):
    """A four-legged robot in a file, with servos at its hips and torque motors at its knees, and keyframes."""
    pytest.importorskip("mujoco", reason="MJCF files are read with mujoco, which is not installed")
    places = [(x, y) for x in (-0.2, 0.2) for y in (-0.15, 0.15)]
    legs = "".join(LEG.format(k=k, x=x, y=y) for k, (x, y) in enumerate(places))
    motors = [
        f'<position joint="hip{k}" kp="80" kv="4" ctrlrange="-0.4 0.4"/><motor joint="knee{k}"/>' for k in range(4)
    ]
    path = tmp_path / "legged.xml"
    path.write_text(LEGGED.format(legs=legs, actuators="".join(motors)))
    return path
