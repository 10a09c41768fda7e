"""Laws of filters in bytes."""

from hypothesis import given
from support.strategies import any_predicates, filters

from cbnet.language.syntax.byte_form import canonical_filter, filter_from_bytes, filter_to_bytes


@given(any_predicates)
def test_a_filter_comes_back_from_its_bytes(predicate):
    for filter in predicate.filters:
        written = filter_to_bytes(filter)
        assert filter_from_bytes(written) == canonical_filter(filter)
        assert filter_to_bytes(filter_from_bytes(written)) == written


@given(filters(), filters())
def test_filters_are_equal_exactly_if_their_bytes_are(one, other):
    assert (canonical_filter(one) == canonical_filter(other)) == (filter_to_bytes(one) == filter_to_bytes(other))
