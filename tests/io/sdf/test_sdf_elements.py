"""Every element of the SDFormat specification is read, inert, listed in warnings, or refused by name."""

import warnings

import pytest
from io_samples import write
from sdf_specification import CHANGES, INERT, SHAPES, SPECIFICATION, robot, with_element

from kinloop.io import ModelFileError, load
from kinloop.io.own.write_own import dumps
from kinloop.io.sdf.sdf_elements import ELEMENTS, treatment

pytestmark = pytest.mark.filterwarnings("ignore::kinloop.io.ModelWarning")
PAIRS = [(parent, tag) for parent, tags in SPECIFICATION.items() for tag in tags.split()]
SECOND_AXIS = (("axis2", "dynamics"), ("axis2", "limit"), ("axis2", "mimic"))
INCLUDES = (("world", "include"), ("model", "include"))
"""Read by `test_sdf_scopes`, with files to include."""
READ = [pair for pair in PAIRS if treatment(*pair).kind == "read" and pair not in (*SECOND_AXIS, *INCLUDES)]
NOT_SHAPES = {"empty", "cone", "heightmap", "image", "polyline"}


def test_the_reader_has_a_word_on_every_element_of_the_specification():
    missing = [(parent, tag) for parent, tag in PAIRS if tag not in ELEMENTS[parent]]
    assert not missing and len(PAIRS) > 130
    silent = {tag for parent, tag in PAIRS if treatment(parent, tag).kind == "silent"}
    assert silent == set(INERT)


@pytest.mark.parametrize("parent, tag", READ)
def test_elements_that_are_read_change_the_robot(tmp_path, parent, tag):
    if tag in NOT_SHAPES:
        m = load(write(tmp_path, robot().replace(SHAPES["box"], f"<{tag}/>")))
        assert any("no geometry that kinloop knows" in line for line in m.warnings)
        return
    old, new = CHANGES[parent, tag]
    text = robot(parent if parent in SHAPES else "box")
    assert old in text
    one, two = (dumps(load(write(tmp_path, x))) for x in (text, text.replace(old, new, 1)))
    assert one != two


def test_what_a_second_axis_says_is_listed_or_refused(tmp_path):
    for words in ("<dynamics><damping>1</damping></dynamics>", "<limit><upper>1</upper></limit>"):
        m = load(write(tmp_path, robot().replace("<axis2>", f"<axis2>{words}")))
        assert any("<joint name='u'>: has two axes" in line for line in m.warnings)
    with pytest.raises(ModelFileError, match="second axis"):
        load(write(tmp_path, robot().replace("<axis2>", "<axis2><mimic joint='j'/>")))


@pytest.mark.parametrize("parent, tag", [p for p in PAIRS if treatment(*p).kind in ("listed", "dropped")])
def test_elements_that_are_listed_are_in_the_warnings(tmp_path, parent, tag):
    m = load(write(tmp_path, with_element(parent, tag)))
    assert any(f"<{tag} name='x'>: {treatment(parent, tag).reason}" in line for line in m.warnings)
    with pytest.raises(ModelFileError, match="strict"):
        load(tmp_path / "model.sdf", strict=True)


@pytest.mark.parametrize("parent, tag", [p for p in PAIRS if treatment(*p).kind == "refused"])
def test_elements_that_are_refused_are_named(tmp_path, parent, tag):
    with pytest.raises(ModelFileError) as error:
        load(write(tmp_path, with_element(parent, tag)))
    assert tag in error.value.element


@pytest.mark.parametrize("parent, tag", [p for p in PAIRS if treatment(*p).kind == "silent"])
def test_inert_elements_change_nothing(tmp_path, parent, tag):
    shape = parent if parent in SHAPES else "box"
    assert dumps(load(write(tmp_path, with_element(parent, tag)))) == dumps(load(write(tmp_path, robot(shape))))


def test_an_element_of_no_specification_is_listed_and_a_loop_refused(tmp_path):
    for parent in ("link", "joint", "axis", "inertial", "collision", "world"):
        m = load(write(tmp_path, with_element(parent, "magic")))
        assert any("<magic name='x'>: is not an element that kinloop knows" in line for line in m.warnings)
        with pytest.raises(ModelFileError, match="looks like a loop"):
            load(write(tmp_path, with_element(parent, "magic_loop")))


def test_many_elements_of_one_kind_are_one_warning(tmp_path):
    text = robot().replace("<inertial>", "<velocity_decay/><inertial>")
    (line,) = [x for x in load(write(tmp_path, text)).warnings if "velocity_decay" in x]
    assert "(and 3 more)" in line


def test_harmless_values_are_not_listed(tmp_path):
    text = robot().replace("<inertial>", "<gravity>true</gravity><kinematic>0</kinematic><inertial>")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert load(write(tmp_path, text), strict=True).name == "m"
