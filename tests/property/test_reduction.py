import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import messages_near, predicates

from cbnet._kernels import subsets
from cbnet.language import Predicate, covers, disjunction_advantage, reduce, satisfiable, size
from cbnet.language.reduction import plain_supersets

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


@given(predicates())
def test_the_mask_excludes_no_pair_that_covers(predicate):
    # The same reduction by asking every pair, without the kernel.
    kept = list(reduce_filters(predicate))
    for wide in sorted(kept, key=size):
        if wide in kept:
            kept = [narrow for narrow in kept if narrow is wide or not covers(wide, narrow)]
    assert list(reduce(predicate).filters) == kept


def reduce_filters(predicate):
    """Yield each filter reduced by itself."""
    return dict.fromkeys(filter for alone in predicate for filter in reduce(Predicate([alone])))


@both_rules
@given(parts=st.lists(predicates(), max_size=4))
def test_combining_never_costs(rules, parts):
    assert 0 <= disjunction_advantage(parts, rules) <= 1


@given(parts=st.lists(predicates(), max_size=4))
def test_the_full_rules_prove_at_least_what_the_pairwise_rules_prove(parts):
    assert disjunction_advantage(parts) <= disjunction_advantage(parts, "pairwise")


@given(st.integers(0, 2**64 - 1), st.lists(st.tuples(st.integers(0, 2**64 - 1), st.booleans()), max_size=50))
def test_the_kernel_finds_the_supersets_that_its_definition_names(wide, rows):
    from array import array

    masks = array("Q", [mask for mask, _ in rows])
    alive = bytearray(is_alive for _, is_alive in rows)
    out = array("I", [0] * len(rows))
    expected = plain_supersets(wide, masks, alive)
    assert list(out[: subsets.supersets(wide, masks, alive, out)]) == expected
