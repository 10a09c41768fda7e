import contextlib
import random
import struct

import pytest

from cbnet._kernels.condition_eval import evaluate, mentions
from cbnet.errors import LimitError, TableFileError
from cbnet.language import parse
from cbnet.language.condition import AddressTest, Comparison, Condition, Like, Membership, Outcome, Presence, TagTest
from cbnet.language.constraint import Op
from cbnet.language.expression import MAX_EXPRESSION_DEPTH, Arithmetic, Attribute, Call, Constant
from cbnet.matching.storage.condition_code import decode_condition, encode_condition

X, Y = Attribute("x"), Attribute("y")
INT_MIN, INT_MAX = -(2**63), 2**63 - 1
CONDITIONS = [
    Condition(Comparison(Op.GT, Arithmetic("*", X, Y), Constant(100))),
    Condition(Comparison(Op.EQ, Call("lower", X), Constant("ab")), Outcome.FALSE),
    Condition(Comparison(Op.NE, Arithmetic("div", X, Constant(3)), Arithmetic("mod", Y, Constant(0.5)))),
    Condition(Comparison(Op.SUBSTRING, Call("upper", X), Y), Outcome.FALSE | Outcome.UNKNOWN),
    Condition(Comparison(Op.EQ, X, Constant(None)), Outcome.TRUE | Outcome.UNKNOWN),
    Condition(Comparison(Op.EQ, Call("abs", Call("int", X)), Call("length", Call("string", Y)))),
    Condition(Comparison(Op.NE, Call("bool", X), Constant(True))),
    Condition(Like(X, "a%b_é%")),
    Condition(Like(X, r"\%\_\\%"), Outcome.FALSE),
    Condition(Membership(X, (False, 1, 2**53 + 1, INT_MAX, 1e300, "", "é", None))),
    Condition(AddressTest(X, "10.0.0.0/9")),
    Condition(AddressTest(X, "2001:db8::/32"), Outcome.FALSE),
    Condition(Presence("a.b"), Outcome.FALSE),
    Condition(TagTest("vip"), Outcome.FALSE),
]


def holds(test, accepted=Outcome.TRUE, tags=(), **values):
    return evaluate(encode_condition(Condition(test, accepted)), values, tags)


def outcome(test, **values):
    """Return the only outcome with which the condition holds."""
    (result,) = [each for each in Outcome if holds(test, each, **values)]
    return result


def result_is(expression, expected, **values):
    return outcome(Comparison(Op.EQ, expression, Constant(expected)), **values) is Outcome.TRUE


def is_unknown(expression, **values):
    return outcome(Comparison(Op.EQ, expression, Constant(None)), **values) is Outcome.UNKNOWN


# --- the code --------------------------------------------------------------------------------


def test_the_code_is_postfix_with_names_and_constants_inline():
    code = encode_condition(
        Condition(Comparison(Op.LT, Arithmetic("+", X, Constant(2**53 + 1)), Constant("é")), Outcome.FALSE)
    )
    number = struct.pack("<dh", 2.0**53, 1)
    assert code == b"\x02\x01\x01\0\0\0x\x05" + number + b"\x0a\x06\x02\0\0\0\xc3\xa9\x16"


def test_the_kernel_finds_the_names_and_tags_in_the_code():
    found = [mentions(encode_condition(condition)) for condition in CONDITIONS]
    assert found[-2:] == [[("a.b", False)], [("vip", True)]]
    assert [{name for name, is_tag in each if not is_tag} for each in found[:-2]] == [
        condition.names for condition in CONDITIONS[:-2]
    ]


def test_patterns_hold_bytes_that_are_not_utf8_for_wildcards():
    assert encode_condition(Condition(Like(X, r"a%%_\%"))) == b"\x01\x01\x01\0\0\0x\x1e\x04\0\0\0a\xff\xfe%"


@pytest.mark.parametrize("condition", CONDITIONS, ids=str)
def test_conditions_are_read_back(condition):
    assert decode_condition(encode_condition(condition)) == condition


@pytest.mark.parametrize("condition", CONDITIONS, ids=str)
def test_truncated_code_is_refused_and_never_read_beyond_its_end(condition):
    code = encode_condition(condition)
    for length in range(len(code)):
        with pytest.raises(TableFileError, match="the table is damaged"):
            decode_condition(code[:length])
        evaluate(code[:length], {"x": "a", "y": 1})


def test_damaged_code_gives_an_answer():
    chance = random.Random(17)
    for code in map(encode_condition, CONDITIONS * 200):
        damaged = bytearray(code)
        for _ in range(chance.randint(1, 3)):
            damaged[chance.randrange(len(code))] = chance.choice([chance.randrange(36), chance.randrange(256)])
        _read(bytes(damaged))
    for _ in range(5_000):
        _read(
            bytes(chance.choice([chance.randrange(36), chance.randrange(256), 0]) for _ in range(chance.randrange(40)))
        )


def _read(code):
    for length in (0, 3, 400):  # in the interpreter's own memory, and beyond it
        assert evaluate(code, {"x": "aÉ" * length, "y": 2}, ["p"]) in (True, False)
    with contextlib.suppress(UnicodeDecodeError):
        assert len(mentions(code)) < max(len(code), 1)
    with contextlib.suppress(TableFileError):
        decode_condition(code)


def test_code_with_too_many_operands_never_holds():
    assert not evaluate(b"\x07" + b"\x02" * 100 + b"\x14", {})
    assert not evaluate(b"\x07" + b"\x02" * 3 + b"\x14", {})
    assert not evaluate(b"", {})


def test_the_deepest_expression_is_evaluated():
    expression = X
    for _ in range(MAX_EXPRESSION_DEPTH - 1):
        expression = Arithmetic("+", Constant(1), expression)
    assert holds(Comparison(Op.EQ, Constant(MAX_EXPRESSION_DEPTH), expression), x=1)
    with pytest.raises(LimitError, match="levels of operations in an expression"):
        Condition(Comparison(Op.EQ, X, Arithmetic("+", Constant(1), expression)))


@pytest.mark.parametrize("text", ["x" + " + 1" * 5_000 + " > 0", "x > y" + " * z" * 64])
def test_longer_chains_of_operations_are_refused(text):
    with pytest.raises(LimitError, match="levels of operations in an expression"):
        parse(text)


# --- evaluation ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("left", "op", "right", "expected"),
    [
        (INT_MAX, "+", 1, 2.0**63),
        (INT_MAX, "+", 0, INT_MAX),
        (INT_MIN, "-", 1, -(2.0**63)),
        (2**53, "+", 1, 2**53 + 1),
        (2**32, "*", 2**31, 2.0**63),
        (3_037_000_500, "*", 3_037_000_499, 9_223_372_033_963_249_500),
        (1, "/", 3, 1 / 3),
        (6, "/", 3, 2),
        (2**53 + 1, "/", 1, 2**53),
        (-7, "div", 2, -3),
        (-7, "mod", 2, -1),
        (7, "mod", -2, 1),
        (5.0, "div", 2, 2),
        (INT_MIN, "div", -1, 2.0**63),
        (INT_MIN, "mod", -1, 0),
        (INT_MAX, "div", -1, -INT_MAX),
        (0.1, "+", 0.2, 0.1 + 0.2),
    ],
)
def test_arithmetic_is_exact_in_64_bit_ints_and_else_in_floats(left, op, right, expected):
    assert result_is(Arithmetic(op, X, Y), expected, x=left, y=right)


@pytest.mark.parametrize(
    ("left", "op", "right"),
    [(1, "/", 0), (0, "/", -0.0), (1, "div", 0), (1, "mod", 0), (1.5, "div", 1), (1, "mod", 0.5), (1e308, "*", 10),
     (-1e308, "-", 1e308), ("a", "+", 1), (True, "+", 1), (None, "*", 1)],
)  # fmt: skip
def test_arithmetic_without_a_finite_number_is_unknown(left, op, right):
    assert is_unknown(Arithmetic(op, X, Y), x=left, y=right)


def test_ints_and_floats_compare_exactly_at_the_limits():
    assert outcome(Comparison(Op.LT, X, Y), x=INT_MAX, y=2.0**63) is Outcome.TRUE
    assert outcome(Comparison(Op.EQ, X, Y), x=INT_MAX, y=2.0**63) is Outcome.FALSE
    assert outcome(Comparison(Op.GE, X, Y), x=2.0**63, y=INT_MAX) is Outcome.TRUE
    assert outcome(Comparison(Op.EQ, X, Y), x=INT_MIN, y=-(2.0**63)) is Outcome.TRUE
    assert outcome(Comparison(Op.GT, X, Y), x=2**53 + 1, y=2.0**53) is Outcome.TRUE
    assert outcome(Comparison(Op.EQ, X, Y), x=0, y=-0.0) is Outcome.TRUE


@pytest.mark.parametrize(
    ("op", "left", "right", "expected"),
    [
        (Op.EQ, None, None, Outcome.TRUE),
        (Op.EQ, None, 1, Outcome.UNKNOWN),
        (Op.NE, "a", None, Outcome.UNKNOWN),
        (Op.LE, None, None, Outcome.UNKNOWN),
        (Op.LT, False, True, Outcome.UNKNOWN),
        (Op.NE, False, True, Outcome.TRUE),
        (Op.EQ, True, 1, Outcome.UNKNOWN),
        (Op.PREFIX, "ab", "a", Outcome.TRUE),
        (Op.SUFFIX, "ab", "a", Outcome.FALSE),
        (Op.SUBSTRING, "", "", Outcome.TRUE),
        (Op.SUBSTRING, 1, 1, Outcome.UNKNOWN),
    ],
)
def test_comparisons_of_types_that_do_not_compare_are_unknown(op, left, right, expected):
    assert outcome(Comparison(op, X, Y), x=left, y=right) is expected
    assert outcome(Comparison(op, X, Y), x=left) is Outcome.UNKNOWN


@pytest.mark.parametrize(
    ("function", "value", "expected"),
    [
        ("int", 5.0, 5), ("int", "5", 5), ("int", "+05", 5), ("int", "-5", -5), ("int", "-0", 0), ("int", True, 1),
        ("int", False, 0), ("int", str(INT_MAX), INT_MAX), ("int", str(INT_MIN), INT_MIN),
        ("int", "0" * 5_000 + "7", 7),
        ("string", "é", "é"), ("string", -5, "-5"), ("string", 5.0, "5"), ("string", INT_MIN, str(INT_MIN)),
        ("string", True, "true"), ("string", False, "false"),
        ("bool", True, True), ("bool", 0, False), ("bool", -8, True), ("bool", "TRUE", True), ("bool", "fAlse", False),
        ("length", "", 0), ("length", "aé\U0001f600", 3),
        ("abs", -5, 5), ("abs", 2.5, 2.5), ("abs", -2.5, 2.5), ("abs", INT_MAX, INT_MAX), ("abs", INT_MIN, 2.0**63),
    ],
)  # fmt: skip
def test_functions_of_values(function, value, expected):
    assert result_is(Call(function, X), expected, x=value)


@pytest.mark.parametrize(
    ("function", "value"),
    [
        ("int", 5.5), ("int", "5.0"), ("int", ""), ("int", "+"), ("int", "--5"), ("int", " 5"), ("int", "5 "),
        ("int", "1_0"), ("int", "٣"), ("int", "0x1"), ("int", str(INT_MAX + 1)), ("int", str(INT_MIN - 1)),
        ("int", None), ("int", "true"), ("string", 5.5), ("string", None), ("bool", "yes"), ("bool", "1"),
        ("bool", "true "), ("bool", 0.5), ("bool", None), ("length", 5), ("abs", "5"), ("abs", True), ("abs", None),
    ],
)  # fmt: skip
def test_functions_without_a_result_are_unknown(function, value):
    assert is_unknown(Call(function, X), x=value)


def test_many_texts_of_ints_are_kept_apart():
    test = Comparison(
        Op.EQ, Arithmetic("+", Call("length", Call("string", X)), Call("int", Call("string", Y))), Constant(30)
    )
    assert outcome(test, x="é" * 20, y=10) is Outcome.TRUE
    text = Call("string", X)
    for _ in range(30):  # more texts than the interpreter has memory of its own for
        text = Call("string", Call("int", text))
    assert holds(Comparison(Op.EQ, text, Call("string", Y)), x=INT_MIN, y=INT_MIN)


@pytest.mark.parametrize("function", ["lower", "upper"])
def test_case_changes_character_by_character_in_all_of_unicode(function):
    # A character keeps its case if the other one is several characters, such as "SS" of "ß".
    characters = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    method = getattr(str, function)
    text = "".join(characters)
    changed = "".join(each if len(method(each)) > 1 else method(each) for each in characters)
    assert holds(Comparison(Op.EQ, Call(function, X), Y), x=text, y=changed)
    for start in range(0, len(text), 64):
        assert holds(Comparison(Op.EQ, Call(function, X), Y), x=text[start : start + 64], y=changed[start : start + 64])


def test_strings_grow_and_shrink_with_their_case():
    assert result_is(Call("lower", X), "ⱥ" * 1_000, x="Ⱥ" * 1_000)  # two bytes become three
    assert result_is(Call("lower", X), "k" * 1_000, x="\u212a" * 1_000)  # three bytes become one
    nested = X
    for function in ("lower", "upper") * 30:
        nested = Call(function, nested)
    assert result_is(nested, "Ⱥ" * 1_000, x="Ⱥ" * 1_000)
    assert is_unknown(Call("lower", X), x=1)


@pytest.mark.parametrize(
    ("pattern", "matching", "other"),
    [
        ("", [""], ["a"]),
        ("%", ["", "abc"], []),
        ("_", ["a", "é", "\U0010ffff"], ["", "ab"]),
        ("a%", ["a", "ab"], ["", "ba"]),
        ("%é_", ["éa", "ééé"], ["é", "aé"]),
        ("a%a", ["aa", "aba"], ["a", "ab"]),
        ("%ab%ab%", ["abab", "xabyabz"], ["ab", "aab"]),
        ("%a_c%d", ["aabcd", "abcaécd"], ["abcde", "acd"]),
        ("%_b_%", ["abc", "bbbb", "ébé"], ["b", "ab", "bb"]),
        (r"\%\_\\", ["%_\\"], ["a", "%a\\"]),
    ],
)
def test_like_matches_the_whole_string(pattern, matching, other):
    assert [text for text in [*matching, *other] if outcome(Like(X, pattern), x=text) is Outcome.TRUE] == matching
    assert outcome(Like(X, pattern), x=1) is Outcome.UNKNOWN


def test_like_takes_no_exponential_time():
    assert not holds(Like(X, "%a_" * 60 + "%b"), x="a" * 100_000)


def test_membership_is_unknown_if_no_member_has_the_type():
    test = Membership(X, (1, 2**53 + 1, "a"))
    assert outcome(test, x=1.0) is Outcome.TRUE
    assert outcome(test, x=2**53) is Outcome.FALSE
    assert outcome(test, x="b") is Outcome.FALSE
    assert outcome(test, x=True) is Outcome.UNKNOWN
    assert outcome(test, x=None) is Outcome.UNKNOWN
    assert outcome(test) is Outcome.UNKNOWN
    assert outcome(Membership(X, (1, None)), x=None) is Outcome.TRUE


def test_presence_and_tags_are_never_unknown():
    assert outcome(Presence("x"), x=None) is Outcome.TRUE
    assert outcome(Presence("x"), y=1) is Outcome.FALSE
    assert holds(TagTest("x"), tags=["y", "x"])
    assert holds(TagTest("x"), Outcome.FALSE, x=1)
