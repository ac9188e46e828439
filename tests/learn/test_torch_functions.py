"""kinloop.torch: values, gradients and batches are the robot's own."""

import numpy as np
import pytest

import kinloop as kl
from kinloop.algorithms.quantities import QUANTITIES
from kinloop.errors import ConflictingConstraints, LoopNotClosed, MethodError, NonFiniteInput, ShapeError, UnknownName
from tests.helpers import relative
from tests.learn.floating_linkage import floating_linkage

torch = pytest.importorskip("torch")
kt = pytest.importorskip("kinloop.torch")


def tensors(arrays, requires_grad=False, dtype=None):
    return [torch.tensor(x, dtype=dtype, requires_grad=requires_grad) for x in arrays]


@pytest.fixture(scope="module")
def robot():
    """A free base with a quaternion, and loops."""
    return floating_linkage()


@pytest.fixture(scope="module")
def fd(robot):
    return kt.function(robot, "forward_dynamics")


@pytest.fixture(scope="module")
def rows(robot):
    q, v = robot.random_state(3, size=6)
    return q, v, np.random.default_rng(4).normal(size=v.shape)


def test_values_are_the_robots_own(robot, fd, rows):
    one = [x[0] for x in rows]
    assert np.array_equal(fd(*tensors(one)), robot.forward_dynamics(*one))
    assert np.array_equal(fd(*tensors(rows)), robot.forward_dynamics(*rows))
    assert np.array_equal(torch.vmap(fd)(*tensors(rows)), robot.forward_dynamics(*rows))


def test_leading_axes_broadcast_and_vmaps_nest(robot, fd, rows):
    q, v, tau = tensors(rows)
    expected = robot.forward_dynamics(rows[0][:, None], rows[1], rows[2][0])
    assert np.array_equal(fd(q[:, None], v, tau[0]), expected)
    inner = torch.vmap(fd, in_dims=(None, 0, None))
    assert np.array_equal(torch.vmap(inner, in_dims=(0, None, None))(q, v, tau[0]), expected)


def test_gradients_are_those_of_the_derivatives(robot, fd, rows):
    q, v, tau = given = [*tensors(rows[:2], True), *tensors([rows[2][0]], True)]
    weights = np.random.default_rng(5).normal(size=robot.nv)
    (fd(q, v, tau) @ torch.tensor(weights)).sum().backward()
    _, bar_q, bar_v, bar_tau = robot.compile("forward_dynamics", derivative="vjp")(*rows[:2], rows[2][0], weights)
    assert relative(v.grad, bar_v) < 1e-13 and relative(tau.grad, bar_tau.sum(axis=0)) < 1e-13
    assert q.grad.shape == given[0].shape
    step = 1e-4
    for row in (0, 3):
        for k in (0, 4, robot.nv - 1):
            e = np.eye(robot.nv)[k]
            ends = [robot.integrate(rows[0][row], s * step * e) for s in (1, -1, 2, -2)]
            along = (8 * (ends[0] - ends[1]) - (ends[2] - ends[3])) / (12 * step)
            assert abs(q.grad[row].numpy() @ along - bar_q[row, k]) < 1e-10 * np.abs(bar_q[row]).max() + 1e-10


def test_gradients_and_jacobians_of_functions_and_their_batches(robot, fd, rows):
    q, v, tau = tensors([x[1] for x in rows])
    D = robot.forward_dynamics_derivatives(*(x[1] for x in rows))
    assert relative(torch.func.jacrev(fd, 1)(q, v, tau), D[1]) < 1e-12
    assert relative(torch.func.jacfwd(fd, 1)(q, v, tau), D[1]) < 1e-12
    assert relative(torch.func.jacfwd(fd)(q, v, tau), torch.func.jacrev(fd)(q, v, tau)) < 1e-12
    total = lambda q, v, tau: fd(q, v, tau).sum()  # noqa: E731
    many = torch.vmap(torch.func.grad(total, argnums=1))(*tensors(rows))
    assert relative(many[1], D[1].sum(axis=0)) < 1e-12


def test_gradients_of_many_weights_at_once(robot, fd, rows):
    q, v, tau = tensors([x[1] for x in rows], requires_grad=True)
    (found,) = torch.autograd.grad(fd(q, v, tau), v, torch.eye(robot.nv, dtype=torch.float64), is_grads_batched=True)
    assert relative(found, robot.forward_dynamics_derivatives(*(x[1] for x in rows))[1]) < 1e-12


def test_hessians_are_forward_over_reverse(robot, fd, rows):
    q, v, tau = tensors([x[0] for x in rows])
    H = torch.func.hessian(lambda v: fd(q, v, tau).sum())(v)
    second = robot.forward_dynamics_second_derivatives(*(x[0] for x in rows)).vv
    assert relative(H, second.sum(axis=0)) < 1e-11
    with pytest.raises(NotImplementedError, match="forward over reverse only"):
        torch.func.jacrev(torch.func.grad(lambda v: fd(q, v, tau).sum()))(v)


def test_gradcheck_passes(robot, fd, rows):
    q, v, tau = tensors([x[0] for x in rows])
    integrate = kt.function(robot, "integrate")
    dy = torch.zeros(robot.nv, dtype=torch.float64, requires_grad=True)

    def moved(dy, v, tau):  # numbers of q cannot be varied one by one: loops would open
        return fd(integrate(q, dy, 1.0), v, tau)

    assert torch.autograd.gradcheck(moved, (dy, v.requires_grad_(), tau.requires_grad_()), check_forward_ad=True)


def test_single_precision_is_right_to_its_last_digits(robot, fd, rows):
    single = tensors(rows, dtype=torch.float32, requires_grad=True)
    found = fd(*single)
    found.sum().backward()
    assert found.dtype == torch.float32 and single[1].grad.dtype == torch.float32
    wide = [x.detach().numpy().astype(float) for x in single]
    assert relative(found.detach(), robot.compile("forward_dynamics")(*wide)) < 1e-7


def test_tensors_are_read_and_written_where_they_are(fd, rows):
    q, v, tau = tensors(rows)
    before = [x.data_ptr() for x in (q, v, tau)]
    found = fd(q, v, tau)
    assert [x.data_ptr() for x in (q, v, tau)] == before
    assert not found.numpy().flags.owndata  # the kernel's own array


def test_torch_compile_gives_the_same(fd, rows):
    def f(q, v, tau):
        return torch.sin(fd(q, v, tau)).sum()

    compiled = torch.compile(f, backend="aot_eager", fullgraph=True)
    found, expected = [], []
    for call, kept in ((compiled, found), (f, expected)):
        q, v, tau = tensors(rows, requires_grad=True)
        call(q, v, tau).backward()
        kept += [x.grad for x in (q, v, tau)]
    assert all(torch.equal(a, b) for a, b in zip(found, expected, strict=True))


def test_states_that_mean_nothing_are_errors(robot, fd, rows):
    q, v, tau = (x[0].copy() for x in rows)
    q[8] += 0.3
    with pytest.raises(LoopNotClosed, match=r"robot\.close"):
        fd(*tensors((q, v, tau)))
    v[0] = np.nan
    with pytest.raises(NonFiniteInput):
        fd(*tensors((rows[0][0], v, tau)))
    frame = robot.body_names[-1]
    pulled = kl.Point(frame, acceleration=np.array([1.0, 0.0, 0.0]))
    held = kt.function(robot, "constrained_dynamics", constraints=[kl.Point(frame), pulled])
    with pytest.raises(ConflictingConstraints):
        held(*tensors([x[0] for x in rows]))


def test_mistakes_are_named(robot, fd, rows):
    q, v, tau = tensors([x[0] for x in rows])
    with pytest.raises(MethodError, match="forward_dynamics takes q, v, tau; received 2 arrays"):
        fd(q, v)
    with pytest.raises(ShapeError, match=rf"v must have shape \(\.\.\., {robot.nv}\), received"):
        fd(q, q, tau)
    with pytest.raises(ShapeError, match=r"q is on meta, kinloop computes on the CPU; pass q.cpu\(\)"):
        fd(q.to("meta"), v, tau)
    with pytest.raises(ShapeError, match=r"v is of torch.bfloat16; pass v.float\(\)"):
        fd(q, v.bfloat16(), tau)
    with pytest.raises(UnknownName, match=r"no option named 'methods'; did you mean 'method'"):
        kt.function(robot, "forward_dynamics", methods="cluster_aba")


def quantities():
    return [name for name, entry in QUANTITIES.items() if not entry.constraints]


@pytest.mark.slow
@pytest.mark.parametrize("quantity", [*quantities(), "difference"])
def test_gradcheck_passes_on_every_operator(quantity):
    linkage = kl.robots.load("six_bar")
    rng = np.random.default_rng(8)
    q, _ = linkage.random_state(rng)
    integrate = kt.function(linkage, "integrate")
    start = torch.tensor(q)
    entry = QUANTITIES.get(quantity)
    frames = [linkage.body_names[-1]] if entry and entry.frames else []
    f = kt.function(linkage, quantity, frames=frames)
    names = entry.inputs[1:] if entry else ()
    sizes = {"v": linkage.nv, "tau": linkage.nv, "a": linkage.nv, "f": 6}
    given = [torch.tensor(rng.normal(size=sizes[name]), requires_grad=True) for name in names]
    dy = torch.zeros(linkage.nv, dtype=torch.float64, requires_grad=True)

    def moved(dy, *others):
        end = integrate(start, dy, 1.0)
        return f(start, end) if quantity == "difference" else f(end, *others)

    assert torch.autograd.gradcheck(moved, (dy, *given), check_forward_ad=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("quantity", "sizes"), [("constrained_dynamics", (10, 10)), ("delassus", ()), ("delassus_solve", (3,))]
)
def test_gradcheck_passes_under_constraints(robot, quantity, sizes):
    rng = np.random.default_rng(0)
    start, integrate = torch.tensor(robot.random_state(3)[0]), kt.function(robot, "integrate")
    f = kt.function(robot, quantity, constraints=[kl.Point("hand")])
    given = [torch.tensor(rng.normal(size=n), requires_grad=True) for n in sizes]
    dy = torch.zeros(robot.nv, dtype=torch.float64, requires_grad=True)
    moved = lambda dy, *others: f(integrate(start, dy, 1.0), *others)  # noqa: E731
    assert torch.autograd.gradcheck(moved, (dy, *given), check_forward_ad=True)
