"""A request travels as the filter that its replies must match, in one form."""

import re

import pytest

from cbnet import Filter, InputError, Message, parse_filter
from cbnet.errors import LimitError
from cbnet.language.syntax.byte_form import filter_to_bytes
from cbnet.network.protocol.request_codec import as_request, request_from_bytes, request_to_bytes
from cbnet.network.protocol.wire import WireError


def written(said):
    return request_to_bytes(as_request(said))


def test_equal_requests_are_equal_bytes():
    said = ['a = 1 and b = "x" and #t', '#t and b = "x" and a = 1.0', {"b": "x", "a": 1, "#": ["t"]}]
    said += [Message({"a": 1, "b": "x"}, ["t"]), parse_filter('b = "x" and a = 1 and #t')]
    assert len({written(each) for each in said}) == 1


def test_a_bool_is_not_a_number():
    assert written({"a": True}) != written({"a": 1})


def test_a_request_is_read_as_a_message_and_as_a_filter():
    requested = request_from_bytes(written("a = 1 and b = true and #t"))
    assert (dict(requested.content.attributes), requested.content.tags) == ({"a": 1, "b": True}, frozenset("t"))
    assert requested.content.members == {"a": 1, "b": True, "#": ["t"]}
    assert requested.filter == parse_filter("a = 1 and b = true and #t")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a < 1", "a request cannot contain `a < 1`; use `=` and tags only"),
        ("exists a", "a request cannot contain `exists a`"),
        ("a = 1 and a = 2", "use one value per attribute"),
        ("a = 1 or b = 1", "filter"),
        ("a < b", "a request cannot contain `a < b`; use `=` and tags only"),
        ("a = 1 and absent b", "a request cannot contain `absent b`"),
        ("a in (1, 2)", "a request cannot contain `a in (1, 2)`"),
        ("a != null", "a request cannot contain `a != null`"),
        ("a =", "value"),
    ],
)
def test_invalid_request_is_refused(text, problem):
    with pytest.raises(InputError, match=re.escape(problem)):
        as_request(text)


def test_names_of_a_request_may_be_nested_and_values_null():
    nested = [{"d": {"s": "on", "n": None}}, {"d.s": "on", "d.n": None}, 'd.n = null and d.s = "on"']
    assert len({written(each) for each in nested}) == 1
    requested = request_from_bytes(written(nested[0]))
    assert requested.content.members == {"d.n": None, "d.s": "on"}
    assert requested.filter == parse_filter(nested[2])
    assert requested.filter.matches({"d": {"n": None, "s": "on"}, "x": 1})


@pytest.mark.parametrize("several", [{"a": [1, 2]}, {"a": [{"b": 1}, {"b": 2}]}, {"a.b": 1, "a": {"b": 2}}])
def test_request_with_several_values_of_an_attribute_is_refused(several):
    with pytest.raises(InputError, match="a request has one value per attribute"):
        written(several)


@pytest.mark.parametrize("data", [b"", b"\xc1", b"\x91\x93\xa1a\x02\x01", filter_to_bytes(parse_filter("a > 1"))])
def test_bytes_that_are_no_request_are_refused(data):
    with pytest.raises(WireError):
        request_from_bytes(data)


def test_request_that_is_too_long_is_refused():
    assert len(written({"a": "x" * 4_000})) > 4_000
    with pytest.raises(LimitError, match=r"bytes of a request.*4,096"):
        written({"a": "x" * 4_100})
    with pytest.raises(LimitError, match=r"values and tags of a request.*64"):
        written({f"a{n}": n for n in range(65)})
    assert len(request_from_bytes(written({f"a{n}": n for n in range(64)})).filter.constraints) == 64
    with pytest.raises(WireError, match="a request of 65 values and tags"):
        request_from_bytes(filter_to_bytes(Filter(tags=[f"t{n}" for n in range(65)])))
