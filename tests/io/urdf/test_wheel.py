"""Robots of the example-robot-data wheel give Pinocchio's dynamics."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from helpers import assert_enough, drop
from io_compare import relative
from io_samples import wheel

from kinloop.algorithms.trees.cluster_aba import cluster_aba
from kinloop.algorithms.trees.cluster_rnea import cluster_rnea
from kinloop.clusters import close, grow
from kinloop.errors import ModelError
from kinloop.io import ModelWarning, convert, load

pin = pytest.importorskip("pinocchio")
URDFS = wheel(".urdf") or [pytest.param(None, marks=pytest.mark.skip("example-robot-data is not installed"))]
REFUSED = {
    "alex_psyonic_hands.urdf": "mimic.*missing joint",
    "romeo_laas_small.urdf": "negative principal moment",
    "ur3.urdf": "has no links",
}
"""Files that describe no robot, and why."""


TURNED = {"TwoDofs.urdf"}
"""Files whose base hangs on a link named world in another frame: Pinocchio frees that link, we what hangs on it."""


def tree_robot(path, **options):
    """The mechanism without its mimics: what Pinocchio makes of a URDF."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        return replace(load(path, accept_inertia=True, **options), couplings=())


def disagreement(path, states: int, seed: int, free: bool) -> tuple[float, float]:
    """Largest relative difference of inverse and forward dynamics over random states, the latter per 1e5 cond."""
    m = tree_robot(path, floating_base=free or None)
    tree = grow(m)
    root = (pin.JointModelFreeFlyer(),) if free else ()
    model = pin.buildModelFromUrdf(str(path), *root)
    data, rng, worst = model.createData(), np.random.default_rng(seed), np.zeros(2)
    assert model.nv == tree.nv
    for _ in range(states):
        q = tree.top.random(rng)
        v, a = rng.normal(size=(2, tree.nv))
        pq, pv = convert.to_pinocchio(tree, model, q, v)
        _, pa = convert.to_pinocchio(tree, model, q, a)  # velocities map by constant matrices here
        _, _, tau = convert.from_pinocchio(tree, model, pq, pv, pin.rnea(model, data, pq, pv, pa))
        M = pin.crba(model, data, pq) if model.nv else np.eye(1)
        worst[0] = max(worst[0], relative(cluster_rnea(tree, q, v, a), tau))
        cond = np.linalg.cond(M)
        if cond < 1e12:  # massless links that move (Romeo's fingers) have no forward dynamics as a tree
            worst[1] = max(worst[1], relative(cluster_aba(tree, q, v, tau), a) / max(1.0, cond / 1e5))
    return worst[0], worst[1]


@pytest.mark.parametrize("path", URDFS, ids=lambda p: p.stem if p else "none")
def test_tree_robots_have_pinocchios_dynamics(path):
    if path.name in REFUSED:
        with pytest.raises(ModelError, match=REFUSED[path.name]):
            tree_robot(path)
        return
    inverse, forward = disagreement(path, states=2, seed=0, free=False)
    assert inverse <= 1e-11 and forward <= 1e-10


@pytest.mark.parametrize("name", ["go2", "solo12", "talos_reduced", "g1_29dof_rev_1_0", "human"])
def test_floating_robots_have_pinocchios_dynamics(name):
    path = next((p for p in wheel(".urdf") if p.stem == name), None)
    if path is None:
        pytest.skip("example-robot-data is not installed")
    inverse, forward = disagreement(path, states=2, seed=1, free=True)
    assert inverse <= 1e-11 and forward <= 1e-10


@pytest.mark.slow
@pytest.mark.parametrize("path", [p for p in URDFS if getattr(p, "name", "") not in REFUSED], ids=lambda p: p.stem)
def test_tree_robots_have_pinocchios_dynamics_at_many_states(path):
    for free in (False, True):
        if free and path.name in TURNED:
            with pytest.raises(ModelError, match="another frame than Pinocchio's 'root_joint'"):
                disagreement(path, states=1, seed=2, free=True)
            continue
        inverse, forward = disagreement(path, states=25, seed=2, free=free)
        assert inverse <= 1e-11 and forward <= 1e-10


def test_at_least_35_files_load_without_any_option():
    loaded = 0
    for path in wheel(".urdf"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ModelWarning)
            try:
                load(path)
            except ModelError:
                drop("a file of the wheel that asks for an option")
                continue
        loaded += 1
    if not wheel(".urdf"):
        pytest.skip("example-robot-data is not installed")
    assert_enough(loaded, 64, "files loaded and")


def test_mimics_have_pinocchios_dynamics():
    path = next((p for p in wheel(".urdf") if p.stem == "talos_full_v2"), None)
    if path is None:
        pytest.skip("example-robot-data is not installed")
    m = load(path)
    tree = grow(m)
    model = pin.buildModelFromUrdf(str(path))
    data, rng = model.createData(), np.random.default_rng(0)
    q = close(tree, tree.top.random(rng))
    v, a = rng.normal(size=(2, tree.nv))
    pq, pv = convert.to_pinocchio(tree, model, q, v)
    _, pa = convert.to_pinocchio(tree, model, q, a)  # all couplings are linear: accelerations map as velocities
    _, _, tau = convert.from_pinocchio(tree, model, pq, pv, pin.rnea(model, data, pq, pv, pa))
    assert relative(cluster_rnea(tree, q, v, a), tau) < 1e-12
    assert tree.nv == model.nv - len(m.couplings)
