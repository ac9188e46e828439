"""Quantities of a robot as operators of PyTorch on the CPU; users import them as `kinloop.torch`.

Every function is a few custom operators: its value, the gradient of its weighted outputs, for the backward pass, and
its change along a change of the inputs, for forward mode. Tensors of float64 are read and written where they are; those
of float32 are computed in float64 and rounded. Operators are known to `vmap`, which makes rows of a batch for one
native call, and to `torch.compile`.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, Unpack

import numpy as np
import torch

from kinloop.compiler import Kernel
from kinloop.constrained_motion import conflicts
from kinloop.doors import Door, Guarded
from kinloop.errors import ShapeError, SingularConfiguration
from kinloop.inputs import largest
from kinloop.learn.array_functions import ArrayFunction, ArrayKernel, Options, array_function, check_count
from kinloop.learn.simulated import rollout_function, step_count, step_function
from kinloop.robot import Robot
from kinloop.sim.simulator import Simulator

_COUNT = itertools.count()
DTYPES = (torch.float64, torch.float32)


def function(robot: Robot, quantity: str, **options: Unpack[Options]) -> Callable[..., Any]:
    """A quantity of a robot, or "integrate" or "difference", as a function of PyTorch tensors with autograd.

    It takes the inputs of the quantity (q, v, tau, ...), then f_ext (..., bodies, 6) if asked for. Leading axes
    broadcast. The options are `method`, `frames`, `constraints` and `axes` as in `Robot.compute`, and `f_ext=True`.
    Derivatives with respect to q are along closed motions and have as many entries as q: docs/jax-and-torch.md. A q
    that is no closed, regular configuration is an error, as it is to the robot itself.
    """
    return Function(array_function(robot, quantity, **options))


def step(sim: Simulator) -> Callable[..., Any]:
    """The simulator's step from a state without memory: a function (q, v, u) -> (q, v) one dt later.

    Derivatives are those of `Simulator.linearize`, contact included. A row that cannot take the step whole is nan.
    """
    return Function(step_function(sim))


def rollout(sim: Simulator) -> Callable[..., Any]:
    """Many such steps: a function (q0, v0, controls (..., T, nu)) -> (q (..., T, nq), v (..., T, nv)) after each.

    Derivatives are those of `Simulator.rollout_gradient`: states are kept on the way, slopes are made on the way back.
    """
    of_length = functools.cache(lambda steps: Function(rollout_function(sim, steps)))

    def call(q0: Any, v0: Any, controls: Any) -> Any:
        return of_length(step_count(sim, tuple(torch.as_tensor(controls).shape)))(q0, v0, controls)

    return call


class Function:
    """An array function as a function of tensors."""

    def __init__(self, made: ArrayFunction) -> None:
        self.made = made
        self._inputs = [*made.given]
        self._rules = Rules(made)

    def __repr__(self) -> str:
        return f"<kinloop.torch function {self.made.name}({', '.join(self._inputs)})>"

    def __call__(self, *inputs: Any) -> Any:
        made = self.made
        check_count(made.name, self._inputs, len(inputs))
        flat = [_flat(made, name, x) for name, x in zip(self._inputs, inputs, strict=True)]
        leads = {x.shape[:-1] for x in flat if x.ndim > 1}
        lead = torch.broadcast_shapes(*leads) if len(leads) > 1 else next(iter(leads), ())
        given = [x if x.ndim == 1 or x.shape[:-1] == lead else x.expand(*lead, x.shape[-1]) for x in flat]
        given += [torch.as_tensor(x) for x in made.fixed.values()]
        dtype = torch.float64 if any(x.dtype == torch.float64 for x in flat) else torch.float32
        value = self._rules.compiled if torch.compiler.is_compiling() else self._rules.value
        found = dict(zip(made.outputs, value(*(x if x.dtype == dtype else x.to(dtype) for x in given)), strict=True))
        shown = [_shaped(found[name], lead, made.outputs[name]) for name in made.shown]
        return shown[0] if len(shown) == 1 else tuple(shown)


class Rules:
    """The operators of an array function, and the rules by which PyTorch differentiates and batches each of them.

    `value` is the function, `gradient` that of its weighted outputs, `change` its change along a change of the inputs,
    `turn` the change of the gradient. The last three are linear in what follows the inputs of the function. `compiled`
    is `value` with a rule for the backward pass alone, which is what `torch.compile` can see through.
    """

    def __init__(self, made: ArrayFunction) -> None:
        self._made, self._held = made, len(made.inputs)
        self.compiled = Operator(made, made.evaluate)
        self.value = _differentiable(self.compiled, self._value_backward, self._value_jvp)
        self._gradient = Operator(made, made.pull)
        self.gradient = _differentiable(self._gradient, self._gradient_backward, self._gradient_jvp)
        self.change = _differentiable(Operator(made, made.push), self._change_backward, self._change_jvp)
        self._turn = Operator(made, made.change) if made.change else None
        self.compiled.operator.register_autograd(self._compiled_backward, setup_context=_keep_inputs)

    def _compiled_backward(self, ctx: Any, *weights: Any) -> tuple[Any, ...]:
        return tuple(_summed(self._gradient(*ctx.saved_tensors, *weights), ctx.saved_tensors))

    def _value_backward(self, inputs: Sequence[Any], weights: Sequence[Any]) -> Sequence[Any]:
        given = (*inputs, *weights)
        found = (
            None if torch.is_grad_enabled() else self._gradient.computed(given)
        )  # a third of a small call's time less
        return _summed(found or self.gradient(*given), inputs)

    def _value_jvp(self, inputs: Sequence[Any], along: Sequence[Any]) -> Sequence[Any]:
        return self.change(*inputs, *_known(along, inputs))

    def _gradient_backward(self, inputs: Sequence[Any], weights: Sequence[Any]) -> Sequence[Any]:
        raise self._no_second()

    def _gradient_jvp(self, inputs: Sequence[Any], along: Sequence[Any]) -> Sequence[Any]:
        x, dx, dy = inputs[: self._held], along[: self._held], along[self._held :]
        found = list(self.gradient(*x, *_known(dy, inputs[self._held :])))
        if all(d is None for d in dx):
            return found
        if self._turn is None:
            raise self._no_second()
        return [a + b for a, b in zip(found, self._turn(*inputs, *_known(dx, x)), strict=True)]

    def _change_backward(self, inputs: Sequence[Any], weights: Sequence[Any]) -> Sequence[Any]:
        raise self._no_second()

    def _change_jvp(self, inputs: Sequence[Any], along: Sequence[Any]) -> Sequence[Any]:
        raise self._no_second()

    def _no_second(self) -> NotImplementedError:
        return NotImplementedError(
            f"{self._made.name} has second derivatives as forward over reverse only, torch.func.hessian or "
            "torch.func.jacfwd(torch.func.grad(f)), and integrate, difference and simulators have none"
        )


Rule = Callable[[Sequence[Any], Sequence[Any]], Sequence[Any]]


def _differentiable(operator: Operator, of_backward: Rule, of_jvp: Rule) -> Callable[..., tuple[Any, ...]]:
    """An operator as a function with rules: both are given the inputs, then weights of outputs, or directions."""

    class Differentiable(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(*inputs: Any) -> tuple[Any, ...]:
            return operator.computed(inputs) or operator(*inputs)

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

        @staticmethod
        def backward(ctx: Any, *weights: Any) -> tuple[Any, ...]:
            return tuple(of_backward(ctx.saved_tensors, weights))

        @staticmethod
        def jvp(ctx: Any, *along: Any) -> tuple[Any, ...]:
            return tuple(of_jvp(ctx.saved_tensors, along))

        @staticmethod
        def vmap(info: Any, axes: Sequence[Any], *inputs: Any) -> tuple[tuple[Any, ...], Any]:
            found = Differentiable.apply(*_spread(inputs, axes, info.batch_size))
            return found, (0,) * len(found)

    forward: Any = Differentiable.forward
    forward.__signature__ = inspect.signature(forward)  # else it is found out in every call
    apply: Callable[..., tuple[Any, ...]] = Differentiable.apply
    return apply


def _keep_inputs(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.save_for_backward(*inputs)


def _summed(found: Sequence[Any], inputs: Sequence[Any]) -> list[Any]:
    """Gradients of inputs that all rows share, over all rows."""
    pairs = zip(found, inputs, strict=True)
    return [x if x.shape == y.shape else x.sum_to_size(y.shape) for x, y in pairs]


def _known(along: Sequence[Any], inputs: Sequence[Any]) -> list[Any]:
    """Directions, zero where there is none."""
    return [torch.zeros_like(y) if x is None else x for x, y in zip(along, inputs, strict=True)]


def _flat(made: ArrayFunction, name: str, x: Any) -> Any:
    """A tensor (..., n) of float32 or float64 on the CPU."""
    x = torch.as_tensor(x)
    if x.device.type != "cpu":
        raise ShapeError(f"{name} is on {x.device}, kinloop computes on the CPU; pass {name}.cpu()")
    if x.dtype not in DTYPES:
        if x.dtype.is_floating_point or x.dtype.is_complex:
            raise ShapeError(f"{name} is of {x.dtype}; pass {name}.float() or {name}.double()")
        x = x.to(torch.get_default_dtype())
    return _shaped(x, made.leading(name, tuple(x.shape)), (math.prod(made.inputs[name]),))


def _shaped(x: Any, lead: Sequence[int], shape: tuple[int, ...]) -> Any:
    """A tensor (*lead, *shape); itself, if it is one, since a view costs some 20 microseconds of a backward pass."""
    wanted = (*lead, *shape)
    return x if tuple(x.shape) == wanted else x.reshape(wanted)


class Operator:
    """A kernel of an array function as a custom operator of flat tensors, which have the same leading axes or none."""

    def __init__(self, made: ArrayFunction, kernel: ArrayKernel) -> None:
        self._made, self._kernel = made, kernel
        checks = kernel is made.evaluate
        self._door = (
            Door(functools.partial(_checked, made), [1] * len(kernel.inputs), self._opening) if checks else None
        )
        given = ", ".join(f"Tensor x{k}" for k in range(len(kernel.inputs)))
        results = ", ".join(["Tensor"] * len(kernel.outputs))
        self._one = len(kernel.outputs) == 1
        self.operator = torch.library.custom_op(
            f"kinloop::{kernel.name}_{next(_COUNT)}",
            self._compute,
            mutates_args=(),
            device_types="cpu",
            schema=f"({given}) -> {results if self._one else f'({results})'}",
        )
        self.operator.register_fake(self._fake)
        self.operator.register_vmap(self._batched)

    def __call__(self, *tensors: Any) -> tuple[Any, ...]:
        found = self.operator(*tensors)
        return (found,) if self._one else tuple(found)

    def _shapes(self, tensors: Sequence[Any]) -> list[tuple[int, ...]]:
        lead = max((tuple(x.shape[:-1]) for x in tensors), key=len)
        return [(*lead, math.prod(shape)) for shape in self._kernel.outputs.values()]

    def _compute(self, *tensors: Any) -> Any:
        found = self.computed(tensors)
        assert found is not None, "PyTorch calls an implementation for the CPU with numbers"
        return self._answer(found)

    def computed(self, tensors: Sequence[Any]) -> tuple[Any, ...] | None:
        """The results, without the way through PyTorch's dispatcher; None for tensors that stand for others."""
        try:
            arrays = [x.detach().numpy().astype(np.float64, copy=False) for x in tensors]
        except RuntimeError:  # those of vmap and of the compiler have no numbers
            return None
        found = (self._kernel.kernel if self._door is None else self._door.call)(*arrays)
        results = [np.asarray(x) for x in (found if isinstance(found, tuple) else (found,))]
        shapes = self._shapes(tensors)
        made = [torch.from_numpy(np.ascontiguousarray(x).reshape(n)) for x, n in zip(results, shapes, strict=True)]
        dtype = tensors[0].dtype
        return tuple(x if x.dtype == dtype else x.to(dtype) for x in made)

    def _opening(self) -> Guarded | None:
        """What makes builtins that compute values and hand whatever is doubtful to `_checked`, where there are any."""
        kernel, judge, judged = self._kernel.kernel, self._kernel.judge, self._kernel.judged
        if self._made.hidden or not isinstance(kernel, Kernel) or not isinstance(judge, Kernel):
            return None
        limits = [*map(largest, self._kernel.inputs)]
        return lambda other, rows: kernel.guarded(other, limits, judge, judged, rows=rows)

    def _fake(self, *tensors: Any) -> Any:
        return self._answer([tensors[0].new_empty(n) for n in self._shapes(tensors)])

    def _batched(self, info: Any, axes: Sequence[Any], *tensors: Any) -> tuple[Any, Any]:
        found = self.operator(*_spread(tensors, axes, info.batch_size))
        return found, 0 if self._one else (0,) * len(found)

    def _answer(self, found: Sequence[Any]) -> Any:
        return found[0] if self._one else tuple(found)


def _spread(tensors: Sequence[Any], axes: Sequence[Any], size: int) -> list[Any]:
    """Tensors with the axis of `vmap` in front; what all rows share stays as it is."""
    fronts = [x if axis is None else x.movedim(axis, 0) for x, axis in zip(tensors, axes, strict=True)]
    inner = max((x.shape[:-1] if axis is None else x.shape[1:-1] for x, axis in zip(fronts, axes)), key=len)
    out = []
    for x, axis in zip(fronts, axes, strict=True):
        if axis is None:
            out.append(x if x.ndim == 1 else x.expand(size, *x.shape))
        else:
            lead = x.shape[1:-1] if x.ndim > 2 else (1,) * len(inner)
            out.append(x.reshape(size, *lead, x.shape[-1]).expand(size, *inner, x.shape[-1]))
    return out


def _checked(made: ArrayFunction, *arrays: np.ndarray) -> Any:
    """The value of a function, as the front door gives it; an error where inputs mean nothing."""
    if made.evaluate.faults(arrays[0]).any():
        _refuse(made, arrays)
    found = made.evaluate.kernel(*arrays)
    if made.hidden:
        results = dict(zip(made.outputs, found, strict=True))
        first = results[made.shown[0]] if made.name == "constrained_dynamics" else np.zeros(1)
        if np.any(conflicts(first, results["residual"])) or np.any(results["deficient"] > 0.5):
            _refuse(made, arrays)
    return found


def _refuse(made: ArrayFunction, arrays: Sequence[np.ndarray]) -> None:
    made.explain(*arrays)
    raise SingularConfiguration(f"{made.name} has no derivatives at a state that is special; move off it")
