"""Law of plain predicates: the kernel reads from text the bytes that the parser and the encoder give."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.strategies import filters

from cbnet._kernels.plain_predicate import plain_filters
from cbnet.errors import InputError
from cbnet.language import parse
from cbnet.language.syntax.byte_form import filter_to_bytes

names = st.sampled_from(["a", "b-c", "d.e", "_f", "price", "absent", "in", "like", "is", "mod", "cidr", "lower", "and"])
operators = st.sampled_from(["=", "!=", "<", "<=", ">", ">=", "^=", "$=", "*=", "==", "<>", "~"])
strings = st.text(st.sampled_from('az "\\\n\t#é€😀\0'), max_size=4).map(lambda text: f'"{text}"') | st.just(
    f'"{"x" * 300}"'
)
whole = st.integers(-(2**63), 2**63 - 1) | st.sampled_from(
    [sign * (1 << bits) + step for sign in (-1, 1) for bits in range(60) for step in (-1, 0, 1)]
)
numbers = whole.map(str) | st.floats(allow_nan=False, allow_infinity=False).map(str) | st.sampled_from(
    ["-0", "0", "-0.5", "0.50", "00", "1.", ".5", "+1", "1e3", "-0.0", "5.0", "0.1234567890123456789", "1_0", "5x"]
)  # fmt: skip
values = st.one_of(strings, numbers, st.sampled_from(["true", "false", "null", "a", "(1)", "", "-", "5-3", "1 + 2"]))
spaces = st.sampled_from(["", " ", "  ", "\t", "\n", "\r", "\u00a0", "\x1c", " and "])
parts = st.one_of(
    st.tuples(names, spaces, operators, spaces, values).map("".join),
    st.sampled_from(
        ["#a", "#b.c", "#é", '#"a b"', "#", "true", "false", "exists a", "absent a", "not a = 1", "(a = 1)"]
    ),
)
joins = st.sampled_from([" and ", " or ", " and", "or ", " AND ", "  and  ", ", ", ""])
texts = st.lists(st.tuples(parts, joins), min_size=1, max_size=5).map(
    lambda pairs: "".join(part + join for part, join in pairs[:-1]) + pairs[-1][0]
)


def expected(text):
    return [filter_to_bytes(filter) for filter in parse(text).filters]


@given(texts)
@example('dest = "MXP" and price < 500 or #sale')
@example("a = 1 and #x")
@example("a=1 or a=1")
def test_what_the_kernel_reads_is_what_the_parser_reads(text):
    read = plain_filters(text, 100, 100)
    if read is not None:
        assert list(dict.fromkeys(read)) == expected(text)


@given(st.lists(filters(), min_size=1, max_size=4))
def test_the_kernel_reads_printed_filters(several):
    text = " or ".join(map(str, several))
    read = plain_filters(text, 100, 1000)
    if read is not None:
        assert list(dict.fromkeys(read)) == expected(text)


def test_usual_predicates_are_plain():
    for text in (
        'dest = "MXP" and price < 500 and airline != "AA"', "price >= -12.75", "x = true or y = false", "#a and #b and c > 1",
        'name ^= "a" or name $= "é" or name *= "x"', " a = 70000 ", "a.b-c <= -200 and _d != 0", "\n".join(["a = 1", "or", "b = 2"]),
        " or ".join(f"a = {number}" for number in range(100)), " and ".join(f"a{number} = 1" for number in range(20)),
    ):  # fmt: skip
        assert plain_filters(text, 100, 100) == expected(text)


def test_what_exceeds_a_limit_is_left_to_the_parser():
    text = "a = 1 and b = 2 or c = 3"
    assert plain_filters(text, 2, 3) is not None
    assert plain_filters(text, 1, 3) is None
    assert plain_filters(text, 2, 2) is None
    assert plain_filters(" and ".join(f"a{number} = 1" for number in range(40)), 100, 100) is None
    assert plain_filters(f'a = "{"x" * 40_000}"', 100, 100) is None


@pytest.mark.parametrize("text", ["", " ", "a", "a =", "a = 1 and", "and a = 1", 'a = "', "a = 1 b = 2", "a = \ud800"])
def test_an_error_is_left_to_the_parser(text):
    assert plain_filters(text, 100, 100) is None
    with pytest.raises(InputError):
        parse(text)
