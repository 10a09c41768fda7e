"""Laws of the whole language: nested messages, several values, null, conditions and three-valued logic."""

from hypothesis import given
from hypothesis import strategies as st
from support.formula_reference import outcome
from support.rich_language import (
    flat_messages,
    formulas,
    members,
    nested_messages,
    rich_filters,
    rich_messages_near,
    rich_predicates,
    tags,
    unconditional_filters,
)

from cbnet.language import (
    Filter,
    Message,
    Predicate,
    counterexample,
    covers,
    message_from_json,
    message_to_json,
    overlaps,
    parse,
    predicate_from_json,
    predicate_to_json,
    reduce,
    satisfiable,
    search_counterexample,
    size,
    witness,
)
from cbnet.language.formula import AllOf, AnyOf, Is, Not, Outcome, predicate_of

# --- text and JSON


@given(rich_predicates)
def test_text_of_a_predicate_is_parsed_back(predicate):
    assert parse(str(predicate)) == predicate
    assert str(parse(str(predicate))) == str(predicate)


@given(rich_filters)
def test_text_of_a_filter_is_parsed_back(filter):
    assert parse(str(filter)) == Predicate([filter])


@given(rich_predicates)
def test_json_of_a_predicate_is_read_back(predicate):
    assert predicate_from_json(predicate_to_json(predicate)) == predicate


@given(nested_messages)
def test_json_of_a_message_is_read_back(message):
    assert message_from_json(message_to_json(message)) == message
    assert hash(message_from_json(message_to_json(message))) == hash(message)


# --- messages


@given(members(), tags)
def test_dotted_keys_and_nested_objects_are_one_message(inner, chosen):
    dotted = Message({f"n.{key}": value for key, value in inner.items()}, chosen)
    assert dotted == Message({"n": inner}, chosen)
    assert {name: dotted.values(f"n.{name}") for name in Message(inner).leaves} == {
        name: Message(inner).values(name) for name in Message(inner).leaves
    }


@given(nested_messages, nested_messages, rich_filters)
def test_equal_messages_match_the_same_filters(first, second, filter):
    if first == second:
        assert filter.matches(first) == filter.matches(second)


@given(members(), tags)
def test_key_order_does_not_matter_between_attributes(attributes, chosen):
    reordered = dict(reversed(attributes.items()))
    names = {name for name in attributes if name.startswith("o")}
    if len(names) <= 1:
        assert Message(attributes, chosen) == Message(reordered, chosen)


# --- three-valued logic


@given(formulas, flat_messages)
def test_normal_form_agrees_with_direct_evaluation(formula, message):
    expected = outcome(formula, message.attributes, message.tags)
    assert predicate_of(formula).matches(message) == (expected is True)
    assert predicate_of(Not(formula)).matches(message) == (expected is False)
    for accepted in (Outcome.TRUE, Outcome.FALSE, Outcome.FALSE | Outcome.UNKNOWN, Outcome.TRUE | Outcome.UNKNOWN):
        names = {True: Outcome.TRUE, False: Outcome.FALSE, None: Outcome.UNKNOWN}
        assert predicate_of(Is(formula, accepted)).matches(message) == bool(names[expected] & accepted)


@given(st.lists(formulas, max_size=3), nested_messages)
def test_a_disjunction_matches_what_one_part_matches(parts, message):
    assert predicate_of(AnyOf(tuple(parts))).matches(message) == any(
        predicate_of(part).matches(message) for part in parts
    )


@given(st.lists(formulas, max_size=3), nested_messages)
def test_what_a_conjunction_matches_all_parts_match(parts, message):
    if predicate_of(AllOf(tuple(parts))).matches(message):
        assert all(predicate_of(part).matches(message) for part in parts)


@given(st.lists(formulas, max_size=3), flat_messages)
def test_for_single_values_a_conjunction_matches_what_all_parts_match(parts, message):
    assert predicate_of(AllOf(tuple(parts))).matches(message) == all(
        predicate_of(part).matches(message) for part in parts
    )


@given(rich_filters, rich_filters, nested_messages)
def test_what_a_conjunction_of_filters_matches_both_match(left, right, message):
    if (left & right).matches(message):
        assert left.matches(message)
        assert right.matches(message)
        assert overlaps(left, right)


# --- covering


@given(rich_predicates)
def test_covering_is_reflexive(predicate):
    assert covers(predicate, predicate)


@given(rich_filters, rich_filters, rich_filters)
def test_covering_is_transitive(wide, middle, narrow):
    middle, narrow = wide & middle, wide & middle & narrow
    assert covers(wide, middle)
    assert covers(middle, narrow)
    assert covers(wide, narrow)


@given(rich_filters, rich_filters, st.data())
def test_a_yes_loses_no_message(wide, narrow, data):
    message = data.draw(rich_messages_near(wide, narrow))
    for narrower in (narrow, wide & narrow):
        if covers(wide, narrower) and narrower.matches(message):
            assert wide.matches(message)


@given(rich_predicates, rich_predicates, st.data())
def test_a_yes_between_predicates_loses_no_message(wide, narrow, data):
    message = data.draw(rich_messages_near(*wide.filters, *narrow.filters))
    if covers(wide, narrow) and narrow.matches(message):
        assert wide.matches(message)


@given(rich_predicates, rich_predicates)
def test_a_counterexample_is_one(wide, narrow):
    found = search_counterexample(wide, narrow)
    if found.message is not None:
        assert narrow.matches(found.message)
        assert not wide.matches(found.message)
        assert not covers(wide, narrow)


@given(unconditional_filters, unconditional_filters)
def test_a_no_between_filters_without_conditions_has_a_counterexample(wide, narrow):
    assert covers(wide, narrow) == (counterexample(wide, narrow) is None)


@given(rich_predicates, rich_predicates, st.data())
def test_an_exhaustive_search_is_a_proof(wide, narrow, data):
    if search_counterexample(wide, narrow) == (None, True):
        message = data.draw(rich_messages_near(*wide.filters, *narrow.filters))
        assert wide.matches(message) or not narrow.matches(message)


@given(unconditional_filters)
def test_a_filter_without_conditions_is_satisfiable_if_it_has_a_witness(filter):
    assert satisfiable(filter) == (witness(filter) is not None)


@given(rich_predicates, st.data())
def test_a_predicate_that_is_not_satisfiable_matches_nothing(predicate, data):
    if not satisfiable(predicate):
        assert not predicate.matches(data.draw(rich_messages_near(*predicate.filters)))


@given(rich_filters, rich_filters, st.data())
def test_filters_that_do_not_overlap_have_no_message_in_common(left, right, data):
    if not overlaps(left, right):
        message = data.draw(rich_messages_near(left, right))
        assert not (left.matches(message) and right.matches(message))


@given(unconditional_filters, unconditional_filters)
def test_filters_without_conditions_overlap_in_a_message_with_several_values(left, right):
    first, second = witness(left), witness(right)
    assert overlaps(left, right) == (first is not None and second is not None)
    if first is not None and second is not None:
        names = {*first.attributes, *second.attributes}
        both = {name: [side.attributes[name] for side in (first, second) if name in side.attributes] for name in names}
        message = Message(both, first.tags | second.tags)
        assert left.matches(message)
        assert right.matches(message)


# --- reduction

crowds = st.lists(rich_filters, max_size=8).map(Predicate)


@given(rich_predicates | crowds, st.data())
def test_reducing_changes_no_match(predicate, data):
    message = data.draw(rich_messages_near(*predicate.filters))
    for rules in ("full", "pairwise"):
        assert reduce(predicate, rules).matches(message) == predicate.matches(message)


@given(rich_predicates | crowds)
def test_reducing_never_grows_and_leaves_nothing_redundant(predicate):
    reduced = reduce(predicate)
    assert size(reduced) <= size(predicate)
    assert reduce(reduced) == reduced
    assert all(map(satisfiable, reduced.filters))
    assert not any(covers(wide, narrow) for wide in reduced for narrow in reduced if wide is not narrow)


def test_sets_and_null_are_compared_exactly():
    assert reduce("x in (1, 2, 3) or x = 1 or x in (1, 2)") == parse("x in (1, 2, 3)")
    assert reduce('x != null or x = 1 or x *= "a" or x in (1, "a")') == parse("x != null")
    assert reduce("exists x or x != null or x = null or x in (1, null)") == parse("exists x")
    assert reduce("x > 0 or x in (1, 2)") == parse("x > 0")
    assert len(reduce("x > 1 or x in (1, 2)")) == 2
    assert reduce("x in (1, 2) and x in (2, 3)") == parse("x in (1, 2) and x in (2, 3)")
    assert not reduce("x in (1, 2) and x > 2").filters
    assert covers("x in (0, 1)", "x in (1, 2) and x < 2")


def test_conditions_are_compared_by_their_outcomes():
    assert covers("(a < b) is not true", "not (a < b)")
    assert covers("b > a", "a < b")
    assert covers("a != b", "not (b = a)")
    assert covers("(a <= b) is not false", "not (a > b)")
    assert not covers("not (a < b)", "(a < b) is not true")
    assert not satisfiable("(lower(x) = y) is not true and lower(x) = y")
    assert reduce("(a * b > 2) is not false or a * b > 2") == parse("(a * b > 2) is not false")


def test_filters_that_demand_absence_do_not_overlap():
    assert not overlaps("absent x", "x = 1")
    assert not overlaps("not #t", "#t and y = 1")
    assert overlaps("x = 1", "x = 2")
    assert Filter().matches(witness("true"))


def test_witnesses_of_common_conditions_are_found():
    for text in (
        "price * quantity > 100",
        "a < b and b < c",
        'lower(name) = "abc" and name != "abc"',
        'x like "a_b%c" and not (x like "%bb%")',
        "x mod 2 = 1 and x > 1000",
        "absent x and not #t and (y > 3) is not true and exists y",
        "x not in (1, 2) and x div 2 = 1",
    ):
        message = witness(text)
        assert message is not None, text
        assert parse(text).matches(message)
    assert counterexample("(y > 3) is not true", "x = 1") == Message({"x": 1, "y": 4})
    assert search_counterexample("x * 0 = 0", "x > 0") == (None, False)


def test_a_filter_may_name_thousands_of_attributes():
    names = [f"a.x{number}" for number in range(3_000)]
    every = parse(" and ".join(f"exists {name}" for name in names) + " and (a.x0 < a.x1) is not false")
    whole = {name.removeprefix("a."): number for number, name in enumerate(names)}
    assert every.matches({"a": [{"x0": 5}, whole]})
    assert not every.matches({"a": [{"x0": 5}, {**whole, "x0": []}]})
    assert every.matches(witness(every))
