"""Quantifiers, counts and positions: every path against an evaluation of the plain JSON message."""

import json
import tempfile
from io import BytesIO
from pathlib import Path

import msgspec
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.live_tables import merging_often

from cbnet import Table, parse
from cbnet._kernels.frame_matching import LiveMatcher
from cbnet.matching import LiveTable
from cbnet.matching.files.message_files import read_encoded
from cbnet.network.link.settings import Settings
from cbnet.network.simulation.memory_client import MemoryClient
from cbnet.network.simulation.memory_network import MemoryNetwork

NUMBERS = st.integers(0, 3)
TESTS = {
    "=": lambda value, constant: value == constant,
    ">": lambda value, constant: value > constant,
    "!=": lambda value, constant: value != constant,
}


# --- the oracle: items of plain JSON, and tests of them as functions


def items_of(value):
    """Return the items of an array; a single value is an array of one, an object is none."""
    if isinstance(value, list):
        return value
    return [] if value is None or isinstance(value, dict) else [value]


def numbers_of(value):
    """Return the numbers in a value that is no object: in an array of any depth."""
    return [number for item in value for number in numbers_of(item)] if isinstance(value, list) else [value]


def item_test(name, op, constant):
    """Return the text of a test of an item, and its meaning: some value of the item satisfies it."""

    def holds(item):
        if isinstance(item, dict):
            found = numbers_of(item[name]) if name in item else []
        else:
            found = numbers_of(item) if name == "@" else []
        return any(isinstance(value, int) and TESTS[op](value, constant) for value in found)

    return f"{name} {op} {constant}", holds


def item_tests():
    single = st.builds(item_test, st.sampled_from(["@", "n", "m"]), st.sampled_from([*TESTS]), NUMBERS)
    absent = st.just(("absent n", lambda item: not isinstance(item, dict) or not numbers_of(item.get("n", []))))
    either = st.builds(
        lambda one, other: (f"{one[0]} or {other[0]}", lambda item: one[1](item) or other[1](item)), single, single
    )
    return single | single | absent | either


def quantifier(kind, name, test, least):
    """Return the text of a quantifier, and its meaning for a message."""
    text, holds = test
    texts = {
        "all": f"all {name} ({text})",
        "not all": f"not all {name} ({text})",
        "none": f"none {name} ({text})",
        "count": f"count({name} ({text})) >= {least}",
        "length": f"count({name}) = {least}",
        "share": f"count({name} ({text})) * 2 >= count({name})",
    }

    def matches(message):
        items = items_of(message.get(name))
        count = sum(map(holds, items))
        return (
            bool(items)
            and {
                "all": count == len(items),
                "not all": count < len(items),
                "none": count == 0,
                "count": count >= least,
                "length": len(items) == least,
                "share": count * 2 >= len(items),
            }[kind]
        )

    return texts[kind], matches


def position(name, index, member, constant):
    """Return the text of a test of the item at a position, and its meaning for a message."""

    def matches(message):
        items = items_of(message.get(name))
        if not -len(items) <= index < len(items):
            return False
        item = items[index]
        if member:
            found = numbers_of(item[member]) if isinstance(item, dict) and member in item else []
        else:
            found = [] if isinstance(item, dict) else numbers_of(item)
        return constant in found

    return f"{name}[{index}]{f'.{member}' if member else ''} = {constant}", matches


NAMES = st.sampled_from(["items", "p"])
ANY_RULE = st.builds(
    quantifier, st.sampled_from(["all", "not all", "none", "count", "length", "share"]), NAMES, item_tests(), NUMBERS
) | st.builds(position, NAMES, st.integers(-3, 2), st.sampled_from(["", "n"]), NUMBERS)


# --- messages


def one_kind(numbers):
    """Return arrays that a column may hold, and what may stand in their place; an empty member is absent."""
    objects = st.dictionaries(st.sampled_from(["n", "m", "other"]), numbers, max_size=3)
    return st.lists(objects, max_size=4), st.lists(numbers, max_size=4)


OBJECTS, PLAIN = one_kind(NUMBERS)
MIXED = st.lists(
    st.one_of(NUMBERS, st.dictionaries(st.sampled_from(["n", "m", "other"]), NUMBERS | st.lists(NUMBERS, max_size=2)),
        st.lists(NUMBERS, max_size=2)), max_size=4,
)  # fmt: skip
ANY_ARRAY = MIXED | NUMBERS | st.dictionaries(st.just("n"), NUMBERS)
MESSAGES = st.fixed_dictionaries({}, optional={"items": ANY_ARRAY, "p": ANY_ARRAY, "z": NUMBERS})
ROWS = st.fixed_dictionaries({}, optional={"items": OBJECTS, "p": PLAIN, "z": NUMBERS})
SCHEMA = pa.schema(
    [
        ("items", pa.list_(pa.struct([("n", pa.int64()), ("m", pa.int64()), ("other", pa.int64())]))),
        ("p", pa.list_(pa.int64())), ("z", pa.int64()),
    ]
)  # fmt: skip
RULES = st.lists(ANY_RULE, min_size=1, max_size=5)


def expected(rules, messages):
    return [[number for number, (_, matches) in enumerate(rules) if matches(message)] for message in messages]


def predicates(rules):
    return {number: parse(text) for number, (text, _) in enumerate(rules)}


@given(RULES, st.lists(MESSAGES, min_size=1, max_size=4))
def test_predicates_and_tables_agree_with_the_plain_message(rules, messages):
    wanted, table = expected(rules, messages), Table.build(predicates(rules))
    for message, answer in zip(messages, wanted, strict=True):
        assert [number for number, each in predicates(rules).items() if each.matches(message)] == answer
        assert table.match(message) == answer
    assert table.match_many(messages) == wanted


@given(RULES, st.lists(MESSAGES, min_size=1, max_size=4))
def test_lines_of_json_agree_with_the_plain_message(rules, messages):
    compiled, found = Table.build(predicates(rules))._compiled, []
    lines = b"\n".join(json.dumps(message).encode() for message in messages)
    for encoded in read_encoded(BytesIO(lines).read, compiled.symbols):
        offsets, targets, _ = compiled.match_batch(encoded.batch)
        found += [targets[offsets[row] : offsets[row + 1]].tolist() for row in encoded.outcomes]
    assert found == expected(rules, messages)


@given(RULES, st.lists(ROWS, min_size=1, max_size=4))
def test_columns_agree_with_the_plain_message(rules, rows):
    frame = pa.Table.from_pylist(rows, SCHEMA)
    assert Table.build(predicates(rules)).match_frame(frame).to_pylist() == expected(rules, rows)


@settings(max_examples=20)
@given(RULES, st.lists(MESSAGES, min_size=1, max_size=4))
def test_a_saved_table_agrees_with_the_plain_message(rules, messages):
    with tempfile.TemporaryDirectory() as folder:
        Table.build(predicates(rules)).save(Path(folder, "t.cbt"))
        opened = Table.open(Path(folder, "t.cbt"), verify=True)
        assert [opened.match(message) for message in messages] == expected(rules, messages)
        assert {number: opened[number] for number in opened} == predicates(rules)


@pytest.mark.parametrize("is_compiled", [False, True])
def test_a_live_table_and_frames_agree_with_the_plain_message(is_compiled):
    @settings(max_examples=40)
    @given(RULES, st.lists(MESSAGES, min_size=1, max_size=4))
    def check(rules, messages):
        table = LiveTable(Table.build(predicates(rules)) if is_compiled else None)
        if not is_compiled:
            for number, predicate in predicates(rules).items():
                for filter in predicate.filters:
                    table.add(number, filter)
        matcher = LiveMatcher(table)
        for message, answer in zip(messages, expected(rules, messages), strict=True):
            assert sorted(table.match(message)) == answer
            frame = msgspec.msgpack.encode([message, [], b""])[1:]
            found = matcher.match_frame(frame)
            assert found is None or sorted(found) == answer  # None: Python matches it, as above

    with merging_often(3):
        check()


@pytest.mark.parametrize("is_fast", [False, True])
@settings(max_examples=10)
@given(st.lists(ANY_RULE, min_size=8, max_size=8), st.lists(MESSAGES, min_size=20, max_size=20))
def test_two_routers_deliver_what_the_plain_messages_match(is_fast, rules, messages):
    memory = MemoryNetwork(1, is_fast=is_fast)
    for name in "ab":
        memory.add(Settings(name))
    memory.add_cable("a", "b")
    receiver, publisher = (MemoryClient(memory, f"client of {name}", name) for name in "ab")
    memory.run(3.0)
    for number, (text, _) in enumerate(rules):
        receiver.subscribe(number, text)
    memory.run(1.0)
    for number, message in enumerate(messages):
        publisher.publish(message, str(number).encode())
    memory.run(1.0)
    found = sorted((int(delivery.payload), delivery.subscription) for delivery in receiver.deliveries)
    assert found == [(number, rule) for number, answer in enumerate(expected(rules, messages)) for rule in answer]


@given(RULES)
def test_printed_text_parses_to_an_equal_predicate(rules):
    for predicate in predicates(rules).values():
        assert parse(str(predicate)) == predicate
        assert str(parse(str(predicate))) == str(predicate)
