"""Tables against the reference on nested messages, several values, nulls, sets and conditions."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.nested_strategies import nested_messages, nested_predicates

from cbnet import Table
from cbnet.language import Message
from cbnet.matching import reference
from cbnet.matching.engines.registry import ENGINES

tables = st.dictionaries(st.integers(0, 9), nested_predicates(), max_size=6)
every_engine = pytest.mark.parametrize("engine", ENGINES)


@every_engine
@settings(max_examples=100)
@given(rules=tables, messages=st.lists(nested_messages, min_size=1, max_size=4), reduce=st.booleans())
def test_every_path_agrees_with_the_reference(engine, rules, messages, reduce):
    table = Table.build(rules, engine=engine, reduce=reduce)
    expected = [reference.match(rules, Message.of(message)) for message in messages]
    assert [table.match(message) for message in messages] == expected
    assert [table.match(Message.of(message)) for message in messages] == expected
    assert table.match_many(messages) == expected


@every_engine
@settings(max_examples=100)
@given(rules=tables)
def test_filters_are_read_back(engine, rules):
    table = Table.build(rules, engine=engine)
    compiled = Table(table._compiled)
    assert {key: set(compiled[key].filters) for key in compiled} == {
        key: {normal(filter) for filter in predicate.filters} for key, predicate in rules.items()
    }


def normal(filter):
    """Return a filter as a table stores it: `x != true` is `x = false`."""
    from cbnet.matching.storage.filter_encoding import decode_filter, encode_filter

    return decode_filter(encode_filter(filter))
