"""Blocks of filters with ranges: which tables have them, and that single filters are found, removed and read back."""

import random

import pytest
from support.forced_blocks import forced_blocks

from cbnet import Message, Table, parse
from cbnet.matching import reference
from cbnet.matching.level import Level
from cbnet.matching.live_table import LiveTable
from cbnet.matching.storage.filter_encoding import encode_filter

NAMES = "abcdefgh"


def ranges(source, count=4):
    """Return a filter of wide ranges of different attributes."""
    parts = []
    for name in source.sample(NAMES, count):
        low = source.randrange(70)
        parts.append(f"{name} >= {low} and {name} <= {low + source.randint(5, 30)}")
    return " and ".join(parts)


def blocked(table):
    """Return how many filters of a table are in blocks."""
    return len(table._compiled.arrays["blocked_entries"]) - 1


@pytest.fixture
def dense():
    source = random.Random(1)
    rules = {number: parse(ranges(source)) for number in range(3000)}
    messages = [{name: source.randrange(100) for name in NAMES} for _ in range(250)]
    return rules, messages


def test_wide_ranges_of_common_attributes_are_in_blocks_and_selective_values_are_not(dense):
    rules, _ = dense
    assert blocked(Table.build(rules)) > 0.9 * len(rules)
    selective = {key: parse(f"id = {key} and a >= 3 and a <= 80") for key in range(3000)}
    assert blocked(Table.build(selective)) == 0


def test_groups_of_messages_and_single_ones_match_what_the_reference_matches(dense):
    rules, messages = dense
    table = Table.build(rules, sample=messages[:20])
    assert blocked(table) > 0.9 * len(rules)
    expected = [reference.match(rules, Message.of(message)) for message in messages[:60]]
    assert sum(map(len, expected)) > 10
    assert table.match_many(messages)[:60] == expected
    assert [table.match(message) for message in messages[:60]] == expected


def test_a_filter_in_a_block_is_found_by_its_constraints_and_no_other_is():
    source = random.Random(2)
    rules = {number: parse(ranges(source, 3)) for number in range(200)}
    with forced_blocks(7):
        level = Level(Table.build(rules)._compiled)
    present = {predicate.filters[0] for predicate in rules.values()}
    for target, predicate in rules.items():
        (filter,) = predicate.filters
        assert level.contains((target, encode_filter(filter)))
        assert not level.contains(((target + 1) % 200, encode_filter(filter)))
    for _ in range(200):
        (other,) = parse(ranges(source, 3)).filters
        assert other in present or not level.contains((0, encode_filter(other)))


def test_rules_share_an_equal_filter_in_a_block_until_one_of_them_loses_it():
    shared = "a > 1 and a < 9 and b > 2"
    with forced_blocks():
        table = LiveTable(Table.build({"one": shared, "two": shared, "other": "a > 3 and b < 5"}))
    assert table.match({"a": 4, "b": 3}) == ["one", "two", "other"]
    assert table.remove("one", parse(shared).filters[0])
    assert table.match({"a": 4, "b": 3}) == ["two", "other"]
    assert table.filters("two") == {parse(shared).filters[0]}


def test_filters_in_blocks_are_read_back_from_a_file(tmp_path, dense):
    rules, _ = dense
    Table.build(rules).save(tmp_path / "table.cbt")
    opened = Table.open(tmp_path / "table.cbt", verify=True)
    assert blocked(opened) > 0.9 * len(rules)
    assert all(set(opened[key].filters) == set(predicate.filters) for key, predicate in rules.items())


def test_several_values_of_an_attribute_pass_a_range_only_with_one_of_them():
    with forced_blocks():
        table = Table.build({"between": "a > 10 and a < 20 and b >= 0", "text": 'a >= "m" and a <= "p" and b >= 0'})
    assert table.match({"a": [5, 25], "b": 1}) == []
    assert table.match({"a": [5, 15, 25], "b": [-1, 1]}) == ["between"]
    assert table.match({"a": [15, "n"], "b": 0}) == ["between", "text"]
    assert table.match_many([{"a": ["l", "q"], "b": 0}, {"a": "o", "b": 0}]) == [[], ["text"]]
