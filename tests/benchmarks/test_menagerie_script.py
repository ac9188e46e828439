"""benchmarks/menagerie.py: three robots load and have the dynamics of MuJoCo's matrices."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks import menagerie

pytest.importorskip("mujoco")
MODELS = Path(__file__).resolve().parents[3] / "shared" / "models" / "menagerie"
SLIDER = """<mujoco><worldbody><body><joint name='a' axis='1 0 0'/><geom size='0.1' pos='0 0.3 0'/></body>
<body><joint name='b' axis='1 0 0'/><geom size='0.1' pos='0 0.2 0'/></body></worldbody>
<equality><joint joint1='a' joint2='b' polycoef='0 0.5 0.3 0 0'/></equality></mujoco>"""


@pytest.mark.parametrize("file", ["agility_cassie/cassie.xml", "robotiq_2f85/2f85.xml", "unitree_go1/go1.xml"])
def test_robots_have_the_dynamics_of_mujocos_matrices(file):
    if not (MODELS / file).exists():
        pytest.skip("the folder shared/models is not beside the repository")
    found = menagerie.look_at(MODELS / file, MODELS)
    assert found.fits and found.difference < 1e-8 and found.bodies > 8, found
    assert found.cells()[1] == "yes" and len(found.cells()) == len(menagerie.COLUMNS)


def folder(tmp_path, **texts):
    (tmp_path / "robot").mkdir()
    for name, text in texts.items():
        (tmp_path / "robot" / f"{name}.xml").write_text(text)
    return tmp_path


def test_a_table_is_printed_and_written(tmp_path, monkeypatch, capsys):
    there = folder(tmp_path, good=SLIDER, part="<mujoco><magic/></mujoco>", still="<mujoco/>")
    monkeypatch.setenv(menagerie.FOLDER, str(there))
    assert menagerie.main(["--table", str(tmp_path / "table.md"), "robot"]) == 0
    out = capsys.readouterr().out
    assert (
        "1 files: 1 load, 1 agree to 1e-07, or as far as they are determined" in out
        and "robot/part.xml, robot/still.xml" in out
    )
    assert (tmp_path / "table.md").read_text().splitlines()[2].startswith("| robot/good.xml | yes | 2 | 1 | 1 | ")


def test_equalities_that_contradict_one_another_leave_accelerations_undetermined(tmp_path):
    again = "<joint joint1='a' joint2='b' polycoef='0 0.5001 0.3 0 0'/></equality>"
    there = folder(tmp_path, good=SLIDER, torn=SLIDER.replace("</equality>", again))
    good, torn = (menagerie.hard_model(there / f"robot/{name}.xml") for name in ("good", "torn"))
    state = np.array([0.2, 0.4]), np.array([0.3, 0.6]), np.array([1.0, 2.0])
    one, *others = menagerie.hard_accelerations(good, *state)
    assert np.allclose(others, one, rtol=1e-9) and len(others) == menagerie.WEIGHTS
    first, *others = menagerie.hard_accelerations(torn, *state)
    assert np.max(np.abs(np.array(others) - first)) > 1e-5


def test_a_file_that_does_not_load_or_agree_fails(tmp_path, monkeypatch, capsys):
    bad = SLIDER.replace("size='0.1'", "size='0.1' friction='-1 0 0'", 1)
    monkeypatch.setenv(menagerie.FOLDER, str(folder(tmp_path, bad=bad)))
    assert menagerie.main([]) == 1
    assert "must not be negative" in " ".join(capsys.readouterr().out.split())
    monkeypatch.setattr(menagerie, "cluster_aba", lambda tree, q, v, tau: v + 1.0)
    assert not menagerie.look_at(folder(tmp_path / "robot", good=SLIDER) / "robot/good.xml", tmp_path).fits
    monkeypatch.delenv(menagerie.FOLDER)
    with pytest.raises(SystemExit):
        menagerie.main([])
