"""Products that only one sum uses round with it."""

from __future__ import annotations

from kinloop.compiler.plan.fuse import fuse_products


def test_a_product_with_one_user_joins_its_sum():
    operations = {2: ("mul", (0, 1)), 3: ("add", (0, 2)), 4: ("mul", (0, 0)), 5: ("sub", (4, 1)), 6: ("sub", (1, 7))}
    operations[7] = ("mul", (1, 1))
    fused = fuse_products(operations, [3, 5, 6])
    assert fused == {3: ("fma", (0, 1, 0)), 5: ("fms", (0, 0, 1)), 6: ("fnma", (1, 1, 1))}


def test_a_product_with_two_users_or_that_is_an_output_stays():
    operations = {2: ("mul", (0, 1)), 3: ("add", (0, 2)), 4: ("add", (1, 2))}
    assert fuse_products(operations, [3, 4]) == operations
    del operations[4]
    assert fuse_products(operations, [2, 3]) == operations
    square = {2: ("mul", (0, 1)), 3: ("add", (2, 2))}
    assert fuse_products(square, [3]) == square
