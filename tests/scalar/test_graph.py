"""The graph: equal nodes are one node, and every node belongs to one trace."""

from __future__ import annotations

import math

import pytest

from kinloop import scalar as sc
from kinloop.scalar.graph import Graph, reachable
from kinloop.scalar.symbol import constant_value


@pytest.fixture
def xyz():
    return Graph().inputs("x", 3)


def test_equal_expressions_are_one_node(xyz):
    x, y, z = xyz
    assert x * y is y * x and x + y is y + x
    assert sc.sin(x + y) is sc.sin(y + x)
    assert sc.where(x < y, z, x) is sc.where(x < y, z, x)
    assert (x - y) is not (y - x)
    assert len(reachable([x * y + y * x])) == 4


def test_constants_keep_nan_and_the_sign_of_zero():
    g = Graph()
    assert g.constant(math.nan) is g.constant(math.nan)
    assert math.isnan(constant_value(g.constant(math.nan)))
    assert g.constant(0.0) is not g.constant(-0.0)
    assert math.copysign(1.0, constant_value(g.constant(-0.0))) == -1.0


def test_symbols_of_two_traces_do_not_mix(xyz):
    other = Graph().inputs("x", 1)[0]
    with pytest.raises(ValueError, match="two different traces"):
        xyz[0] + other
