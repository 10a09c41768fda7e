"""Answers about predicates without a network: check, covers and explain, in all dialects."""

from time import process_time

import pytest

from cbnet.errors import InputError
from cbnet.language import DIALECTS, Message, parse
from cbnet.network.http.playground import checked, compared, explained

# The same predicate in each dialect, as far as it has the words: type is "a", and price below 5.
SAME = {
    "cbnet": 'type = "a" and price < 5',
    "eventbridge": '{"type": ["a"], "price": [{"numeric": ["<", 5]}]}',
    "cloudevents": '[{"exact": {"type": "a"}}]',
    "cesql": "type = 'a' AND price < 5",
    "selector": "type = 'a' AND price < 5",
}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_predicate_of_each_dialect_is_checked_with_an_example_that_matches(dialect):
    answer = checked({"predicate": SAME[dialect], "dialect": dialect})
    assert answer["satisfiable"]
    assert 'type = "a"' in answer["predicate"]
    assert parse(SAME[dialect], dialect=dialect).matches(Message.of(answer["example"]))


def test_a_check_reduces_and_counts():
    answer = checked({"predicate": "x > 3 or x > 4"})
    assert (answer["reduced"], answer["size"], answer["reduced_size"]) == ("x > 3", 2, 1)


def test_a_contradiction_has_no_example():
    answer = checked({"predicate": "x > 3 and x < 2"})
    assert (answer["satisfiable"], answer["example"]) == (False, None)


def test_covering_has_a_counter_example_that_matches_only_the_narrow_one():
    assert compared({"wide": "x > 2", "narrow": "x > 3"}) == {"covers": True, "counterexample": None, "exhausted": True}
    answer = compared({"wide": "x > 3", "narrow": "x > 2"})
    assert not answer["covers"]
    assert parse("x > 2").matches(Message.of(answer["counterexample"]))
    assert not parse("x > 3").matches(Message.of(answer["counterexample"]))


def test_two_dialects_are_compared():
    sides = {
        "wide": "type LIKE 'a%'",
        "dialect": "cesql",
        "narrow": '{"type": ["ab"]}',
        "narrow_dialect": "eventbridge",
    }
    assert compared(sides)["covers"]


def test_filters_that_cover_only_together_have_no_counter_example():
    answer = compared({"wide": "x < 5 or x >= 5", "narrow": "x != 9 and x < 100"})
    assert answer == {"covers": False, "counterexample": None, "exhausted": True}


def test_an_explanation_names_the_constraints_that_fail():
    answer = explained({"message": {"price": 700}, "predicate": 'price < 500 and dest = "MXP"'})
    assert not answer["matches"]
    (closest,) = answer["closest"]
    assert closest["failures"] == ["price < 500 fails: price is 700", 'dest = "MXP" fails: dest is absent']
    assert explained({"message": {"price": 3}, "predicate": "price < 5"})["filter"] == "price < 5"


def test_errors_name_the_side_and_the_place():
    with pytest.raises(InputError, match="no narrow"):
        compared({"wide": "x > 2"})
    with pytest.raises(InputError, match="narrow: ") as caught:
        compared({"wide": "x > 2", "narrow": "x >"})
    assert caught.value.column == 4
    with pytest.raises(InputError, match="no message"):
        explained({"predicate": "x > 2"})


def test_a_search_ends_though_no_filter_has_a_counter_example():
    """Each of the 100 filters takes some 40 ms: without a bound, four seconds each time."""
    narrow = " or ".join(f"a * b * c * d = {n}.123457 and a > {n}" for n in range(100))
    began = process_time()
    answer = compared({"wide": "e < 0", "narrow": narrow})
    assert answer == {"covers": False, "counterexample": None, "exhausted": False}
    assert checked({"predicate": narrow})["example"] is None
    assert process_time() - began < 12


def test_what_takes_long_is_refused():
    with pytest.raises(InputError):
        checked({"predicate": " or ".join(f"x = {number}" for number in range(300))})
    arrays = {name: list(range(100)) for name in "abc"}
    with pytest.raises(InputError, match="too many values"):
        explained({"message": arrays, "predicate": "a > b and b > c"})
