"""Messages matched in the bytes of their frames: the same slots as those of a live table and of brute force."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.live_tables import merging_often
from support.rich_language import flat_messages, rich_filters, rich_messages_near, unconditional_filters
from support.strategies import filters, messages_near, predicates

from cbnet import Predicate, Table, parse, parse_filter
from cbnet._kernels.frame_matching import LiveMatcher
from cbnet.matching import LiveTable, reference

SLOTS = st.sampled_from([3, 5, 900, 70_000])


@pytest.fixture(scope="module")
def _merge_often():
    with merging_often(5):
        yield


def encoded(message):
    """Return the bytes of a message in a frame."""
    return msgspec.msgpack.encode([dict(message.attributes), sorted(message.tags), b"payload"])[1:]


def changes(filters):
    return st.lists(st.tuples(st.sampled_from(["add", "add", "remove known"]), SLOTS, filters), max_size=25)


def apply(table, model, change, choose):
    kind, slot, filter = change
    present = model.setdefault(slot, set())
    if kind == "add":
        table.add(slot, filter)
        present.add(filter)
    elif present:
        filter = choose(sorted(present))
        assert table.remove(slot, filter)
        present.discard(filter)


def run(start, steps, data, messages):
    """Apply changes, and match a message after each one."""
    table = LiveTable(Table.build(start))
    matcher = LiveMatcher(table)
    model = {slot: set(predicate.filters) for slot, predicate in start.items()}
    for step in steps:
        apply(table, model, step, lambda present: data.draw(st.sampled_from(present)))
        message = data.draw(messages(*(filter for present in model.values() for filter in present)))
        expected = reference.match({slot: Predicate(present) for slot, present in model.items()}, message)
        found = matcher.match_frame(encoded(message))
        assert table.match(message) == found or found is None
        assert sorted(table.match(message)) == sorted(expected)
        yield found
    table.wait()


@pytest.mark.usefixtures("_merge_often")
@given(st.dictionaries(SLOTS, predicates(), max_size=3), changes(filters(max_size=2)), st.data())
def test_changes_and_merges_are_seen(start, steps, data):
    assert None not in run(start, steps, data, messages_near)


@given(st.dictionaries(SLOTS, predicates(), max_size=3), changes(filters(max_size=4)), st.data())
def test_changes_that_are_not_compiled_are_seen(start, steps, data):
    assert None not in run(start, steps, data, messages_near)


@given(changes(unconditional_filters), st.data())
def test_sets_of_values_and_nulls_are_matched(steps, data):
    assert None not in run({}, steps, data, lambda *_: flat_messages)


@settings(max_examples=25)
@pytest.mark.usefixtures("_merge_often")
@given(changes(rich_filters), st.data())
def test_conditions_are_matched_where_they_are_compiled(steps, data):
    for found in run({}, steps, data, lambda *near: rich_messages_near(*near) | flat_messages):
        assert found is None or isinstance(found, list)


def test_compiled_conditions_are_matched():
    matcher = LiveMatcher(LiveTable(Table.build({4: parse("a < b"), 6: parse("absent c")})))
    assert matcher.match_frame(msgspec.msgpack.encode([{"a": 1, "b": 2, "c": None}, [], b""])[1:]) == [4]


def test_conditions_that_are_not_compiled_are_left_to_python():
    table = LiveTable()
    table.add(0, parse_filter("a < b"))
    matcher = LiveMatcher(table)
    assert matcher.match_frame(msgspec.msgpack.encode([{"a": 1, "b": 2}, [], b""])[1:]) is None
    assert matcher.matches == 0
    assert table.remove(0, parse_filter("a < b"))
    assert matcher.match_frame(msgspec.msgpack.encode([{"a": 1, "b": 2}, [], b""])[1:]) == []
    assert matcher.matches == 1


@pytest.mark.parametrize("tags", [[], ["n1"], [f"t{i}" for i in range(300)]])
@pytest.mark.parametrize("count", [1, 16, 17, 256])
def test_wide_messages_are_matched(count, tags):
    table = LiveTable()
    for slot in range(300):
        table.add(slot, parse_filter(f"n{slot} = {slot} and n0 = 0"))
        table.add(slot + 300, parse_filter(f"n0 >= 0 and #t{slot}"))
    table.add(600, parse_filter("#n1"))
    message = {f"n{i}": i for i in range(count)}
    expected = [*range(count), *(300 + i for i in range(300) if f"t{i}" in tags), *([600] if "n1" in tags else [])]
    assert sorted(table.match({**message, "#": [*tags, *tags]})) == expected
    assert sorted(LiveMatcher(table).match_frame(msgspec.msgpack.encode([message, tags, b""])[1:])) == expected


def test_slots_come_in_the_order_of_targets():
    table = LiveTable()
    for slot in (9, 2, 5):
        table.add(slot, parse_filter("x = 1"))
    assert LiveMatcher(table).match_frame(msgspec.msgpack.encode([{"x": 1}, [], b""])[1:]) == [9, 2, 5]


def test_one_match_in_64_is_timed_and_counted_by_its_duration():
    table = LiveTable()
    table.add(0, parse_filter("x = 1"))
    matcher = LiveMatcher(table, (10**9,))
    for _ in range(130):
        assert matcher.match_frame(msgspec.msgpack.encode([{"x": 1}, [], b""])[1:]) == [0]
    assert (matcher.matches, matcher.timed, matcher.within) == (130, 2, [2, 0])
    assert 0 < matcher.ns < 2 * 10**9
