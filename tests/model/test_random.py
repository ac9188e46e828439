"""The random mechanisms themselves: reproducible, closed by construction, and of every kind they promise."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import mechanisms

from kinloop.clusters import loop_errors
from kinloop.errors import ModelError
from kinloop.model import Coupling, LoopFunction, LoopJoint, Rod
from kinloop.model.facts import facts
from kinloop.model.random import KINDS, LOOP_JOINTS, random_mechanism


@pytest.mark.parametrize("kind", KINDS)
def test_equal_seeds_give_equal_mechanisms(kind):
    one, two = (random_mechanism(np.random.default_rng(3), kind) for _ in range(2))
    assert facts(one) == facts(two)
    np.testing.assert_array_equal(one.keyframes[0].q, two.keyframes[0].q)
    assert facts(one) != facts(random_mechanism(np.random.default_rng(4), kind))


@pytest.mark.parametrize("kind", KINDS)
def test_loops_are_closed_by_construction(kind):
    for r in mechanisms(4, seed=20, kind=kind):
        assert max(loop_errors(r.tree, np.array(r.mechanism.keyframes[0].q)).values(), default=0.0) < 1e-10, r.name


def test_a_kind_that_is_none_is_refused_by_name():
    with pytest.raises(ModelError, match="kind 'knot' is not one of tree, geared"):
        random_mechanism(np.random.default_rng(0), "knot")


def test_the_base_floats_or_stands_as_told():
    for seed in range(10):
        free = random_mechanism(np.random.default_rng(seed), "tree", floating=True)
        assert free.joints[0].type.name == "free"


def test_together_they_cover_every_part_and_joint_type():
    parts, tree_joints, loop_joints, clusters = set(), set(), set(), set()
    floating = massless = armature = multi_output = locked = 0
    for r in mechanisms(4 * len(KINDS), seed=0):
        m = r.mechanism
        parts |= {type(p).__name__ for p in (*m.loops, *m.couplings)}
        tree_joints |= {j.type.name for j in m.joints}
        loop_joints |= {p.type.name for p in m.loops if isinstance(p, LoopJoint)}
        floating += m.joints[0].type.name == "free"
        massless += any(b.mass == 0 for b in m.bodies)
        armature += any(j.armature > 0 for j in m.joints)
        for c in r.tree:
            kinds = {type(p) for p in c.parts}
            multi_output += len(set(c.outputs)) > 1
            locked += bool(c.parts) and c.m == 0
            loops = [p for p in c.parts if isinstance(p, LoopJoint | Rod)]
            clusters |= {"several loops"} if len(loops) > 1 else set()
            mixed = loops and (any(issubclass(k, Coupling) for k in kinds) or LoopFunction in kinds)
            clusters |= {"mixture"} if mixed else set()
            clusters |= (
                {"redundant rows"}
                if c.parts and len(r.tree.rows(c, np.array(m.keyframes[0].q)).phi) > len(c.chart.rows)
                else set()
            )
    assert parts == {"LoopJoint", "Rod", "LoopFunction", "LinearCoupling", "PolynomialCoupling", "FunctionCoupling"}
    assert tree_joints == {*LOOP_JOINTS, "free"} and loop_joints == set(LOOP_JOINTS)
    assert clusters == {"several loops", "mixture", "redundant rows"}
    assert min(floating, massless, armature, multi_output, locked) > 0
