"""Tables over nested messages, several values, nulls and conditions: facts computed by hand."""

from collections import OrderedDict
from datetime import UTC, datetime
from decimal import Decimal
from types import MappingProxyType

import pytest

from cbnet import Table
from cbnet.errors import InputError, UndecidedError
from cbnet.language import Message
from cbnet.matching import LiveTable
from cbnet.matching.engines.registry import ENGINES

every_engine = pytest.mark.parametrize("engine", ENGINES)


def matched(text, message, engine="pivot"):
    """Return whether a message matches a predicate, the same by every path."""
    table = Table.build({1: text}, engine=engine)
    answers = {tuple(table.match(message)), *map(tuple, table.match_many([message, {}])[:1])}
    if engine == "pivot":
        live = LiveTable()
        live.replace(1, text)
        answers.add(tuple(live.match(message)))
    assert len(answers) == 1
    return answers == {(1,)}


@every_engine
def test_a_nested_member_is_an_attribute(engine):
    assert matched('detail.state = "on"', {"detail": {"state": "on"}}, engine)
    assert matched('detail.state = "on"', {"detail.state": "on"}, engine)
    assert not matched('state = "on"', {"detail": {"state": "on"}}, engine)
    assert matched("a.b.c = 1", {"a": {"b": {"c": 1}}}, engine)
    assert matched("a.b.c = 1", {"a.b": {"c": 1}}, engine)
    assert not matched("exists a", {"a": {"b": 1}}, engine)


@every_engine
def test_one_value_must_pass_all_constraints_on_an_attribute(engine):
    assert matched("x > 1 and x < 5", {"x": [9, 3]}, engine)
    assert not matched("x > 1 and x < 5", {"x": [0, 9]}, engine)
    assert matched("x != 3", {"x": [3, 4]}, engine)
    assert not matched("x != 3", {"x": [3, 3]}, engine)
    assert matched("a.b = 1 and a.b = 2 or a.b = 3", {"a": {"b": [1, 2]}, "a.b": 3}, engine)
    assert not matched("exists x", {"x": []}, engine)
    assert not matched("exists x", {"x": {}}, engine)


@every_engine
def test_fields_of_objects_in_an_array_hold_within_one_element(engine):
    items = {"items": [{"sku": "a", "n": 1}, {"sku": "b", "n": 2}], "n": 2}
    assert matched('items.sku = "b" and items.n = 2', items, engine)
    assert not matched('items.sku = "a" and items.n = 2', items, engine)
    assert matched('items.sku = "a" and n = 2', items, engine)
    assert not matched("items.sku < items.n", items, engine)
    nested = {"a": [{"b": [{"c": 1, "d": 2}, {"c": 3}]}, {"b": [{"d": 4}], "e": 5}]}
    assert matched("a.b.c = 1 and a.b.d = 2", nested, engine)
    assert not matched("a.b.c = 3 and a.b.d = 2", nested, engine)
    assert matched("a.b.d = 4 and a.e = 5", nested, engine)
    assert not matched("a.b.d = 2 and a.e = 5", nested, engine)


@every_engine
def test_an_array_inside_an_array_is_an_element(engine):
    assert matched("x = 1 and y = 2", {"x": [[1, 3], [2]], "y": 2}, engine)
    grid = {"g": [[{"x": 1, "y": 2}], [{"x": 3}, {"y": 4}]]}
    assert matched("g.x = 1 and g.y = 2", grid, engine)
    assert not matched("g.x = 3 and g.y = 4", grid, engine)


@every_engine
def test_an_object_beside_an_array_is_one_more_element(engine):
    message = {"l": [{"a": 1, "b": 1}], "l.a": 2, "l.b": 3}
    assert matched("l.a = 2 and l.b = 3", message, engine)
    assert not matched("l.a = 1 and l.b = 3", message, engine)


@every_engine
def test_null_is_a_value_of_its_own_type(engine):
    assert matched("x = null", {"x": None}, engine)
    assert matched("exists x", {"x": None}, engine)
    assert not matched("x = null", {}, engine)
    assert not matched("x != null", {"x": None}, engine)
    assert matched("x != null", {"x": 0}, engine)
    assert matched("x != null", {"x": [None, "a"]}, engine)
    assert not matched('x != "a"', {"x": None}, engine)


@every_engine
def test_a_set_of_values_holds_the_types_apart(engine):
    assert matched('x in (1, "a", null)', {"x": 1.0}, engine)
    assert matched('x in (1, "a", null)', {"x": None}, engine)
    assert not matched('x in (1, "a", null)', {"x": True}, engine)
    assert not matched('x in (1, "a", null)', {"x": "b"}, engine)
    assert matched("x in (1, 2) and y in (1, 2)", {"x": [0, 2], "y": 1}, engine)


@every_engine
def test_two_long_lists_are_one_filter(engine):
    numbers = ", ".join(map(str, range(1000)))
    table = Table.build({1: f"x in ({numbers}) and y in ({numbers})"}, engine=engine)
    assert len(table[1].filters) == 1
    assert table.match({"x": 999, "y": 0}) == [1]
    assert table.match({"x": 999, "y": 1000}) == []


@every_engine
def test_conditions_are_checked_for_candidates(engine):
    assert matched("price * quantity > 100", {"price": 26, "quantity": 4}, engine)
    assert not matched("price * quantity > 100", {"price": 25, "quantity": 4}, engine)
    assert not matched("price * quantity > 100", {"price": 25}, engine)
    assert matched("absent x", {"y": 1}, engine)
    assert not matched("absent x", {"x": None}, engine)
    assert matched('not (x ^= "a")', {"x": "b"}, engine)
    assert not matched('not (x ^= "a")', {}, engine)
    assert matched('(x ^= "a") is not true', {}, engine)
    assert matched("not #t and y = 1", {"y": 1}, engine)
    assert not matched("not #t and y = 1", {"y": 1, "#": ["t"]}, engine)
    assert matched("a < b", {"a": [5, 1], "b": 2}, engine)


@every_engine
def test_dates_and_decimals_are_normalised(engine):
    noon = datetime(2026, 11, 15, 12, tzinfo=UTC)
    assert matched('t >= "2026-11-15T12:00:00.000000000Z"', {"t": noon}, engine)
    assert matched("x = 5", {"x": Decimal("5.0"), "y": b"unused"}, engine)
    assert matched("a.x = 5", {"a": [{"x": Decimal(5)}, {"y": b"unused"}]}, engine)


@every_engine
def test_other_mappings_and_sequences_are_read(engine):
    assert matched("a.b = 1", OrderedDict(a=MappingProxyType({"b": 1})), engine)
    assert matched("a = 2", {"a": (1, 2)}, engine)
    assert matched("a.b = 1", Message({"a": {"b": 1}}), engine)


UNUSED = [float("nan"), 2**70, b"bytes", 1j, "\ud800", {1: 2}, {"a": float("inf")}, [[b"x"]], {1, 2}]


@every_engine
@pytest.mark.parametrize("value", UNUSED, ids=repr)
def test_an_unused_field_never_rejects_a_message(engine, value):
    for message in ({"x": 1, "y": value}, {"x": 1, "o": {"y": value}}, {"x": 1, "o": [{"y": value}]}):
        assert matched("x = 1 or o.x = 2", message, engine)


@every_engine
@pytest.mark.parametrize("value", [value for value in UNUSED if not isinstance(value, dict)], ids=repr)
def test_a_used_field_that_is_not_a_value_rejects_the_message(engine, value):
    table = Table.build({1: "y = 1 or o.y = 2"}, engine=engine)
    for message in ({"y": value}, {"y": [1, value]}, {"o": {"y": value}}, {"o": [{"y": 1}, {"y": value}]}):
        with pytest.raises(InputError):
            table.match(message)
        with pytest.raises(InputError, match="message 2: "):
            table.match_many([{}, message])


def test_a_key_that_is_not_a_string_rejects_at_a_used_place_only():
    table = Table.build({1: "a.b = 1"})
    with pytest.raises(InputError, match="must be a string"):
        table.match({"a": {1: 2}})
    assert table.match({"c": {1: 2}, "a": {"b": 1}}) == [1]


def nest(levels):
    """Return a used value inside so many arrays."""
    value = 1
    for _ in range(levels):
        value = [value]
    return {"x": value}


@every_engine
def test_messages_nest_up_to_64_levels(engine):
    assert matched("x = 1", nest(63), engine)  # and the message itself
    with pytest.raises(InputError, match="nested deeper than 64 levels"):
        matched("x = 1", nest(64), engine)
    assert matched("exists y", {**nest(64), "y": 1}, engine)


@every_engine
def test_the_search_for_a_binding_is_bounded(engine):
    # Values are examined in the order of the names: 401 for each a and all its b. 249 · 401 is below 100,000.
    message = {"a": list(range(400)), "b": list(range(400))}
    assert matched("a * 1000 + b = 248399", message, engine)
    with pytest.raises(UndecidedError):
        matched("a * 1000 + b = 249399", message, engine)


@every_engine
def test_a_table_file_carries_sets_and_conditions(engine, tmp_path):
    text = 'x in (1, "a") and y != null or a < b and #t or absent z'
    Table.build({"r": text}, engine=engine).save(tmp_path / "t.cbt")
    table = Table.open(tmp_path / "t.cbt", verify=True)
    assert set(table["r"].filters) == set(Table.build({"r": text})["r"].filters)
    assert table.match({"x": "a", "y": 1, "z": 1}) == ["r"]
    assert table.match({"x": "a", "y": None, "z": 1}) == []
    assert table.match({"a": 1, "b": 2, "#": ["t"], "z": 1}) == ["r"]


@every_engine
def test_three_constraints_below_a_long_array_find_their_element(engine):
    order = {"items": [{"price": i, "count": i, "sku": i} for i in range(2_000)]}
    assert matched("items.count >= 0 and items.price >= 0 and items.sku = 1999", order, engine)
