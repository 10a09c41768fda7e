import enum

import numpy as np
import pytest

from cbnet import Constraint, Descriptor, Filter, Message, Predicate, Table, parse, parse_filter
from cbnet.errors import LimitError, ValueDomainError
from cbnet.language.values import type_name


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1, float("nan"), float("inf"), b"x", 1j, {1}, "\ud800"])
def test_invalid_values_are_refused(value):
    with pytest.raises(ValueDomainError):
        Message({"x": value})
    with pytest.raises(ValueDomainError):
        Constraint("x", "=", value)


@pytest.mark.parametrize("value", [2**63 - 1, -(2**63), 1.7976931348623157e308, 5e-324, "", "\0", "\U0010ffff", True])
def test_the_ends_of_the_domain_are_values(value):
    assert parse_filter(str(Constraint("x", "=", value))).matches(Message({"x": value}))


SCALARS = [
    np.int8(-1),
    np.int64(2**63 - 1),
    np.uint64(7),
    np.float32(0.5),
    np.float64(1.5),
    np.bool_(True),
    np.str_("a"),
]


@pytest.mark.parametrize("value", SCALARS, ids=lambda value: type(value).__name__)
def test_scalars_of_numpy_are_values(value):
    plain = value.item()
    assert Message({"x": value, "o": {"y": [value]}}) == Message({"x": plain, "o": {"y": [plain]}})
    assert Constraint("x", "=", value) == Constraint("x", "=", plain)
    assert Table.build({"a": parse_filter(str(Constraint("x", "=", plain)))}).match({"x": value}) == ["a"]


@pytest.mark.parametrize(
    "value", [np.uint64(2**63), np.float32("nan"), np.array([1]), np.datetime64("NaT"), np.complex64(1)]
)
def test_other_objects_of_numpy_are_refused(value):
    with pytest.raises(ValueDomainError):
        Message({"x": value})


@pytest.mark.parametrize("name", ["#", 5, None, "\ud800"])
def test_invalid_attribute_names_are_refused(name):
    with pytest.raises(ValueDomainError):
        Message({name: 1})


@pytest.mark.parametrize("tags", ["vip", [5], 5, ["\ud800"], [None]])
def test_invalid_tags_are_refused(tags):
    with pytest.raises(ValueDomainError):
        Message({}, tags)
    with pytest.raises(ValueDomainError):
        Filter([], tags)
    with pytest.raises(ValueDomainError):
        Message.from_dict({"#": tags})


def test_members_of_the_wrong_type_are_refused_at_once():
    with pytest.raises(ValueDomainError, match="use parse"):
        Filter(["x = 1"])
    with pytest.raises(ValueDomainError):
        Predicate("x = 1")
    with pytest.raises(ValueDomainError):
        Predicate([Constraint("x", "=", 1)])


def test_operators_refuse_values_they_do_not_compare():
    for op, value in [("<", True), (">=", False), ("^=", 5), ("$=", True), ("*=", 1.5)]:
        with pytest.raises(ValueDomainError):
            Constraint("x", op, value)
    with pytest.raises(ValueDomainError, match="takes no value"):
        Constraint("x", "exists", 5)
    with pytest.raises(ValueDomainError, match="unknown operator"):
        Constraint("x", "==", 5)
    with pytest.raises(ValueDomainError, match="needs a value"):
        Constraint("x", "=")


def test_subclasses_of_plain_types_become_plain_values():
    class Colour(str, enum.Enum):  # noqa: UP042 - StrEnum would print its value anyway
        RED = "red"

    class Level(enum.IntEnum):
        HIGH = 3

    message = Message({"colour": Colour.RED, "level": Level.HIGH})
    assert [type(value) for value in message.attributes.values()] == [str, int]
    assert message == Message({"colour": "red", "level": 3})


def test_a_message_keeps_its_floats_and_a_constraint_takes_their_one_form():
    assert type(Message({"x": 1.0}).attributes["x"]) is float
    assert str(Constraint("x", "=", 1000.0)) == "x = 1000"
    assert str(Constraint("x", "=", -0.0)) == "x = 0"
    assert str(Constraint("x", "=", 2.0**63)) == "x = 9.223372036854776e+18"


def test_bools_and_numbers_stay_apart_in_sets():
    assert len({Constraint("x", "=", True), Constraint("x", "=", 1), Constraint("x", "=", 1.0)}) == 2
    assert len({Message({"x": False}), Message({"x": 0}), Message({"x": -0.0})}) == 2


def test_equality_ignores_order():
    assert parse("a = 1 and b = 2 or #t") == parse("#t or b = 2 and a = 1 and b = 2")
    assert Message({"a": 1, "b": 2}) == Message({"b": 2, "a": 1})
    assert str(parse("b = 2 and a = 1")) == "b = 2 and a = 1"


def test_a_descriptor_is_a_filter_of_tags():
    assert Descriptor(["b", "a"]) == Filter(tags=["a", "b"]) == parse_filter("#a and #b")
    assert repr(Descriptor(["b", "a"])) == "Descriptor(['a', 'b'])"
    assert Descriptor(["a"]).matches(Message({}, ["a", "b"]))
    assert not Descriptor(["a", "c"]).matches(Message({}, ["a", "b"]))


def test_values_of_different_kinds_have_no_order_between_them():
    with pytest.raises(TypeError):
        assert Message({}) < Filter()
    assert Message({}) != Filter()
    assert sorted([parse("x = 2"), parse("x = 1"), parse("x = true")]) == [
        parse("x = true"),
        parse("x = 1"),
        parse("x = 2"),
    ]


def test_constraints_with_equal_hashes_stay_apart():
    assert hash(-1) == hash(-2)  # in CPython
    assert Constraint("x", "=", -1) != Constraint("x", "=", -2)
    assert len(parse("x = -1 or x = -2")) == 2


def test_predicates_and_filters_are_joined_by_operators():
    x, y = parse_filter("x = 1"), parse_filter("y = 1")
    assert x | y == x | Predicate([y]) == Predicate([x]) | y == parse("x = 1 or y = 1")
    assert x & parse("y = 1 or #t") == parse("x = 1 and y = 1 or x = 1 and #t")
    assert parse("a = 1 or b = 1") & parse("c = 1 or d = 1") == parse("(a = 1 or b = 1) and (c = 1 or d = 1)")
    assert parse("x = 1") & parse("false") == parse("false")
    many = Predicate(Filter([Constraint("x", "=", n)]) for n in range(101))
    with pytest.raises(LimitError):
        many & many


def test_parse_filter_takes_one_filter():
    assert parse_filter("true") == Filter()
    with pytest.raises(ValueError, match="expected one filter, not 2"):
        parse_filter("a = 1 or b = 2")


def test_wrong_arguments_get_a_clear_error():
    import cbnet

    for wrong in (
        lambda: Message([1]),
        lambda: parse("x = 1").matches("x"),
        lambda: cbnet.Table.build(["x = 1"]),
        lambda: cbnet.Table.build({"a": "x = 1"}).match('{"x": 1}'),
        lambda: cbnet.disjunction_advantage("x = 1"),
        lambda: Filter(None),
        lambda: Predicate(5),
        lambda: parse("x = 1", 5),
        lambda: cbnet.covers(5, "x = 1"),
    ):
        with pytest.raises(cbnet.InputError):
            wrong()
    with pytest.raises(TypeError):
        parse("x = 1") | 5
    with pytest.raises(TypeError):
        parse_filter("x = 1") | "y = 1"
    assert parse("x = 1").matches({"x": 1})
    assert cbnet.satisfiable("x > 1")


@pytest.mark.parametrize(
    ("value", "name"), [(object(), "an object"), (b"", "a bytes object"), ({1}, "a set"), (None, "null")]
)
def test_a_type_has_its_article(value, name):
    assert type_name(value) == name
