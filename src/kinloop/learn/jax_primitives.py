"""The kernels of an array function as primitives of JAX, with the rules by which JAX transforms them.

    evaluate     y = f(x)                 jvp: push
    push         dy = J dx                linear in dx; transposed: pull
    pull         bar_x = J^T bar_y        linear in bar_y; transposed: push; jvp along x: change
    change       the change of bar_x along dx

So `jvp`, `grad`, `vjp`, `linearize`, `jacfwd`, `jacrev` and `hessian` (forward over reverse) work, and all of them
under `vmap`, which makes rows of a batch for one native call. Where a function has a kernel of the whole matrix J, as
steps of a simulator have, that is called, and multiplied, instead of `push` and `pull`.

Arrays are vectors (n,), or (..., n) with the same leading axes: what has none is shared by all rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from kinloop.learn.array_functions import ArrayFunction, ArrayKernel
from kinloop.learn.xla_frames import TARGETS, usable


def native(kernel: ArrayKernel, *arrays: Any) -> list[Any]:
    """What a kernel computes, by XLA's foreign functions, or by a call back into Python where these are not known."""
    shapes = _result_shapes(kernel, arrays)
    single, rows = arrays[0].dtype == jnp.float32, math.prod(_lead(arrays)) > 1
    target = TARGETS.name(kernel, rows, single) if usable() else ""
    if not target:
        return called_back(kernel, *arrays)
    return list(jax.ffi.ffi_call(target, shapes)(*arrays))


def called_back(kernel: ArrayKernel, *arrays: Any) -> list[Any]:
    """The same by Python."""
    shapes = _result_shapes(kernel, arrays)

    def compute(*given: Any) -> list[np.ndarray]:
        wide = [np.asarray(x, dtype=np.float64) for x in given]
        found = on_rows(kernel, wide)
        return [x.astype(shape.dtype).reshape(shape.shape) for x, shape in zip(found, shapes, strict=True)]

    return list(jax.pure_callback(compute, shapes, *arrays))


def on_rows(kernel: ArrayKernel, given: Sequence[np.ndarray]) -> list[np.ndarray]:
    """A kernel on numbers, nan where inputs are not finite or mean nothing."""
    lead = np.broadcast_shapes(*(x.shape[:-1] for x in given))
    bad = np.broadcast_to(kernel.faults(given[0]), lead)
    for x in given:
        bad = bad | ~np.isfinite(x).all(axis=-1)
    clean = [np.where(np.isfinite(x), x, 0.0) for x in given]
    with np.errstate(all="ignore"):
        found = kernel.kernel(*clean)
    results = [np.array(x) for x in (found if isinstance(found, tuple) else (found,))]
    for x in results:
        x[bad] = np.nan
    return results


def _lead(arrays: Sequence[Any]) -> tuple[int, ...]:
    """The leading axes of arrays."""
    return max((tuple(x.shape[:-1]) for x in arrays), key=len)


def _result_shapes(kernel: ArrayKernel, arrays: Sequence[Any]) -> list[Any]:
    lead, dtype = _lead(arrays), arrays[0].dtype
    return [jax.ShapeDtypeStruct((*lead, math.prod(shape)), dtype) for shape in kernel.outputs.values()]


def _primitive(kind: str) -> Primitive:
    """A primitive for one of the kernels of an array function."""
    primitive = Primitive(f"kinloop_{kind}")
    primitive.multiple_results = True

    def kernel_of(function: ArrayFunction) -> ArrayKernel:
        found: ArrayKernel | None = getattr(function, kind)
        if found is None:
            raise NotImplementedError(f"{function.name} has no second derivatives; take differences of its first ones")
        return found

    def lowered(call: Callable[..., list[Any]], *arrays: Any, function: ArrayFunction) -> list[Any]:
        if function.jacobian is not None and kind in ("push", "pull"):
            return _multiplied(call, function, kind == "pull", arrays)
        return call(kernel_of(function), *arrays)

    def abstract(*arrays: Any, function: ArrayFunction) -> list[Any]:
        return [jax.core.ShapedArray(x.shape, x.dtype) for x in _result_shapes(kernel_of(function), arrays)]

    def batched(arrays: Sequence[Any], axes: Sequence[Any], *, function: ArrayFunction) -> tuple[list[Any], list[int]]:
        found = primitive.bind(*_spread(arrays, axes), function=function)
        return found, [0] * len(found)

    primitive.def_impl(jax.jit(partial(lowered, native), static_argnames="function"))
    primitive.def_abstract_eval(abstract)
    batching.primitive_batchers[primitive] = batched
    for platform, call in ((None, called_back), ("cpu", native)):
        rule = mlir.lower_fun(partial(lowered, call), multiple_results=True)
        mlir.register_lowering(primitive, rule, platform=platform)
    return primitive


def _multiplied(
    call: Callable[..., list[Any]], function: ArrayFunction, back: bool, arrays: Sequence[Any]
) -> list[Any]:
    """Push or pull by the matrix of all slopes."""
    held, given = arrays[: len(function.inputs)], arrays[len(function.inputs) :]
    assert function.jacobian is not None, "it has a matrix"
    (shape,) = function.jacobian.outputs.values()
    (J,) = call(function.jacobian, *held)
    J = J.reshape(*J.shape[:-1], *shape)
    lead = _lead(arrays)
    x = jnp.concatenate([jnp.broadcast_to(y, (*lead, y.shape[-1])) for y in given], axis=-1)
    found = jnp.einsum("...ij,...i->...j" if back else "...ij,...j->...i", J, x, precision=jax.lax.Precision.HIGHEST)
    sizes = [math.prod(y) for y in (function.inputs if back else function.outputs).values()]
    return jnp.split(found, np.cumsum(sizes)[:-1].tolist(), axis=-1)


def _spread(arrays: Sequence[Any], axes: Sequence[Any]) -> list[Any]:
    """Arrays with the axis of `vmap` in front; what all rows share stays as it is."""
    size = next(x.shape[axis] for x, axis in zip(arrays, axes, strict=True) if axis is not None)
    shapes = [x.shape if axis is None else _without(x.shape, axis) for x, axis in zip(arrays, axes, strict=True)]
    inner = max((shape[:-1] for shape in shapes), key=len)
    out = []
    for x, axis in zip(arrays, axes, strict=True):
        if axis is None:
            out.append(x if x.ndim == 1 else jnp.broadcast_to(x, (size, *x.shape)))
        else:
            front = jnp.moveaxis(x, axis, 0)
            if front.ndim < len(inner) + 2:
                front = jnp.expand_dims(front, range(1, 1 + len(inner)))
            out.append(jnp.broadcast_to(front, (size, *inner, front.shape[-1])))
    return out


def _without(shape: Sequence[int], axis: int) -> tuple[int, ...]:
    return tuple(n for k, n in enumerate(shape) if k != axis)


EVALUATE, PUSH, PULL, CHANGE = map(_primitive, ("evaluate", "push", "pull", "change"))


def _instantiated(tangents: Sequence[Any], primals: Sequence[Any]) -> list[Any]:
    return [jnp.zeros(x.shape, x.dtype) if type(t) is ad.Zero else t for t, x in zip(tangents, primals, strict=True)]


def _is_zero(tangents: Sequence[Any]) -> bool:
    return all(type(t) is ad.Zero for t in tangents)


def _evaluate_jvp(primals: Sequence[Any], tangents: Sequence[Any], *, function: ArrayFunction) -> tuple[Any, Any]:
    y = EVALUATE.bind(*primals, function=function)
    return y, PUSH.bind(*primals, *_instantiated(tangents, primals), function=function)


def _push_jvp(primals: Sequence[Any], tangents: Sequence[Any], *, function: ArrayFunction) -> tuple[Any, Any]:
    held = len(function.inputs)
    if not _is_zero(tangents[:held]):
        raise NotImplementedError(
            f"{function.name} has second derivatives as forward over reverse only: jax.jacfwd(jax.grad(f)) or "
            "jax.hessian(f), not jvp of jvp or grad of jvp"
        )
    x, dx = primals[:held], _instantiated(tangents[held:], primals[held:])
    return PUSH.bind(*primals, function=function), PUSH.bind(*x, *dx, function=function)


def _pull_jvp(primals: Sequence[Any], tangents: Sequence[Any], *, function: ArrayFunction) -> tuple[Any, Any]:
    held = len(function.inputs)
    x, found = primals[:held], PULL.bind(*primals, function=function)
    parts = []
    if not _is_zero(tangents[held:]):
        parts.append(PULL.bind(*x, *_instantiated(tangents[held:], primals[held:]), function=function))
    if not _is_zero(tangents[:held]):
        parts.append(CHANGE.bind(*primals, *_instantiated(tangents[:held], x), function=function))
    return found, [sum(terms[1:], terms[0]) for terms in zip(*parts, strict=True)]


def _transposed(other: Primitive, cotangents: Sequence[Any], *given: Any, function: ArrayFunction) -> list[Any]:
    """The rule of a primitive that is linear in its last inputs, by the one which is its transpose."""
    held, linear = given[: len(function.inputs)], given[len(function.inputs) :]
    avals = [x.aval if ad.is_undefined_primal(x) else x for x in linear]
    lead, dtype = _lead([*held, *avals]), held[0].dtype
    outputs = function.push.outputs if other is PULL else function.pull.outputs
    shapes = [(*lead, math.prod(shape)) for shape in outputs.values()]
    weights = [jnp.zeros(n, dtype) if type(c) is ad.Zero else c for c, n in zip(cotangents, shapes, strict=True)]
    found = other.bind(*held, *weights, function=function)
    back = [x.sum(axis=tuple(range(x.ndim - 1))) if a.ndim < x.ndim else x for x, a in zip(found, avals, strict=True)]
    wanted = [x if ad.is_undefined_primal(y) else None for x, y in zip(back, linear, strict=True)]
    return [None] * len(held) + wanted


ad.primitive_jvps[EVALUATE] = _evaluate_jvp
ad.primitive_jvps[PUSH] = _push_jvp
ad.primitive_jvps[PULL] = _pull_jvp
ad.primitive_transposes[PUSH] = partial(_transposed, PULL)
ad.primitive_transposes[PULL] = partial(_transposed, PUSH)
