"""Integrators: how states move on in time.

- `integrator`: the protocol of all of them.
- `history`: accelerations of past steps, which lift a step's order and lead over singular configurations.
- `starting`: what `history` remembers of a row that begins.
- `fixed_step`: what integrators with steps of length dt share: rollouts of a batch in chunks.
- `semi_implicit`: the leapfrog, the default, and the only one with contact, joint stops and dry friction.
- `free_momentum`: momentum of single free bodies, kept to rounding.
- `runge_kutta`: the classical method of order 4.
- `adaptive`: Dormand and Prince's pair of orders 5 and 4, with step control.

`INTEGRATORS` is the one table that knows them by name; a new integrator is a new file and a line here.
"""

from kinloop.sim.integrators.adaptive import Adaptive
from kinloop.sim.integrators.integrator import Integrator, IntegratorOptions
from kinloop.sim.integrators.runge_kutta import RungeKutta
from kinloop.sim.integrators.semi_implicit import SemiImplicit

INTEGRATORS: dict[str, type[Integrator]] = {kind.name: kind for kind in (SemiImplicit, RungeKutta, Adaptive)}

__all__ = ["INTEGRATORS", "Adaptive", "Integrator", "IntegratorOptions", "RungeKutta", "SemiImplicit"]
