"""What a router may be told."""

import pytest

from cbnet.errors import InputError
from cbnet.network.link.settings import Settings


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"name": ""}, "'' is not a valid router name"),
        ({"name": "x" * 65}, "is not a valid router name"),
        ({"name": "a\nb"}, "is not a valid router name"),
        ({"network": ""}, "'' is not a valid network name"),
        ({"scheme": "flood"}, "unknown scheme 'flood' of a live network"),
        ({"commit": "tree"}, "unknown value 'tree' of `commit`"),
        ({"weights": {"b": 0}}, "invalid weight 0 of b"),
        ({"weights": {"": 1}}, "is not a valid router name"),
        ({"trees": 0}, "invalid number of trees: 0"),
        ({"roots": ("",)}, "'' is not a valid router name"),
        ({"roots": ("b", "b")}, "two trees have the same root"),
        ({"heartbeat": 4.0}, "`dead` is not longer than `heartbeat`"),
        ({"heartbeat": 0.0}, "`dead` is not longer than `heartbeat`"),
        ({"refresh": 3600.0}, "`lifetime` is not longer than `refresh`"),
    ],
)
def test_what_makes_no_sense_is_refused(settings, problem):
    with pytest.raises(InputError, match=problem):
        Settings(**{"name": "a", **settings})


NUMBERS = [name for name, default in vars(Settings).items() if type(default) in (int, float) and name != "trees"]


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("value", [-1, 2**63, float("inf"), float("nan")])
def test_every_number_is_finite_and_bounded(name, value):
    with pytest.raises(InputError, match=rf"`{name}` is|`dead` is not longer|`lifetime` is not longer") as refused:
        Settings("a", **{name: value})
    assert name in str(refused.value)


@pytest.mark.parametrize(
    "name",
    sorted({*NUMBERS} - {"account_grace", "cache_bytes", "cache_age", "history_age", "settle", "overlap", "spacing"}),
)
def test_numbers_without_a_meaning_of_zero_are_positive(name):
    with pytest.raises(InputError, match=name):
        Settings("a", **{name: 0})


def test_routers_must_agree_on_the_number_of_trees():
    assert Settings("a", scheme="multitree", trees=3).routing == "multitree:3"


def test_routers_must_agree_on_the_roots_of_the_trees_in_their_order():
    said = [(), ("a", "b"), ("b", "a"), ("a",), ("ab",)]
    assert len({Settings("a", scheme="multitree", roots=roots).routing for roots in said}) == len(said)
    many = tuple(f"{'x' * 60}{number}" for number in range(60))
    assert len(Settings("a", scheme="multitree", roots=many).routing) <= 64  # a `Hello` has room for it
