"""Where arrays lie in the scratch array."""

from __future__ import annotations

from kinloop import scalar as sc
from kinloop.compiler.emit.kernel_layout import Array, Layout, scratch_bytes
from kinloop.compiler.emit.vector_type import Vector
from kinloop.compiler.plan.planner import make_plan


def test_inputs_come_first_then_outputs():
    layout = Layout((3, 0), ((2, 2), ()), "float32", lanes=8, block_width=8)
    assert layout.given == [Array(0, 3, 0), Array(1, 0, 3)]
    assert layout.wanted == [Array(2, 4, 3), Array(3, 1, 7)]


def test_a_register_takes_one_value_of_many_states_or_many_values_of_one():
    assert Layout((1,), ((),), "float64", 1, 4).register == Vector(4, "double")
    many = Layout((1,), ((),), "float32", 8, 8)
    assert many.register == many.vector == Vector(8, "float")


def test_scratch_is_a_whole_number_of_cache_lines_and_one_more():
    plan = make_plan(sc.trace(lambda x: x * 2.0, {"x": 5}), True)
    assert plan.slots == 10
    assert scratch_bytes(plan, Vector(1, "double")) == 192
    assert scratch_bytes(plan, Vector(4, "double")) == 384
    assert scratch_bytes(make_plan(sc.trace(lambda x: x, {"x": 0}), True), Vector(1, "float")) == 64
