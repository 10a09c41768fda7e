import pytest

from cbnet.language import Message, parse
from cbnet.routing.interests import Interests


def test_the_example_of_the_module_holds():
    interests = Interests({7: parse("x > 2"), 9: parse("x > 3 or y = 1")})
    assert list(map(str, interests.filters)) == ["x > 2", "x > 3", "y = 1"]
    assert (interests.of(7), interests.of(9)) == (0b001, 0b110)
    assert interests.disjunction([0b001, 0b110]) == 0b101


@pytest.mark.parametrize(
    ("one", "other", "kept"),
    [
        ("x >= 1 and x <= 1", "x = 1", {"x = 1"}),
        ("x = 1", "x >= 1 and x <= 1", {"x = 1"}),
        ("b = true", "b != false", {"b = true"}),
        ("b != false", "b = true", {"b = true"}),
    ],
)
def test_smallest_of_filters_that_cover_each_other_is_kept(one, other, kept):
    interests = Interests({1: parse(one), 2: parse(other)})
    both = interests.disjunction([interests.of(1), interests.of(2)])
    assert set(map(str, interests.predicate(both).filters)) == kept


def test_a_predicate_that_nothing_matches_has_no_filters():
    interests = Interests({1: parse("x < 1 and x > 2")})
    assert (interests.of(1), interests.unreduced_words(1)) == (0, 2)
    assert interests.interested(Message({"x": 1})) == set()


def test_cached_match_is_not_used_for_another_message():
    interests = Interests({1: parse("x = 1"), 2: parse("x = 2")})
    actual = [interests.interested(Message({"x": x})) for x in (1, 2, 1, 3)]
    assert actual == [{1}, {2}, {1}, set()]
