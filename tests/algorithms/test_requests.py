"""Requests: what tells them apart, the inputs they take, and what the table cannot answer."""

from __future__ import annotations

import pytest

import kinloop as kl
from kinloop.algorithms.requests import ask, evaluate, input_size, input_sizes
from kinloop.errors import MethodError, UnknownName


def test_numbers_of_constraints_tell_no_requests_apart_and_their_structure_does(arm):
    body = arm.body_names[-1]
    keys = [
        ask(arm.tree.top, "delassus", None, (), [kl.Rows(body, [row])]).key
        for row in ([0.3, 0, 0, 0, 0, 0], [0.4, 0, 0, 0, 0, 0], [0, 0.3, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0])
    ]
    assert keys[0] == keys[1] and len(set(keys)) == 3


def test_a_compliance_counts_for_soft_methods_only(arm):
    assert ask(arm.tree.top, "constrained_dynamics", "pv", compliance=1e-3).compliance is None
    assert ask(arm.tree.top, "constrained_dynamics", "pv_soft", compliance=1e-3).compliance == 1e-3


def test_what_the_table_cannot_answer_is_refused_by_name(arm):
    top, body = arm.tree.top, arm.body_names[0]
    with pytest.raises(UnknownName, match="no quantity named 'forward_dynamic'; did you mean 'forward_dynamics'"):
        ask(top, "forward_dynamic")
    with pytest.raises(MethodError, match="method 'caba' of forward_dynamics is not one of 'cluster_aba', 'proj"):
        ask(top, "forward_dynamics", "caba")
    with pytest.raises(MethodError, match="method 'magic' of delassus is not one of 'pv_osim'"):
        ask(top, "delassus", "magic")
    with pytest.raises(MethodError, match="mass_matrix takes no external forces"):
        ask(top, "mass_matrix", forces=True)
    with pytest.raises(MethodError, match=r"frame_pose needs frames=\[...\], names of 'arm'"):
        ask(top, "frame_pose")
    with pytest.raises(MethodError, match=r"mass_matrix takes no frames; received \['base'\]"):
        ask(top, "mass_matrix", None, ["base"])
    with pytest.raises(MethodError, match=r"frame_pose takes one frame; received \['base', 'tip'\]"):
        ask(top, "frame_pose", None, ["base", "tip"])
    with pytest.raises(MethodError, match="forward_dynamics takes no constraints; constrained_dynamics is"):
        ask(top, "forward_dynamics", None, (), [kl.Point("tip")])
    with pytest.raises(UnknownName, match="no frame named"):
        evaluate(arm.tree, ask(top, "frame_pose", None, ["nowhere"]), arm.neutral())
    with pytest.raises(kl.ModelError, match="not a motion constraint"):
        ask(top, "delassus", None, (), [body])


def test_sizes_of_inputs(arm):
    tree, weld = arm.tree, kl.Weld(arm.body_names[0])
    asked = ask(tree.top, "delassus_solve", None, (), [weld, weld])
    assert input_sizes(tree, asked) == {"q": arm.nq, "x": 12}
    assert [input_size(tree, name) for name in ("q", "v", "tau", "a", "f", "f_ext")] == [
        arm.nq, arm.nv, arm.nv, arm.nv, 6, 6 * len(arm.body_names)]  # fmt: skip
    held = kl.Point(arm.body_names[0], acceleration=(0, 0, 1))
    asked = ask(tree.top, "constrained_dynamics", None, (), [held], True)
    assert list(input_sizes(tree, asked)) == ["q", "v", "tau", "f_ext", "numbers"]
    assert input_sizes(tree, asked)["numbers"] == 3
