"""What tells one task from another."""

import pytest

from kinloop.sweeps.task_calls import identity


@pytest.mark.parametrize("file", ["<typed>", "docs/learning.md"], ids=["at a prompt", "in a page"])
def test_functions_without_a_source_are_told_apart_by_what_they_do(file):
    def typed(text):
        return eval(compile(text, file, "eval"))

    texts = ["lambda a: a + 1", "lambda a: a + 2", "lambda a: a - 1", "lambda a: [x for x in (a, 3)]"]
    assert len({identity(typed(text)) for text in texts}) == len(texts)
    assert all(identity(typed(text)) == identity(typed(text)) for text in texts)
