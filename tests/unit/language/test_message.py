from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import pytest

from cbnet import Message, parse
from cbnet.errors import ValueDomainError
from cbnet.language.message import MAX_DEPTH


def leaves(members):
    return {name: [leaf.value for leaf in found] for name, found in Message(members).leaves.items()}


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({"detail": {"state": "on"}}, {"detail.state": ["on"]}),
        ({"a": {"b": {"c": 1}, "d": None}}, {"a.b.c": [1], "a.d": [None]}),
        ({"x": [1, "a", True, None]}, {"x": [1, "a", True, None]}),
        ({"x": [], "y": {}, "z": [[], {}]}, {}),
        ({"a.b": 1}, {"a.b": [1]}),
        ({"a.b": 1, "a": {"b": 2}}, {"a.b": [1, 2]}),
        ({"a": 5, "a.b": 6, "a.c": 7}, {"a": [5], "a.b": [6], "a.c": [7]}),
        ({"x": [[1, 2], [3]]}, {"x": [1, 2, 3]}),
        ({"x": [{"a": 1}, {"a": 2, "b": 3}]}, {"x.a": [1, 2], "x.b": [3]}),
    ],
)
def test_attributes_are_named_by_their_path(members, expected):
    assert leaves(members) == expected


def matches(text, members):
    return parse(text).matches(members)


def test_constraints_on_one_attribute_hold_of_one_value():
    assert matches("x != 3", {"x": [3, 4]})
    assert not matches("x > 1 and x < 5", {"x": [0, 9]})
    assert matches("x > 1 and x < 5", {"x": [0, 4, 9]})


def test_empty_array_counts_as_absent():
    assert not matches("exists x", {"x": []})
    assert matches("absent x", {"x": []})


def test_null_is_a_value():
    assert matches("x = null and exists x", {"x": None})
    assert not matches("x != null", {"x": None})
    assert matches("x != null", {"x": 0})
    assert not matches("x != null", {})
    assert not matches("x = null", {})


def test_fields_of_array_elements_are_consistent():
    order = {"items": [{"sku": "a", "count": 1}, {"sku": "b", "count": 9}]}
    assert matches('items.sku = "b" and items.count > 5', order)
    assert not matches('items.sku = "a" and items.count > 5', order)


def test_nested_arrays_are_consistent_at_each_level():
    message = {"a": [{"k": 1, "b": [{"x": 1, "y": 1}, {"x": 2, "y": 2}]}, {"k": 2, "b": [{"x": 3, "y": 3}]}]}
    assert matches("a.k = 1 and a.b.x = 2 and a.b.y = 2", message)
    assert not matches("a.k = 1 and a.b.x = 1 and a.b.y = 2", message)
    assert not matches("a.k = 2 and a.b.x = 1", message)


def test_two_arrays_are_independent():
    message = {"a": [{"x": 1}, {"x": 2}], "b": [{"y": 1}, {"y": 2}]}
    assert matches("a.x = 1 and b.y = 2", message)


def test_object_beside_an_array_is_one_more_element():
    message = {"a": [{"x": 1}], "a.y": 2, "a.z": 3}
    assert matches("a.y = 2 and a.z = 3", message)
    assert not matches("a.x = 1 and a.y = 2", message)


def test_equal_attributes_make_equal_messages():
    assert Message({"a.b": 1}) == Message({"a": {"b": 1.0}}) == Message({"a": {"b": [1]}})
    assert Message({"a": [{"x": 1}, {"y": 2}]}) != Message({"a": {"x": 1, "y": 2}})
    assert Message({"a": None}) != Message({})


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (datetime(2026, 11, 15, 22, 44, 32, 5), "2026-11-15T22:44:32.000005000Z"),
        (datetime(2026, 11, 15, 22, tzinfo=UTC), "2026-11-15T22:00:00.000000000Z"),
        (datetime(2026, 1, 1, 1, tzinfo=timezone(timedelta(hours=2))), "2025-12-31T23:00:00.000000000Z"),
        (date(987, 1, 2), "0987-01-02T00:00:00.000000000Z"),
    ],
)
def test_times_are_strings_in_utc(value, text):
    assert Message({"t": value}).values("t") == (text,)


def test_time_without_a_place_in_utc_is_refused():
    with pytest.raises(ValueDomainError, match="out of range"):
        Message({"t": datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=5)))})


def test_decimals_are_numbers():
    assert Message({"x": [Decimal("12.00"), Decimal("0.1"), Decimal(2**63 - 1)]}).values("x") == (12, 0.1, 2**63 - 1)
    assert Message({"x": [Decimal(f"{2**63}.0"), Decimal("1E+30")]}).values("x") == (2.0**63, 1e30)


def test_a_decimal_without_a_fraction_is_an_int_of_64_bits():
    with pytest.raises(ValueDomainError, match="the integer does not fit in 64 bits"):
        Message({"x": Decimal(2**63)})
    with pytest.raises(ValueDomainError):
        Message({"x": Decimal("NaN")})


def test_nesting_is_limited():
    def nested(depth):
        return {"a": nested(depth - 1)} if depth > 1 else {"a": 1}

    Message(nested(MAX_DEPTH))
    with pytest.raises(ValueDomainError, match="nested deeper than 64 levels"):
        Message(nested(MAX_DEPTH + 1))


def test_wrong_value_is_named_by_its_path():
    with pytest.raises(ValueDomainError, match=r"^a\.b: NaN is not a value"):
        Message({"a": {"b": [1, float("nan")]}})


def test_long_paths_beside_arrays_are_read():
    name = "a." * 5_000 + "b"
    assert Message({name: 1, "x": [1, 2]}).values(name) == (1,)


def test_three_constraints_below_a_long_array_find_their_element():
    order = {"items": [{"price": i, "count": i, "sku": i} for i in range(2_000)]}
    assert matches("items.count >= 0 and items.price >= 0 and items.sku = 1999", order)


@pytest.mark.parametrize("members", [None, [], "a", 5])
def test_a_message_of_anything_but_a_mapping_is_an_error(members):
    with pytest.raises(ValueDomainError, match="must be a mapping"):
        Message.from_dict(members)
