"""Couplings by a user's function."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from kinloop import scalar as sc
from kinloop.errors import ModelError
from kinloop.model.loops.coupling import Coupling
from kinloop.model.loops.traced_function import JointFunction, TracedFunction, check_function
from kinloop.scalar import Array

if TYPE_CHECKING:
    from kinloop.model.topology import Topology


@dataclass(frozen=True, eq=False)
class FunctionCoupling(Coupling):
    """q_dependent = gamma(q_independent...) for any Python function written with `kinloop.scalar`."""

    gamma: JointFunction

    def __post_init__(self) -> None:
        check_function(self.gamma, self.what)

    @cached_property
    def _traced(self) -> TracedFunction:
        return TracedFunction(self.gamma, self.what)

    def _derivatives(self, top: Topology) -> sc.Function:
        return self._traced.derivatives(tuple(top.types[top.joint_index[name]] for name in self.independent))

    def explicit(self, top: Topology, q: Array, qd: Array | None = None) -> tuple[Any, Any, Any]:
        gamma, G, g = self._derivatives(top)(*self.independent_motion(top, q, qd))
        if len(gamma) != len(self.dependent):
            raise ModelError(
                f"the function of {self.what} returns {len(gamma)} values for "
                f"{len(self.dependent)} dependent joints; return one value each"
            )
        return gamma, G, g

    def own_functions(self, top: Topology) -> list[sc.Function]:
        return [*super().own_functions(top), self._derivatives(top)]
