"""Mutants of a module are tried on the tests that could notice them."""

from tests.mutation.mutate import REPOSITORY, ROOMS, find_tests, modules_of


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
    assert find_tests("viewer", "mesh_worker.py") == ["tests/viewer/test_mesh_files.py"]
    assert "tests/sim/contact/test_solver.py" in find_tests("sim", "contact/solver.py")
