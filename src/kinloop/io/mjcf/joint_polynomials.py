"""Polynomials of joint positions, which MuJoCo writes about the joints' reference positions."""

from __future__ import annotations

import numpy as np

MOST_COEFFICIENTS = 5
"""MuJoCo's polynomials of joints go to the fourth power."""


def polynomial_about(coefficients: np.ndarray, shift: float) -> np.ndarray:
    """All `MOST_COEFFICIENTS` coefficients of p(x + shift), for those of p(x)."""
    p = np.polynomial.Polynomial(coefficients)
    moved = p(np.polynomial.Polynomial([shift, 1.0])).coef if shift else p.coef
    return np.concatenate([moved, np.zeros(MOST_COEFFICIENTS)])[:MOST_COEFFICIENTS]
