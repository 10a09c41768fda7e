"""Conditions mean the same as code as in the language, which is the plain twin of the kernel."""

from hypothesis import example, given
from hypothesis import strategies as st
from support.regexes import patterns as regexes

from cbnet._kernels.condition_eval import evaluate
from cbnet.language.address_block import block_of
from cbnet.language.condition import (
    AddressTest,
    Comparison,
    Condition,
    Like,
    Membership,
    Outcome,
    Presence,
    RegexTest,
    TagTest,
)
from cbnet.language.constraint import Op
from cbnet.language.expression import FUNCTIONS, Arithmetic, Attribute, Call, Constant, call
from cbnet.language.like_pattern import pattern_text, pieces
from cbnet.language.values import INT_MAX, INT_MIN, canonical, sort_key
from cbnet.matching.storage.condition_code import decode_condition, encode_condition

# Near each other, so that values are often equal and results near the limits of ints and floats.
LIMITS = [0, 2**31, 2**32, 2**53, 2**62, 2**63]
ints = st.builds(
    lambda limit, sign, step: sign * limit + step, st.sampled_from(LIMITS), st.sampled_from([-1, 1]), st.integers(-3, 3)
)
ints = ints.map(lambda number: max(INT_MIN, min(INT_MAX, number)))
floats = st.sampled_from([-0.0, 0.5, 1.5, -2.5, 2.0**53, 2.0**63, -(2.0**63), 2.0**64, 5e-324, 1e308, -1e308])
# The case of these changes their length: Ⱥ ⱥ (two bytes, three), K (three, one); or it is several characters: ß İ ﬁ.
texts = st.text("aAbß%_\\Ⱥⱥ\u212akİıſﬁΣςé\U00010400\U00010428\0", max_size=6)
# Texts that are numbers or bools, or almost.
numerals = (
    st.from_regex(r"[+-]?[0-9]{0,21}", fullmatch=True)
    | ints.map(str)
    | st.sampled_from(
        [
            "true",
            "TRUE",
            "False",
            "fALSE",
            "tru",
            "falsee",
            "+",
            "-",
            "",
            "1.0",
            " 1",
            "1_0",
            "\u0661",
            "+0005",
            "-" + "0" * 30 + "7",
        ]
    )
)
# Texts of addresses, right and almost right, from pieces of them.
addresses = (
    st.ip_addresses().map(str)
    | st.ip_addresses(v=6).map(lambda address: address.exploded.upper())
    | st.lists(
        st.sampled_from(["0", "00", "1", "10", "255", "256", "ffff", "FFFFF", "", "1.2.3.4"]), max_size=10
    ).flatmap(lambda parts: st.sampled_from([":", ".", "::"]).map(lambda joint: joint.join(parts)))
    | st.text("01f:.% \0", max_size=12)
)
blocks = st.builds(
    lambda address, length: str(block_of(f"{address}/{length % (33 if address.version == 4 else 129)}")),
    st.ip_addresses(),
    st.integers(0, 128),
)
values = st.none() | st.booleans() | ints | floats | st.floats(allow_nan=False, allow_infinity=False) | texts
messages = st.dictionaries(st.sampled_from("xyz"), values, max_size=3)
patterns = st.text("aA%_ßé", max_size=8).map(lambda text: pattern_text(pieces(text)))

operators = st.sampled_from(["+", "-", "*", "/", "div", "mod"])
leaves = st.builds(Attribute, st.sampled_from("xyz")) | st.builds(Constant, values.map(canonical))
expressions = st.recursive(
    leaves,
    lambda inner: st.builds(Arithmetic, operators, inner, inner) | st.builds(Call, st.sampled_from(FUNCTIONS), inner),
    max_leaves=6,
)
sets = st.lists(values.map(canonical), min_size=1, max_size=5, unique_by=sort_key)
comparable = [Op.EQ, Op.NE, Op.LT, Op.LE, Op.GT, Op.GE, Op.PREFIX, Op.SUFFIX, Op.SUBSTRING]
tests = (
    st.builds(Comparison, st.sampled_from(comparable), expressions, expressions)
    | st.builds(Like, expressions, patterns)
    | st.builds(RegexTest, expressions, regexes.map(lambda pair: pair[0]))
    | st.builds(Membership, expressions, sets.map(lambda members: tuple(sorted(members, key=sort_key))))
    | st.builds(AddressTest, expressions, blocks)
    | st.builds(Presence, st.sampled_from("xyz"))
    | st.builds(TagTest, st.sampled_from("xyz"))
)
outcomes = st.sampled_from(
    [Outcome.TRUE, Outcome.FALSE, Outcome.FALSE | Outcome.UNKNOWN, Outcome.TRUE | Outcome.UNKNOWN]
)
conditions = st.builds(Condition, tests, outcomes)


def agrees(condition, values, tags=frozenset()):
    expected = condition.holds(values, values.keys(), tags)
    return evaluate(encode_condition(condition), values, tags) == expected


@given(conditions, messages, st.frozensets(st.sampled_from("xyz")))
@example(Condition(Comparison(Op.LT, Attribute("x"), Attribute("y"))), {"x": INT_MAX, "y": 2.0**63}, frozenset())
def test_code_holds_of_the_messages_that_the_condition_holds_of(condition, values, tags):
    assert agrees(condition, values, tags)


@given(conditions)
def test_code_is_read_back_as_the_same_condition(condition):
    assert decode_condition(encode_condition(condition)) == condition


@given(operators, ints | floats, ints | floats, ints | floats)
def test_results_compare_as_in_the_language(operator, left, right, other):
    values = {"x": left, "y": right, "z": other}
    result = Arithmetic(operator, Attribute("x"), Attribute("y"))
    for outcome in Outcome:
        for op in (Op.EQ, Op.LT, Op.LE):
            assert agrees(Condition(Comparison(op, result, Attribute("z")), outcome), values)
            assert agrees(Condition(Comparison(op, Attribute("z"), result), outcome), values)


@given(st.sampled_from(FUNCTIONS), values | numerals, st.sampled_from(FUNCTIONS), values | numerals)
@example("string", INT_MIN, "length", INT_MIN)
@example("int", "-9223372036854775808", "abs", INT_MIN)
@example("int", "9223372036854775808", "int", "-0")
def test_functions_give_the_values_of_the_language(function, value, other, right):
    left = Call(function, Attribute("x"))
    for outcome in Outcome:
        test = Comparison(Op.EQ, left, Call(other, Call(function, Attribute("y"))))
        assert agrees(Condition(test, outcome), {"x": value, "y": right})
        result = call(function, value)
        assert agrees(Condition(Comparison(Op.EQ, left, Constant(result)), outcome), {"x": value})


@given(st.text("aé%_", max_size=7), st.text("aé\U0010ffff", max_size=9))
def test_patterns_match_as_in_the_language(pattern, text):
    assert agrees(Condition(Like(Attribute("x"), pattern)), {"x": text})


@given(blocks, addresses)
@example("0.0.0.0/0", "1.2.3.4")
@example("::/0", "1:2:3:4:5:6:7::")
@example("::/0", "1::2:3:4:5:6:7:8")
@example("::/0", "::ffff:1.2.3.04")
@example("::/0", "fe80::1%eth0")
@example("0.0.0.0/0", "1.2.3.4\0")
@example("0.0.0.0/0", "١.2.3.4")
def test_addresses_are_read_as_in_the_language(block, text):
    for outcome in Outcome:
        assert agrees(Condition(AddressTest(Attribute("x"), block), outcome), {"x": text})


@given(st.ip_addresses(), st.integers(0, 128), st.integers(0, 127))
def test_a_block_contains_the_addresses_with_its_prefix(address, length, flipped):
    bits = address.max_prefixlen
    length, flipped = min(length, bits), flipped % bits
    other = str(type(address)(int(address) ^ 1 << (bits - 1 - flipped)))  # differs in one bit
    condition = Condition(AddressTest(Attribute("x"), str(block_of(f"{address}/{length}"))))
    code = encode_condition(condition)
    assert evaluate(code, {"x": str(address)})
    assert evaluate(code, {"x": other}) == condition.holds({"x": other}) == (flipped >= length)


@given(st.binary(max_size=60), messages)
def test_any_bytes_give_an_answer(code, values):
    assert evaluate(code, values) in (True, False)


@given(conditions, messages, st.data())
def test_damaged_code_gives_an_answer(condition, values, data):
    code = bytearray(encode_condition(condition))
    code[data.draw(st.integers(0, len(code) - 1))] = data.draw(st.integers(0, 255))
    assert evaluate(bytes(code), values) in (True, False)
    assert evaluate(bytes(code[: data.draw(st.integers(0, len(code)))]), values) in (True, False)
