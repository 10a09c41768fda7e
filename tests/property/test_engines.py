"""Every engine and every path against the reference, on random tables and messages."""

from io import BytesIO

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.forced_blocks import forced_blocks
from support.rich_language import rich_messages_near, rich_tables
from support.strategies import any_predicates, filters, messages_near, predicates

from cbnet import Table, covers
from cbnet.language import message_to_json
from cbnet.matching import reference
from cbnet.matching.engines.registry import ENGINES
from cbnet.matching.files.message_files import read_encoded
from cbnet.matching.storage.columns import columns_of
from cbnet.matching.storage.filter_encoding import decode_filter, encode_filter
from cbnet.matching.storage.reduction import find_coverers

interfaces = st.integers(-(2**63), 2**63 - 1) | st.text(st.characters(exclude_categories=["Cs"]), max_size=3)
tables = st.dictionaries(interfaces, predicates(), max_size=8)
every_engine = pytest.mark.parametrize("engine", ENGINES)


def draw_messages(data, table, count=3):
    constants = [filter for predicate in table.values() for filter in predicate.filters]
    return [data.draw(messages_near(*constants)) for _ in range(count)]


def as_batch(messages):
    """Return messages as a record batch, with a column for each name and type."""
    names = dict.fromkeys((name, type(value)) for message in messages for name, value in message.attributes.items())
    types = {int: pa.int64(), float: pa.float64(), str: pa.string(), bool: pa.bool_()}
    columns = []
    for name, kind in names:
        values = [message.attributes.get(name) for message in messages]
        columns.append(pa.array([value if type(value) is kind else None for value in values], types[kind]))
    columns.append(pa.array([sorted(message.tags) for message in messages], pa.list_(pa.string())))
    return pa.RecordBatch.from_arrays(columns, [*(name for name, _ in names), "#"])


@every_engine
@given(rules=tables, reduce=st.booleans(), data=st.data())
def test_every_path_agrees_with_the_reference(engine, rules, reduce, data):
    messages = draw_messages(data, rules)
    table = Table.build(rules, engine=engine, reduce=reduce)
    expected = [reference.match(rules, message) for message in messages]
    assert [table.match(message) for message in messages] == expected
    assert [table.match(message.to_dict()) for message in messages] == expected
    assert table.match_many(messages) == expected
    assert table.match_many(messages * 4, threads=3) == expected * 4
    label = str if any(isinstance(key, str) for key in rules) else int
    assert table.match_frame(as_batch(messages)).to_pylist() == [[*map(label, row)] for row in expected]


@every_engine
@given(rules=st.dictionaries(interfaces, any_predicates, max_size=3), data=st.data())
def test_tables_over_any_names_and_values_agree_with_the_reference(engine, rules, data):
    messages = draw_messages(data, rules)
    table = Table.build(rules, engine=engine)
    assert table.match_many(messages) == [reference.match(rules, message) for message in messages]


@every_engine
@given(rules=rich_tables, reduce=st.booleans(), data=st.data())
def test_every_path_agrees_on_nested_messages_and_conditions(engine, rules, reduce, data):
    filters = [filter for predicate in rules.values() for filter in predicate.filters]
    messages = data.draw(st.lists(rich_messages_near(*filters), min_size=1, max_size=4))
    table = Table.build(rules, engine=engine, reduce=reduce, sample=messages[:1])
    expected = [reference.match(rules, message) for message in messages]
    assert [table.match(message) for message in messages] == expected
    assert [table.match(message.to_dict()) for message in messages] == expected
    assert table.match_many(messages) == expected
    assert match_lines(table, [message_to_json(message).encode() for message in messages]) == expected


@given(rules=rich_tables, filters=st.integers(1, 5), data=st.data())
def test_blocks_agree_with_the_reference_on_nested_messages_and_conditions(rules, filters, data):
    parts = [filter for predicate in rules.values() for filter in predicate.filters]
    messages = data.draw(st.lists(rich_messages_near(*parts), min_size=1, max_size=4))
    with forced_blocks(filters):
        table = Table.build(rules)
    expected = [reference.match(rules, message) for message in messages]
    assert [table.match(message) for message in messages] == expected
    assert table.match_many(messages) == expected
    assert [reference.match({key: table[key] for key in table}, message) for message in messages] == expected


def match_lines(table, lines):
    found = []
    for encoded in read_encoded(BytesIO(b"\n".join(lines)).read, table._compiled.symbols):
        offsets, targets, _ = table._compiled.match_batch(encoded.batch)
        labels = [table._compiled.labels[target] for target in targets.tolist()]
        found += [labels[offsets[row] : offsets[row + 1]] for row in encoded.outcomes]
    return found


@every_engine
@given(rules=rich_tables)
def test_conditions_and_sets_are_read_back(engine, rules):
    compiled = Table(Table.build(rules, engine=engine)._compiled)
    assert {key: set(compiled[key].filters) for key in compiled} == {
        key: {decode_filter(encode_filter(filter)) for filter in predicate.filters} for key, predicate in rules.items()
    }


def filters_by_interface(columns):
    found = {}
    for place in range(len(columns)):
        found.setdefault(columns.interfaces[int(columns.targets[place])], set()).add(columns.filter(place))
    return found


@given(tables, st.booleans())
def test_the_filters_can_be_read_back_from_a_compiled_table(rules, reduce):
    expected = filters_by_interface(columns_of(rules))
    assert filters_by_interface(Table.build(rules, reduce=reduce)._compiled.columns) == expected


@given(st.dictionaries(st.integers(0, 2), predicates(), max_size=3))
def test_a_filter_is_dropped_only_if_a_kept_filter_of_its_interface_covers_it(rules):
    columns = columns_of(rules)
    coverer = find_coverers(columns).tolist()
    for place, other in enumerate(coverer):
        if other >= 0:
            assert columns.targets[place] == columns.targets[other]
            assert coverer[other] < 0
            assert covers(columns.filter(other), columns.filter(place))


@given(st.lists(filters(max_size=3), min_size=1, max_size=6), st.data())
def test_every_filter_is_found_and_no_other(all_filters, data):
    from cbnet._kernels.pivot_table import Remainder
    from cbnet.language import Predicate

    table = {place: Predicate([filter]) for place, filter in enumerate(all_filters)}
    compiled = Remainder(Table.build(table, reduce=False)._compiled.index)
    for place, filter in enumerate(all_filters):
        assert compiled.find(encode_filter(filter), place) >= 0
        other = data.draw(st.integers(0, len(all_filters) - 1))
        same = columns_of({0: table[other]}).filter(0) == columns_of({0: table[place]}).filter(0)
        assert (compiled.find(encode_filter(filter), other) >= 0) == same
