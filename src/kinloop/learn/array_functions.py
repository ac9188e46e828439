"""What JAX and PyTorch call of a robot: a function of arrays with the kernels of its value and of its derivatives.

Every quantity of the table is one, and so are `integrate` and `difference`. All inputs are flat vectors here. In
derivatives positions count by all of their numbers: `kinloop.algorithms.differentiated`, (2).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, TypedDict, Unpack

import numpy as np

from kinloop.algorithms import position_derivatives
from kinloop.algorithms.constrained.motion_constraints import Constraints, all_numbers
from kinloop.algorithms.quantities import QUANTITIES
from kinloop.algorithms.requests import Request, ask, input_sizes
from kinloop.errors import MethodError, ShapeError, unknown
from kinloop.kernels import Computed
from kinloop.robot import Robot
from kinloop.scalar import Array
from kinloop.sim.linearization.traced import Traced

Shape = tuple[int, ...]
Calls = Mapping[str, Callable[..., dict[str, Array]]]
HIDDEN = ("residual", "deficient")
"""Outputs that say whether others mean something, which are not handed over."""


@dataclass(frozen=True, eq=False)
class ArrayKernel:
    """One kernel of an array function: what it takes and gives for one state, and what makes it.

    `inputs` and `outputs` are shapes by name. The first `held` inputs are those of the function itself; in the others
    it is linear, if there are any. `judge` looks at the first input (`Robot.state_faults`): where one of its first
    `judged` numbers is above 1, the result means nothing.
    """

    name: str
    inputs: dict[str, Shape]
    outputs: dict[str, Shape]
    make: Callable[[], Computed]
    held: int
    judge: Computed | None = None
    judged: int = 0

    @cached_property
    def kernel(self) -> Computed:
        """The kernel, or the function on numbers in its place."""
        return self.make()

    def faults(self, q: Array) -> Array:
        """Which rows of the first input mean nothing."""
        if self.judge is None:
            return np.zeros(q.shape[:-1], dtype=bool)
        return np.asarray(~(np.asarray(self.judge(q))[..., : self.judged] <= 1.0).all(axis=-1))


class ArrayFunction:
    """A function of arrays and its derivatives, each an `ArrayKernel`.

    `evaluate` is the function, `push` its change along a change of all inputs, `pull` the gradient of its weighted
    outputs, `change` the change of that gradient, None where there is none. `jacobian`, where there is one, has all
    slopes as one matrix, of all outputs along all inputs: multiplying by it is to push and to pull. The last `hidden`
    outputs are not handed over; `fixed` has inputs that are numbers known beforehand, by name. `explain` raises the
    error that says what is wrong with inputs, or gives the value where nothing is.
    """

    def __init__(
        self,
        name: str,
        inputs: Mapping[str, Shape],
        outputs: Mapping[str, Shape],
        makers: Mapping[str, Callable[[], Computed]],
        judge: Computed | None,
        judged: int,
        explain: Callable[..., Any],
        fixed: Mapping[str, Array] | None = None,
    ) -> None:
        self.name, self.inputs, self.outputs, self.explain = name, dict(inputs), dict(outputs), explain
        self.fixed = dict(fixed or {})
        self.hidden = sum(name in HIDDEN for name in outputs)
        d_in, bar_in = ({f"{p}{k}": x for k, x in inputs.items()} for p in ("d", "bar_"))
        d_out, bar_out = ({f"{p}{k}": x for k, x in outputs.items()} for p in ("d", "bar_"))
        given = self.inputs
        shapes: dict[str, tuple[dict[str, Shape], dict[str, Shape]]] = {
            "evaluate": (given, self.outputs),
            "push": (given | d_in, d_out),
            "pull": (given | bar_out, bar_in),
            "change": (given | bar_out | d_in, {f"d{k}": x for k, x in bar_in.items()}),
            "jacobian": (given, {"jacobian": (_numbers(outputs), _numbers(inputs))}),
        }
        self._kernels = {
            kind: ArrayKernel(f"{name}_{kind}", *shapes[kind], make, len(given), judge, judged)
            for kind, make in makers.items()
        }

    @property
    def evaluate(self) -> ArrayKernel:
        return self._kernels["evaluate"]

    @property
    def push(self) -> ArrayKernel:
        return self._kernels["push"]

    @property
    def pull(self) -> ArrayKernel:
        return self._kernels["pull"]

    @property
    def change(self) -> ArrayKernel | None:
        return self._kernels.get("change")

    @property
    def jacobian(self) -> ArrayKernel | None:
        return self._kernels.get("jacobian")

    @property
    def given(self) -> dict[str, Shape]:
        """Shapes of the inputs that are not known beforehand, by name."""
        return {name: shape for name, shape in self.inputs.items() if name not in self.fixed}

    def leading(self, name: str, received: Shape) -> Shape:
        """The leading axes of an input; an error where it has not the shape of that input behind them."""
        shape = self.inputs[name]
        lead = len(received) - len(shape)
        if lead < 0 or received[lead:] != shape:
            wanted = ", ".join(["...", *map(str, shape)])
            raise ShapeError(f"{name} must have shape ({wanted}), received {received}")
        return received[:lead]

    @property
    def shown(self) -> list[str]:
        """Names of the outputs that are handed over."""
        return [name for name in self.outputs if name not in HIDDEN]


def _numbers(shapes: Mapping[str, Shape]) -> int:
    """How many numbers arrays of some shapes have together."""
    return sum(map(math.prod, shapes.values()))


class Options(TypedDict, total=False):
    """What a function of a quantity may be told: `method`, `frames`, `constraints`, `axes` as in `Robot.compute`.

    With `f_ext=True` it takes external wrenches (..., bodies, 6) [N m, N] as its last input.
    """

    method: str | None
    frames: Sequence[str]
    constraints: Constraints
    axes: str
    f_ext: bool


def array_function(robot: Robot, quantity: str, **options: Unpack[Options]) -> ArrayFunction:
    """A quantity of a robot, or one of `POSITION_FUNCTIONS`, as a function of arrays."""
    if strange := sorted(set(options) - set(Options.__annotations__)):
        raise unknown("option", strange[0], list(Options.__annotations__))
    method, frames, constraints = options.get("method"), options.get("frames", ()), options.get("constraints", ())
    axes, f_ext = options.get("axes", "body"), options.get("f_ext", False)
    if quantity in POSITION_FUNCTIONS:
        if method is not None or frames or constraints or axes != "body" or f_ext:
            raise MethodError(f"{quantity} takes no method, frames, constraints, axes or f_ext")
        return POSITION_FUNCTIONS[quantity](robot)
    if quantity not in QUANTITIES:
        raise unknown("quantity", quantity, [*QUANTITIES, *POSITION_FUNCTIONS])
    asked = ask(robot.tree.top, quantity, method, frames, constraints, f_ext, (), None, axes)
    entry, tree = QUANTITIES[quantity], robot.tree
    if entry.methods[asked.method].numeric:
        raise MethodError(f"method {asked.method!r} of {quantity} works on numbers only and has no derivatives")
    shapes: dict[str, Shape] = {name: (n,) for name, n in input_sizes(tree, asked).items()}
    if f_ext:
        shapes["f_ext"] = (len(tree.top), 6)
    answer = robot.kernels.answer
    kinds = {"evaluate": "", "push": "pushforward", "pull": "pullback", "change": "pullback_change"}
    makers = {kind: partial(answer, asked._replace(derivative=mode)) for kind, mode in kinds.items()}
    numbers = {"numbers": all_numbers(asked.constraints)} if "numbers" in shapes else {}
    outputs = answer(asked).outputs
    judged = 1 if entry.pose else 2
    explain = partial(_explain, robot, asked, f_ext, constraints)
    return ArrayFunction(quantity, shapes, outputs, makers, robot.state_faults, judged, explain, numbers)


def check_count(name: str, inputs: Sequence[str], received: int) -> None:
    """An error that names the inputs of a function where another number of them was given."""
    if received != len(inputs):
        raise MethodError(f"{name} takes {', '.join(inputs)}; received {received} arrays")


def _explain(robot: Robot, asked: Request, f_ext: bool, constraints: Constraints, *inputs: Array) -> Any:
    """What the front door says of inputs: an error where they mean nothing."""
    given = inputs[: len(QUANTITIES[asked.quantity].inputs)]
    wrenches = inputs[len(given)].reshape(*inputs[len(given)].shape[:-1], -1, 6) if f_ext else None
    if asked.quantity == "constrained_dynamics":
        q, v, tau = given
        return robot.constrained_dynamics(q, v, tau, constraints, asked.method, wrenches)
    options: dict[str, Any] = {"frames": asked.frames, "constraints": constraints, "axes": asked.axes}
    method = None if asked.method == next(iter(QUANTITIES[asked.quantity].methods)) else asked.method
    return robot.compute(asked.quantity, *given, method=method, f_ext=wrenches, **options)


def _integrate(robot: Robot) -> ArrayFunction:
    """q' reached from q by the velocity v in time dt."""
    shapes: dict[str, Shape] = {"q": (robot.nq,), "v": (robot.nv,), "dt": ()}

    def explain(q: Array, v: Array, dt: Array) -> None:
        rows = np.broadcast_arrays(*(x.reshape(-1, x.shape[-1]) for x in (q, v)))
        for k, (x, y) in enumerate(zip(*rows, strict=True)):
            robot.integrate(x, y, float(np.broadcast_to(dt.reshape(-1), len(rows[0]))[k]))

    calls: Calls = {
        "evaluate": position_derivatives.stepped,
        "push": position_derivatives.stepped_pushforward,
        "pull": position_derivatives.stepped_pullback,
    }
    return _of_positions(robot, "integrate", shapes, {"q": (robot.nq,)}, calls, explain)


def _difference(robot: Robot) -> ArrayFunction:
    """The velocity that leads from q0 to q1 in unit time."""
    shapes: dict[str, Shape] = {"q0": (robot.nq,), "q1": (robot.nq,)}

    def explain(q0: Array, q1: Array) -> None:
        robot.check_closed(q0)
        robot.check_closed(q1)
        robot.difference(q0, q1)

    calls: Calls = {
        "evaluate": position_derivatives.difference,
        "push": position_derivatives.difference_pushforward,
        "pull": position_derivatives.difference_pullback,
    }
    return _of_positions(robot, "difference", shapes, {"v": (robot.nv,)}, calls, explain)


def _of_positions(
    robot: Robot,
    name: str,
    inputs: dict[str, Shape],
    outputs: dict[str, Shape],
    calls: Calls,
    explain: Callable[..., None],
) -> ArrayFunction:
    more = {
        "evaluate": {},
        "push": {f"d{k}": x for k, x in inputs.items()},
        "pull": {f"bar_{k}": x for k, x in outputs.items()},
    }

    def maker(kind: str) -> Callable[[], Computed]:
        sizes = {k: math.prod(x) for k, x in (inputs | more[kind]).items()}
        call = partial(calls[kind], robot.tree)
        call = call if kind == "evaluate" else Traced(call, sizes)
        return lambda: robot.kernels.make(f"{name}_array_{kind}", call, sizes)

    makers = {kind: maker(kind) for kind in calls}
    return ArrayFunction(name, inputs, outputs, makers, robot.state_faults, 2, explain)


POSITION_FUNCTIONS: dict[str, Callable[[Robot], ArrayFunction]] = {"integrate": _integrate, "difference": _difference}
"""Functions of configurations that are no quantities of the table."""
