"""kinloop for PyTorch: quantities of a robot and steps of a simulator as operators with autograd, on the CPU."""

from kinloop.learn.torch_functions import function, rollout, step

__all__ = ["function", "rollout", "step"]
