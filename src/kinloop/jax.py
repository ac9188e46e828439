"""kinloop for JAX: quantities of a robot and steps of a simulator as functions that JAX transforms."""

from kinloop.learn.jax_functions import function, rollout, step

__all__ = ["function", "rollout", "step"]
