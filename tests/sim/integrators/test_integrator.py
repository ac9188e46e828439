"""The one table of integrators, and what each says about itself."""

from __future__ import annotations

import inspect

import pytest

from kinloop.errors import MethodError
from kinloop.sim import Plane, Simulator
from kinloop.sim.actuators import make_drive
from kinloop.sim.integrators import INTEGRATORS, Adaptive, Integrator, IntegratorOptions, RungeKutta, SemiImplicit
from kinloop.sim.stepper import StepMethod, System
from tests.sim.mechanisms import box_on, pendulum

OPTIONS = IntegratorOptions(substeps=3, tolerance=1e-7)


def test_the_table_knows_every_integrator_by_its_name():
    assert list(INTEGRATORS) == ["semi_implicit", "rk4", "adaptive"]
    for name, kind in INTEGRATORS.items():
        assert kind.name == name
        assert Simulator(pendulum(), integrator=name).integrator == name
        assert isinstance(Simulator(pendulum(), integrator=name).method, kind)
    with pytest.raises(MethodError, match="integrator 'euler' is not one of 'semi_implicit', 'rk4', 'adaptive'"):
        Simulator(pendulum(), integrator="euler")


@pytest.mark.parametrize("kind", INTEGRATORS.values(), ids=INTEGRATORS)
def test_integrators_say_what_the_protocol_asks(kind):
    made = kind.make(OPTIONS)
    for name, member in inspect.getmembers(Integrator):
        if not name.startswith("_"):
            assert hasattr(made, name), name
            if inspect.isfunction(member):
                wanted, found = (inspect.signature(f).parameters for f in (member, getattr(kind, name)))
                assert list(found) == list(wanted), name
    assert made.key[0] == kind.name and isinstance(made.has_contact, bool)
    robot = pendulum()
    assert made.memory_size(System(robot.tree, make_drive(robot.tree, None), None)) >= 0


def test_options_reach_those_they_concern():
    assert RungeKutta.make(OPTIONS).substeps == 3 and Adaptive.make(OPTIONS).tolerance == 1e-7
    assert RungeKutta(1).key != RungeKutta(2).key, "kernels differ"
    assert Adaptive(1e-3).key == Adaptive(1e-9).key, "kernels are the same"
    assert SemiImplicit.make(OPTIONS).key == SemiImplicit().key


def test_contact_acts_where_the_integrator_has_it():
    assert [name for name, kind in INTEGRATORS.items() if kind.has_contact] == ["semi_implicit"]
    for name in ("rk4", "adaptive"):
        with pytest.raises(MethodError, match=f"contact needs integrator='semi_implicit', received '{name}'"):
            box_on(Plane(), integrator=name)
        assert Simulator(pendulum(friction=0.1), integrator=name).contact is None
    assert Simulator(pendulum(friction=0.1)).contact is not None
    assert Simulator(pendulum(friction=0.1), limits=False).contact is None


def test_integrators_with_fixed_steps_have_a_step():
    assert [isinstance(kind.make(OPTIONS), StepMethod) for kind in INTEGRATORS.values()] == [True, True, False]
