"""Random texts of predicates, written by the grammar of the reference rather than by what is printed.

Names are often words of the language or values of other languages, in backquotes where a name needs them; constants
stand on both sides. Some of the texts are refused, such as those with a division by zero.
"""

from hypothesis import strategies as st

_BARE = ["x", "y", "o.x", "a-1", "absent", "in", "like", "is", "div", "mod", "cidr", "lower", "length", "NULL", "None"]
_QUOTED = [
    "and",
    "not",
    "true",
    "null",
    "Infinity",
    "NaN",
    "True",
    "a b",
    "é",
    "\\`",
    "in",
    "exists",
    "",
    "1",
    "\\u0000",
]
names = st.sampled_from(["x", "y"]) | st.sampled_from(_BARE) | st.sampled_from(_QUOTED).map("`{}`".format)
_strings = st.sampled_from(
    ['""', '"a"', '"a%"', '"\\\\"', '"\\ud83d\\ude00"', '"07"', '"10.1.2.3"', '"2026-11-15"', '"TRUE"', '"\\n"']
)
_numbers = st.sampled_from(
    ["0", "1", "-1", "2", "1.0", "0.5", "-0.0", "1e300", "9223372036854775807", "-12e-3", "3d", "-250ms"]
)
values = _strings | _numbers | st.sampled_from(["true", "false", "null"])
_operators = st.sampled_from(["=", "!=", "<", "<=", ">", ">=", "^=", "$=", "*="])
_arithmetic = st.sampled_from(["+", "-", "*", "/", "div", "mod"])
_functions = st.sampled_from(["lower", "upper", "length", "abs", "int", "string", "bool", "time"])
_sets = st.lists(values, min_size=1, max_size=3).map(lambda members: f"({', '.join(members)})")
_blocks = st.sampled_from(['cidr("10.0.0.0/8")', 'cidr("::/0")'])


def _larger(parts):
    return (
        st.builds("{} {} {}".format, parts, _arithmetic, parts)
        | parts.map("({})".format)
        | parts.map("- {}".format)
        | st.builds("{}({})".format, _functions, parts)
    )


expressions = st.recursive(names | values, _larger, max_leaves=4)
_tests = (
    st.builds("{} {} {}".format, expressions, _operators, expressions)
    | st.builds("{} {} {}".format, expressions, st.sampled_from(["in", "not in"]), _sets | _blocks)
    | st.builds("{} {} {}".format, expressions, st.sampled_from(["like", "not like"]), _strings)
    | st.builds("{} {}".format, st.sampled_from(["exists", "absent"]), names)
    | st.builds("{} =~ {}".format, expressions, st.sampled_from(['"a"', '"^a|b$"', '"\\\\d+[^\\"]"', '"^$"']))
    | st.sampled_from(["#a", '#"a b"', "#and", "true", "false"])
)


def _joined(parts):
    is_test = st.sampled_from(["", " is true", " is not true", " is false", " is not false"])
    return (
        st.builds("{} {} {}".format, parts, st.sampled_from(["and", "or"]), parts)
        | st.builds("({}){}".format, parts, is_test)
        | st.builds("not {}".format, parts)
    )


predicate_texts = st.recursive(_tests, _joined, max_leaves=4)
