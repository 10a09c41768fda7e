import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.plain_reduction import plain_reduce
from support.rich_language import literals, rich_filters
from support.strategies import close_names, close_tags, close_values, constraints, filters, messages_near, predicates

from cbnet.language import Constraint, Filter, Op, Predicate, covers, disjunction_advantage, reduce, satisfiable, size
from cbnet.language.relations.cover_index import CoverIndex
from cbnet.language.relations.number_range import MAX_FLOAT
from cbnet.language.relations.ranges import AttributeRange
from cbnet.language.relations.reduction import Reduction

both_rules = pytest.mark.parametrize("rules", ["full", "pairwise"])


@both_rules
@given(predicate=predicates(), data=st.data())
def test_reducing_changes_no_match(rules, predicate, data):
    message = data.draw(messages_near(*predicate.filters))
    assert reduce(predicate, rules).matches(message) == predicate.matches(message)


@both_rules
@given(predicate=predicates())
def test_reducing_twice_is_reducing_once(rules, predicate):
    once = reduce(predicate, rules)
    twice = reduce(once, rules)
    assert twice == once
    assert str(twice) == str(once)


@both_rules
@given(predicate=predicates())
def test_reducing_never_grows(rules, predicate):
    reduced = reduce(predicate, rules)
    assert size(reduced) <= size(predicate)
    assert len(reduced) <= len(predicate)
    given_constraints = {constraint for filter in predicate for constraint in filter.constraints}
    assert {constraint for filter in reduced for constraint in filter.constraints} <= given_constraints


@given(predicates())
def test_nothing_redundant_is_left(predicate):
    filters = reduce(predicate).filters
    assert all(satisfiable(filter) for filter in filters)
    assert not any(covers(wide, narrow) for wide in filters for narrow in filters if wide is not narrow)
    for filter in filters:
        for constraint in filter.constraints:
            rest = type(filter)([other for other in filter.constraints if other != constraint], filter.tags)
            assert not covers(constraint, rest)


# Values at the ends of their order, where an interval has few members or one.
end_values = st.sampled_from(
    [
        True, 1, -MAX_FLOAT, MAX_FLOAT, "", "\0", "\0\0", "a", "a\0", "a\0\0", "ab", "\x01", "\ud7ff", "\ue000",
        "\U0010fffe", "\U0010ffff", "\U0010ffff\U0010ffff", "\U0010ffff\0",
    ]
)  # fmt: skip
rich_crowds = st.lists(rich_filters, max_size=12).map(Predicate)
crowds = rich_crowds | st.builds(
    Predicate,
    st.lists(filters(st.sampled_from("xy"), close_values | end_values, close_tags, max_size=5), max_size=12),
)


@both_rules
@given(predicate=crowds)
def test_index_and_kernel_keep_what_asking_every_pair_keeps(rules, predicate):
    reduced, plain = reduce(predicate, rules), plain_reduce(predicate, rules)
    assert list(reduced.filters) == list(plain.filters)
    assert str(reduced) == str(plain)


def check_containment(group, wide):
    """Compare the kernel's answer about the constraints of a group together, and the index's, with the ranges."""
    index = CoverIndex([Filter([wide]), Filter(group)])
    index.add(0)
    index.add(1)
    narrow = AttributeRange(group)
    expected = narrow.is_empty or (0 in index and narrow.implies(wide))
    if narrow.is_empty or 0 not in index:
        assert (1 not in index) == narrow.is_empty
    else:
        assert index._rows.covers(0, 1) in (int(expected), 2)
        assert index.covers(0, 1) == expected


@given(st.lists(constraints(st.just("x"), close_values | end_values), min_size=1, max_size=4), st.data())
def test_the_kernel_agrees_with_the_ranges_or_leaves_it_open(group, data):
    check_containment(group, data.draw(constraints(st.just("x"), close_values | end_values)))


one_attribute = literals.filter(lambda part: isinstance(part, Constraint)).map(
    lambda c: Constraint("x", c.op, *(() if c.op is Op.EXISTS else (c.value,)))
)


@given(st.lists(one_attribute, min_size=1, max_size=4), one_attribute)
def test_the_kernel_agrees_on_sets_and_null(group, wide):
    check_containment(group, wide)


words = st.sampled_from(["ab", "aba", "b", "market", "markets"])


@given(constraints(st.just("x"), words), constraints(st.just("x"), words))
def test_the_kernel_decides_between_single_constraints_on_words(wide, narrow):
    index = CoverIndex([Filter([wide]), Filter([narrow])])
    index.add(0)
    index.add(1)
    assert index._rows.covers(0, 1) in (0, 1)


@given(st.lists(filters(close_names, close_values, close_tags), max_size=12), st.data())
@both_rules
def test_what_a_few_do_not_need_more_do_not_need(rules, said, data):
    said = list(Predicate(said).filters)
    counts = sorted(data.draw(st.sets(st.integers(0, len(said)))))
    reduction = Reduction(said, rules)
    for count, needed in zip(counts, reduction.needed_of_first(counts), strict=True):
        (alone,) = Reduction(said[:count], rules).needed_of_first([count])
        assert needed == alone


@both_rules
@given(parts=st.lists(predicates(), max_size=4))
def test_combining_never_costs(rules, parts):
    assert 0 <= disjunction_advantage(parts, rules) <= 1


@given(parts=st.lists(predicates(), max_size=4))
def test_the_full_rules_prove_at_least_what_the_pairwise_rules_prove(parts):
    assert disjunction_advantage(parts) <= disjunction_advantage(parts, "pairwise")
