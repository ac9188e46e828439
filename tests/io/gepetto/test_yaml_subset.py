"""The YAML of Gepetto's files: words and lists in either form, or an error with the line."""

import pytest

from kinloop.io import ModelFileError
from kinloop.io.gepetto.yaml_subset import parse_yaml
from kinloop.io.shared.file_errors import Where

HERE = Where("robot.yaml")


def values(text, *keys):
    return {k: v for k, (v, _) in parse_yaml(text, keys, HERE).items()}


def test_words_and_lists_in_brackets_and_dashes():
    text = "a: [['x', \"y\"], [z, w]]\nb:\n  - one\n  - [two, 'three']\n# said\nc: word # and why\nother: {x: 1}\n"
    assert values(text, "a", "b", "c") == {"a": [["x", "y"], ["z", "w"]], "b": ["one", ["two", "three"]], "c": "word"}


def test_lists_may_go_over_several_lines_and_keys_know_theirs():
    found = parse_yaml("---\na: [x,\n  y]\nb: z\n", ("a", "b"), HERE)
    assert found["a"][0] == ["x", "y"] and found["b"][1] == Where("robot.yaml", 4, "b")


@pytest.mark.parametrize(
    "text, reason",
    [
        ("a: [x", "leaves a list open"),
        ("a: x]", "closes a list that was not opened"),
        ("a: [[[[[x]]]]]", "nests lists more than 4 deep"),
        ("a: 'x", "cannot be read near"),
        ("a: x\na: y", "is given twice"),
    ],
)
def test_mistakes_are_named(text, reason):
    with pytest.raises(ModelFileError, match=rf"robot.yaml:\d: a: .*{reason}"):
        parse_yaml(text, ("a",), HERE)


def test_long_lists_are_read_in_linear_time():
    import time

    text = "closed_loop: [" + "['a', 'b'], " * 40_000 + "]"
    start = time.process_time()
    (value, _) = parse_yaml(text, ("closed_loop",), Where("robot.yaml"))["closed_loop"]
    assert len(value) == 40_000 and time.process_time() - start < 2.0
