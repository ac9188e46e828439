"""Gepetto's YAML beside a URDF closes loops, changes joints and names motors; its parallel robots assemble."""

import numpy as np
import pytest
from io_compare import relative
from io_samples import FOUR_BAR_LINKS, bar, revolute, shared, write

from kinloop.algorithms.trees.cluster_aba import cluster_aba
from kinloop.algorithms.trees.cluster_crba import cluster_crba
from kinloop.algorithms.witnesses.dense_kkt import dense_kkt
from kinloop.clusters import close, grow, loop_errors, random_closed
from kinloop.errors import ModelError
from kinloop.io import load
from kinloop.model import joints as jt


def test_gepetto_loops_beside_the_urdf(tmp_path):
    ends = revolute("end_a", "coupler", "tip_a", "1 0 0") + revolute("end_b", "rocker", "tip_b", "0.5 0 0")
    path = write(tmp_path, "<robot name='r'>" + FOUR_BAR_LINKS + bar("tip_a") + bar("tip_b") + ends + "</robot>")
    (tmp_path / "model.yaml").write_text(
        "# loops\nclosed_loop: [['end_a', \"tip_b\"]]\ntype: ['6d']\nname_mot: [a]\nother: {x: 1}\n"
        "joint_name: [end_b]\njoint_type: ['SPHERICAL']\n"
    )
    m = load(path)
    (loop,) = m.loops
    assert (loop.predecessor, loop.successor) == ("tip_a", "tip_b") and isinstance(loop.type, jt.Fixed)
    assert next(j for j in m.joints if j.name == "end_b").type == jt.Spherical()
    assert m.motors == ("a",)
    (tmp_path / "model.yaml").write_text("closed_loop:\n  - [end_a, end_b]\ntype:\n  - 3d\n")
    assert isinstance(load(path).loops[0].type, jt.Spherical)
    (tmp_path / "model.yaml").write_text("closed_loop: [['end_a', 'nowhere']]\n")
    with pytest.raises(ModelError, match=r"model.yaml:1: closed_loop: refers to a missing link"):
        load(path)


@pytest.mark.parametrize("name, nv", [("5bar_linkage", 3), ("cassie_like", 7)])
def test_parallel_robots_assemble_and_move(name, nv):
    m = load(shared(f"parallel/{name}/robot.urdf"))
    tree = grow(m)
    assert m.loops and m.motors and tree.nv == nv
    rng = np.random.default_rng(0)
    for q in (close(tree, tree.top.neutral()), random_closed(tree, rng)):
        assert max(loop_errors(tree, q).values()) <= 1e-10
    v, tau = rng.normal(size=(2, tree.nv))
    cond = np.linalg.cond(cluster_crba(tree, q))
    assert relative(cluster_aba(tree, q, v, tau), dense_kkt(tree, q, v, tau)) < 1e-13 * cond + 1e-9


def test_universal_joints_of_the_yaml_turn_about_their_two_axes(tmp_path):
    """UJOINT_ZY: about z of the joint's frame, then about y, as the two hinges that Gepetto's loader makes of it."""
    path = write(tmp_path, "<robot name='r'>" + FOUR_BAR_LINKS + "</robot>")
    (tmp_path / "model.yaml").write_text("joint_name: [b]\njoint_type: ['UJOINT_ZY']\n")
    m = load(path)
    joint = next(j for j in m.joints if j.name == "b")
    assert joint.type == jt.Universal((0, 0, 1), (0, 1, 0)) and np.isinf([joint.lower, joint.upper]).all()
    assert any("makes joint 'b' UJOINT_ZY, which has no bounds" in line for line in m.warnings)
    R = joint.type.pose(np.array([0.3, 0.5])).R
    assert np.allclose(R @ (0, 1, 0), [-np.sin(0.3), np.cos(0.3), 0]), "the second axis is turned by the first"
    for kind in ("UJOINT_ZZ", "UJOINT_Z", "UJOINT_", "UJOINT"):
        (tmp_path / "model.yaml").write_text(f"joint_name: [b]\njoint_type: ['{kind}']\n")
        with pytest.raises(ModelError, match=r"must be one of SPHERICAL, .*UJOINT_XY"):
            load(path)
