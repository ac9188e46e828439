"""Quantities of a robot as functions of JAX arrays; users import them as `kinloop.jax`."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, Unpack

import jax
import jax.numpy as jnp

from kinloop.constrained_motion import CONFLICT
from kinloop.errors import ShapeError
from kinloop.learn.array_functions import ArrayFunction, Options, array_function, check_count
from kinloop.learn.jax_primitives import EVALUATE
from kinloop.learn.simulated import rollout_function, step_count, step_function
from kinloop.learn.xla_frames import usable
from kinloop.robot import Robot
from kinloop.sim.simulator import Simulator


def function(robot: Robot, quantity: str, **options: Unpack[Options]) -> Callable[..., Any]:
    """A quantity of a robot, or "integrate" or "difference", as a function of JAX arrays.

    It takes the inputs of the quantity (q, v, tau, ...), then f_ext (..., bodies, 6) if asked for, and works under jit,
    vmap, grad, jvp, lax.scan and what is made of these. Leading axes broadcast. The options are `method`, `frames`,
    `constraints` and `axes` as in `Robot.compute`, and `f_ext=True`. Derivatives with respect to q are along closed
    motions and have as many entries as q: docs/jax-and-torch.md. Rows whose q is no closed, regular configuration, or
    not finite, are nan.
    """
    made = array_function(robot, quantity, **options)
    return _compiled(quantity, [*made.given], robot, lambda *inputs: evaluated(made, inputs))


def step(sim: Simulator) -> Callable[..., Any]:
    """The simulator's step from a state without memory: a function (q, v, u) -> (q, v) one dt later.

    Derivatives are those of `Simulator.linearize`, contact included. A row that cannot take the step whole is nan.
    """
    made = step_function(sim)
    return _compiled("step", [*made.inputs], sim.robot, lambda *inputs: evaluated(made, inputs))


def rollout(sim: Simulator) -> Callable[..., Any]:
    """Many such steps: a function (q0, v0, controls (..., T, nu)) -> (q (..., T, nq), v (..., T, nv)) after each.

    Derivatives are those of `Simulator.rollout_gradient`: states are kept on the way, slopes are made on the way back.
    """
    one, of_length = step_function(sim), functools.cache(functools.partial(rollout_function, sim))

    def call(q0: Any, v0: Any, controls: Any) -> Any:
        steps = step_count(sim, jnp.shape(controls))
        if one.jacobian is not None and usable():  # else one call back for all steps
            return _scanned(one, q0, v0, controls)
        return evaluated(of_length(steps), (q0, v0, controls))

    return _compiled("rollout", ["q0", "v0", "controls"], sim.robot, call)


def _scanned(one: ArrayFunction, q0: Any, v0: Any, controls: Any) -> Any:
    """The states after every step, by a loop of XLA: nothing of it calls Python."""
    dtype = jnp.result_type(jnp.float32, q0, v0, controls)
    q, v, u = (jnp.asarray(x, dtype) for x in (q0, v0, controls))
    lead = jnp.broadcast_shapes(one.leading("q", q.shape), one.leading("v", v.shape), u.shape[:-2])
    q, v = (jnp.broadcast_to(x, (*lead, x.shape[-1])) for x in (q, v))

    def go_on(state: Any, u: Any) -> tuple[Any, Any]:
        after = evaluated(one, (*state, u))
        return after, after

    _, found = jax.lax.scan(go_on, (q, v), jnp.moveaxis(u, -2, 0))
    return tuple(jnp.moveaxis(x, 0, -2) for x in found)


def _compiled(name: str, inputs: Sequence[str], robot: Robot, evaluate: Callable[..., Any]) -> Callable[..., Any]:
    """A function by its name, with named inputs, under `jit`."""

    def call(*given: Any) -> Any:
        check_count(name, inputs, len(given))
        return evaluate(*given)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"{name}({', '.join(inputs)}) of {robot.name!r}"
    compiled: Callable[..., Any] = jax.jit(call)
    return compiled


def evaluated(made: ArrayFunction, inputs: Sequence[Any]) -> Any:
    """The outputs of an array function for inputs whose leading axes broadcast: one array, or a tuple."""
    arrays = [jnp.asarray(x) for x in inputs]
    dtype = jnp.result_type(jnp.float32, *arrays)
    if not jnp.issubdtype(dtype, jnp.floating):
        raise ShapeError(f"inputs of {made.name} must be real numbers, received {dtype}")
    leads, flat = [], []
    for (name, shape), x in zip(made.given.items(), arrays, strict=True):
        leads.append(made.leading(name, x.shape))
        flat.append(x.astype(dtype).reshape(*leads[-1], math.prod(shape)))
    lead = jnp.broadcast_shapes(*leads)
    given = [x if x.ndim == 1 else jnp.broadcast_to(x, (*lead, x.shape[-1])) for x in flat]
    given += [jnp.asarray(x, dtype) for x in made.fixed.values()]
    found = EVALUATE.bind(*given, function=made)
    results = [x.reshape(*lead, *shape) for x, shape in zip(found, made.outputs.values(), strict=True)]
    shown = _meaningful(made, dict(zip(made.outputs, results, strict=True)))
    return shown[0] if len(shown) == 1 else tuple(shown)


def _meaningful(made: ArrayFunction, results: dict[str, Any]) -> list[Any]:
    """Outputs that are handed over, nan where constraints conflict or lost rows."""
    shown = [results[name] for name in made.shown]
    if not made.hidden:
        return shown
    largest = max_abs(shown[0]) if made.name == "constrained_dynamics" else 0.0
    bad = ~(max_abs(results["residual"]) <= CONFLICT * (1.0 + largest)) | (results["deficient"] > 0.5)
    return [jnp.where(jnp.expand_dims(bad, range(bad.ndim, x.ndim)), jnp.nan, x) for x in shown]


def max_abs(x: Any) -> Any:
    return jnp.max(jnp.abs(x), axis=-1, initial=0.0)
