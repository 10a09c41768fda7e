"""Laws of plain filters: the kernel reads from bytes what Python computes from objects."""

import random
from unittest.mock import patch

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.rich_language import rich_filters
from support.strategies import filters

from cbnet._kernels.cover_index import CoverRows
from cbnet._kernels.plain_filter import plain_tests
from cbnet.errors import InputError
from cbnet.language import Constraint, Filter, Op
from cbnet.language.relations import cover_index
from cbnet.language.relations.cover_index import CoverIndex
from cbnet.language.relations.ranges import AttributeRange
from cbnet.language.syntax.byte_form import filter_from_bytes, filter_to_bytes
from cbnet.matching.storage.filter_encoding import encode_filter

texts = st.text(st.sampled_from("az#\0\x7f\x80é€\ud7ff\ue000😀\U0010ffff"), max_size=40) | st.just("x" * 300)
numbers = (
    st.integers(-(2**63), 2**63 - 1)
    | st.sampled_from([sign * (1 << bits) + step for sign in (-1, 1) for bits in range(60) for step in (-1, 0, 1)])
    | st.floats(allow_nan=False, allow_infinity=False)
)
constraints = st.one_of(
    st.builds(Constraint, texts.filter(lambda name: name != "#"), st.sampled_from(list(Op)[:9]), texts),
    st.builds(Constraint, texts.filter(lambda name: name != "#"), st.sampled_from(list(Op)[:6]), numbers),
    st.builds(Constraint, st.sampled_from("ab"), st.just(Op.EQ), st.booleans() | st.none()),
    st.builds(Constraint, st.sampled_from("ab"), st.just(Op.EXISTS)),
)
simple = st.builds(
    Filter,
    st.lists(constraints, max_size=5) | st.lists(constraints, min_size=16, max_size=40),
    st.lists(texts, max_size=3) | st.lists(texts, min_size=16, max_size=80),
)
encoded_filters = st.one_of(simple, filters(), rich_filters).map(filter_to_bytes)


@given(encoded_filters)
def test_the_tests_of_a_plain_filter_are_those_of_the_decoded_one(encoded):
    tests = plain_tests(encoded)
    if tests is not None:
        expected = encode_filter(filter_from_bytes(encoded))
        assert tests == expected
        assert {(name, code, type(constant)) for name, code, constant in tests} == {
            (name, code, type(constant)) for name, code, constant in expected
        }


def range_in_python(op, _kind, value):
    constraint = Constraint("", op, value)
    return cover_index._cover_range(AttributeRange([constraint]), [constraint])


@given(encoded_filters)
def test_the_ranges_of_a_plain_filter_are_those_of_the_decoded_one(encoded):
    rows = CoverRows()
    if rows.add_plain(0, encoded):
        expected = CoverIndex([encoded])
        with patch.object(cover_index, "_range_of", range_in_python):
            expected.analyse(0)
        assert rows.describe(0) == expected.describe(0)


@given(encoded_filters, st.integers(0, 2**32))
def test_what_is_plain_after_a_change_of_bytes_is_a_canonical_filter(encoded, seed):
    rng = random.Random(seed)
    changed = bytearray(encoded)
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(changed))
        changed[at : at + rng.randint(0, 2)] = rng.randbytes(rng.randint(0, 2))
        if not changed:
            return
    tests = plain_tests(bytes(changed))
    if tests is not None:
        assert tests == encode_filter(filter_from_bytes(bytes(changed)))


def test_usual_filters_are_plain():
    for part in (
        ["k", 0, 1], ["k", 2, -7], ["k", 3, 200], ["k", 4, 2.5], ["k", 5, -70_000], ["k", 0, 1 << 40], ["k", 0, True],
        ["k", 0, ""], *(["k", op, "xyz"] for op in range(9)), ["k", 1, 8], ["k", 1, -0.5], "tag",
    ):  # fmt: skip
        encoded = msgspec.msgpack.encode([part])
        assert plain_tests(encoded) == encode_filter(filter_from_bytes(encoded))
        assert CoverRows().add_plain(0, encoded)


def test_no_other_form_of_a_number_is_plain():
    for constant in (b"\xcc\x05", b"\xcd\x00\x05", b"\xd0\x05", b"\xd3" + b"\xff" * 8, b"\xcb" + bytes(8)):
        encoded = b"\x91\x93\xa1k\x00" + constant
        assert plain_tests(encoded) is None
        with pytest.raises(InputError):
            filter_from_bytes(encoded)
