"""Arrays of other libraries, torch tensors and JAX arrays among them, read as NumPy arrays where they are.

None of these libraries is imported: their arrays say what they are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kinloop.errors import ShapeError


def read_array(name: str, x: Any) -> np.ndarray:
    """`x` as a NumPy array, without a copy where it is one of numbers on the CPU.

    An array that cannot be read is an error that says what to do; what is no array fails as NumPy does.
    """
    if isinstance(x, np.ndarray):
        return x
    if reason := unreadable(name, x):
        raise ShapeError(reason)
    if hasattr(x, "__dlpack__") and not hasattr(x, "__array__"):
        return np.from_dlpack(x)
    return np.asarray(x)


def shared_array(name: str, x: Any) -> np.ndarray | None:
    """A NumPy array that writes where an array of another library has its numbers; None if there is none."""
    if not hasattr(x, "__dlpack__"):
        return None
    found = read_array(name, x)
    return found if np.shares_memory(found, read_array(name, x)) else None


def unreadable(name: str, x: Any) -> str:
    """Why an array of another library cannot be read, in a sentence; '' if it can, or is none."""
    if any(kind.__name__ == "Tracer" for kind in type(x).__mro__):
        return f"{name} is traced by JAX, under jit, vmap or grad; use the functions of kinloop.jax there"
    if not hasattr(x, "__dlpack__"):
        return ""
    device = _device(x)
    if device not in ("", "cpu"):
        return f"{name} is on {device}, kinloop computes on the CPU; pass {name}.cpu(), in JAX jax.device_get({name})"
    if getattr(x, "requires_grad", False):
        return f"{name} requires grad; pass {name}.detach(), or use kinloop.torch, whose functions have gradients"
    if str(getattr(x, "dtype", "")) == "torch.bfloat16":
        return f"{name} is of torch.bfloat16, which NumPy does not know; pass {name}.float()"
    return ""


def _device(x: Any) -> str:
    """Where an array is: "cpu", or the name of another device; '' if it does not say."""
    device = getattr(x, "device", None)
    if isinstance(device, str):  # of the array API
        return device
    kind = getattr(device, "type", None) or getattr(device, "platform", None)
    return str(device) if kind not in (None, "cpu") else (kind or "")
