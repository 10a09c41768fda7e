"""Direct evaluation of a formula for single values: the specification of three-valued logic and of the normal form.

Outcomes are True, False and None (unknown).
"""

import math
import re
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from ipaddress import ip_address, ip_network

from cbnet.language.condition import AddressTest, Comparison, Like, Membership, Outcome, Presence, RegexTest, TagTest
from cbnet.language.expression import Attribute, Call, Constant
from cbnet.language.formula import AllOf, AnyOf, Is, Not

ABSENT = object()


def outcome(formula, values, tags):
    """Return the outcome of a formula for a message of single values."""
    if isinstance(formula, Not):
        inner = outcome(formula.part, values, tags)
        return None if inner is None else not inner
    if isinstance(formula, Is):
        names = {True: Outcome.TRUE, False: Outcome.FALSE, None: Outcome.UNKNOWN}
        return bool(names[outcome(formula.part, values, tags)] & formula.accepted)
    if isinstance(formula, AllOf | AnyOf):
        parts = [outcome(part, values, tags) for part in formula.parts]
        decisive = isinstance(formula, AnyOf)
        return decisive if decisive in parts else None if None in parts else not decisive
    return _test(formula, values, tags)


def _test(test, values, tags):
    if isinstance(test, Presence):
        return test.name in values
    if isinstance(test, TagTest):
        return test.tag in tags
    if isinstance(test, Comparison):
        is_null_test = Constant(None) in (test.left, test.right)
        return _compare(test.op.value, _value(test.left, values), _value(test.right, values), is_null_test)
    value = _value(test.operand, values)
    if isinstance(test, Like):
        return bool(_regex(test.pattern).fullmatch(value)) if isinstance(value, str) else None
    if isinstance(test, RegexTest):  # one of `rich_language`, whose texts have no line ends
        return bool(re.search(test.pattern, value, re.ASCII)) if isinstance(value, str) else None
    if isinstance(test, AddressTest):
        try:
            return ip_address(value) in ip_network(test.block) if isinstance(value, str) else None
        except ValueError:
            return None
    assert isinstance(test, Membership)
    if value is ABSENT:
        return None
    if test.values == (None,):
        return value is None  # a set of one value: equality
    same_type = [member for member in test.values if _type(member) == _type(value)]
    return value in same_type if same_type else None


def _compare(op, left, right, is_null_test):
    if left is ABSENT or right is ABSENT:
        return None
    if op in ("=", "!=") and is_null_test:
        return (left is right) == (op == "=")
    if _type(left) != _type(right) or (op in ("^=", "$=", "*=") and not isinstance(left, str)):
        return None
    if op[0] in "<>" and _type(left) not in ("number", "string"):
        return None
    return {
        "=": lambda: left == right, "!=": lambda: left != right, "<": lambda: left < right,
        "<=": lambda: left <= right, ">": lambda: left > right, ">=": lambda: left >= right,
        "^=": lambda: left.startswith(right), "$=": lambda: left.endswith(right), "*=": lambda: right in left,
    }[op]()  # fmt: skip


def _value(expression, values):
    if isinstance(expression, Constant):
        return expression.value
    if isinstance(expression, Attribute):
        return values.get(expression.name, ABSENT)
    if isinstance(expression, Call):
        argument = _value(expression.argument, values)
        return ABSENT if argument is ABSENT else _called(expression.function, argument)
    left, right = _value(expression.left, values), _value(expression.right, values)
    if _type(left) != "number" or _type(right) != "number":
        return ABSENT
    return _arithmetic(expression.op, left, right)


def _arithmetic(op, left, right):
    a, b = Fraction(left), Fraction(right)
    if op in ("/", "div", "mod") and b == 0:
        return ABSENT
    if op in ("div", "mod"):
        if not _is_int(a) or not _is_int(b):
            return ABSENT
        quotient = math.trunc(a / b)
        exact = quotient if op == "div" else a - b * quotient
        return _number(exact)
    if _is_int(a) and _is_int(b) and op != "/":
        exact = {"+": a + b, "-": a - b, "*": a * b}[op]
        if _is_int(exact):
            return int(exact)
    a, b = float(left), float(right)
    if op == "/" and b == 0:
        return ABSENT
    result = {"+": lambda: a + b, "-": lambda: a - b, "*": lambda: a * b, "/": lambda: a / b}[op]()
    return result if math.isfinite(result) else ABSENT


def _is_int(number):
    return number.denominator == 1 and -(2**63) <= number < 2**63


def _number(exact):
    return int(exact) if _is_int(Fraction(exact)) else float(exact)


def _called(function, value):
    kind = _type(value)
    if kind == "number" and Fraction(value).denominator == 1 and _is_int(Fraction(value)):
        kind, value = "int", int(value)
    match function, kind:
        case (("lower" | "upper"), "string"):
            return _case(value, function)
        case "length", "string":
            return sum(1 for _ in value)
        case "time", "string":
            return _time(value)
        case "abs", ("number" | "int"):
            return _number(abs(Fraction(value)))
        case "int", ("bool" | "int"):
            return int(value)
        case "int", "string":
            is_int = re.fullmatch("[+-]?[0-9]+", value, re.ASCII)
            return int(value) if is_int and _is_int(Fraction(int(value))) else ABSENT
        case "string", "bool":
            return str(value).lower()
        case "string", ("int" | "string"):
            return str(value)
        case "bool", ("bool" | "int"):
            return value != 0
        case "bool", "string":
            return {"true": True, "false": False}.get(_case(value, "lower"), ABSENT)
    return ABSENT


def _time(text):
    """Return the nanoseconds since 1970 of a text that is a date, or a date, a `T`, a time and perhaps a zone."""
    try:
        found = datetime.fromisoformat(text)  # to the microsecond, which the texts of `rich_language` have
    except ValueError:
        return ABSENT
    since = found.replace(tzinfo=found.tzinfo or UTC) - datetime(1970, 1, 1, tzinfo=UTC)
    return _number(1000 * (since // timedelta(microseconds=1)))


def _case(text, function):
    changed = [getattr(char, function)() for char in text]
    return "".join(new if len(new) == 1 else old for old, new in zip(text, changed, strict=True))


def _regex(pattern):
    tokens = re.findall(r"\\.|.", pattern, re.DOTALL)
    parts = {"%": ".*", "_": "."}
    return re.compile("".join(parts.get(token) or re.escape(token[-1]) for token in tokens), re.DOTALL)


def _type(value):
    if value is ABSENT:
        return "absent"
    names = {bool: "bool", int: "number", float: "number", str: "string", type(None): "null"}
    return names[type(value)]
