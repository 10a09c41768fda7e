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
        ({"silence": 0.0}, "`silence` is 0 s"),
        ({"session_bytes": 0}, "`session_filters`, `session_bytes` or `queue_bytes` is not positive"),
        ({"settle": -1.0}, "`overlap` or `settle` is negative"),
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


def test_routers_must_agree_on_the_number_of_trees():
    assert Settings("a", scheme="multitree", trees=3).routing == "multitree:3"


def test_routers_must_agree_on_the_roots_of_the_trees_in_their_order():
    said = [(), ("a", "b"), ("b", "a"), ("a",), ("ab",)]
    assert len({Settings("a", scheme="multitree", roots=roots).routing for roots in said}) == len(said)
    many = tuple(f"{'x' * 60}{number}" for number in range(60))
    assert len(Settings("a", scheme="multitree", roots=many).routing) <= 64  # a `Hello` has room for it
