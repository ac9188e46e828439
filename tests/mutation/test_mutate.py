"""Mutants of a module are tried on the tests that could notice them."""

from types import SimpleNamespace

from tests.mutation.mutate import LEFT_OUT, REPOSITORY, ROOMS, draw, find_tests, modules_of


def test_every_module_has_tests_that_could_notice_a_mutant():
    for room in ROOMS:
        assert len(modules_of(room)) > 10
        for module in modules_of(room):
            found = find_tests(room, module)
            assert found and all((REPOSITORY / path).is_file() for path in found)


def test_tests_are_those_of_the_name_and_those_that_import():
    assert find_tests("viewer", "html_page.py") == [
        "tests/viewer/test_hostile_names.py",
        "tests/viewer/test_html_page.py",
    ]
    assert find_tests("meshes", "mesh_worker.py") == ["tests/meshes/test_mesh_files.py"]
    assert "tests/sim/contact/test_solver.py" in find_tests("sim", "contact/solver.py")
    named = ("linearization/test_rollout_gradient", "test_rollout", "test_rollout_files", "test_rollout_plot")
    assert find_tests("sim", "rollout.py") == [f"tests/sim/{name}.py" for name in named]


def test_mutants_are_drawn_from_every_module_alike():
    mutants = [
        SimpleNamespace(module_path=path, at=k)
        for path, n in (("a.py", 50), ("b.py", 1), ("c.py", 9))
        for k in range(n)
    ]
    drawn = draw(mutants, None, 3, seed=0)
    assert [m.module_path for m in drawn] == ["a.py"] * 3 + ["b.py"] + ["c.py"] * 3
    assert drawn == draw(mutants, None, 3, seed=0) != draw(mutants, None, 3, seed=1)
    assert draw(mutants, None, None, seed=0) == mutants and len(draw(mutants, 7, None, seed=0)) == 7
    assert len(draw(mutants, 5, 3, seed=0)) == 5


def test_mutants_that_say_nothing_are_left_out():
    left = ("ReplaceBinaryOperator_BitOr_Add", "ReplaceBinaryOperator_Mul_BitXor", "ReplaceUnaryOperator_USub_Invert")
    tried = ("ReplaceBinaryOperator_BitAnd_BitOr", "ReplaceBinaryOperator_Mul_Div", "ReplaceUnaryOperator_USub_UAdd")
    assert all(LEFT_OUT.search(f"core/{name}") for name in left)
    assert not any(LEFT_OUT.search(f"core/{name}") for name in (*tried, "NumberReplacer"))
