"""The load of filters is what they cost a router: constraints, conditions, and room."""

import pytest

from cbnet.language.syntax.byte_form import predicate_to_bytes
from cbnet.network.announce.filter_counts import NO_LOAD, FilterLoad, filter_load


@pytest.mark.parametrize(
    ("predicate", "filters", "constraints"),
    [
        ("false", 0, 0),
        ("true", 1, 1),  # at least one
        ("x = 1 and #t and y > 2", 1, 3),
        ("x = 1 or y = 2", 2, 2),
        ('lower(x) = "a"', 1, 2),  # it implies that x exists
        (f'lower(x) = "{"a" * 87}"', 1, 3),  # a condition of 100 characters
        ("x < y", 1, 66),  # 64, and the two constraints that it implies: x and y exist
        ("count(p) > 3", 1, 17),  # 16 more for a computed attribute
        ("all p (x = 1 and y = 2) and p[0].x = 1 and z = 1", 1, 35),  # 3 constraints, and 2 computed attributes
        ("count(p) < count(q)", 1, 98),  # 66 for a relation, and 2 computed attributes
        ('x =~ "^a[0-9]"', 1, 2),  # it implies the prefix "a"
        ('x =~ "(a|b){80}"', 1, 17),  # it implies that x exists; a program of 4 steps for each time, 12 bytes a step
        (f'x = "{"a" * 2_000}"', 1, 1),
        (f'x = "{"a" * 2_048}"', 1, 2),  # for each KiB
        (f'x = "{"a" * 65_000}"', 1, 63),
        ("x in (" + ", ".join(map(str, range(100, 5_100))) + ")", 1, 14),  # 5,000 numbers of three bytes
    ],
)
def test_load_of_a_predicate(predicate, filters, constraints):
    assert filter_load(predicate_to_bytes(predicate)) == FilterLoad(filters, constraints)


def test_loads_are_added():
    assert NO_LOAD.plus(FilterLoad(1, 2)).plus(FilterLoad(3, 4)).minus(FilterLoad(2, 2)) == FilterLoad(2, 4)
