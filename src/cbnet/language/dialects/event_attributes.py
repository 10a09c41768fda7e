"""Tests of the attributes of CloudEvents: a value is a string, a bool or a 32-bit integer, compared by its text.

The context attributes are strings. Extensions have any type: those of HTTP headers are strings, those of JSON may be
others. A test by text is one of the value itself where only a string can pass it, so that indexes serve it.
"""

from __future__ import annotations

import re

from cbnet.errors import ValueDomainError
from cbnet.language.cloud_events import REQUIRED_ATTRIBUTES, TEXT_ATTRIBUTES
from cbnet.language.condition import Comparison, Like, Membership, Presence, Test
from cbnet.language.constraint import Op, value_set
from cbnet.language.expression import Attribute, Call, Constant, Expression
from cbnet.language.formula import TRUE, Formula
from cbnet.language.like_pattern import like, pieces
from cbnet.language.values import INT_MAX, INT_MIN, Value

_NAME = re.compile(r"[a-z0-9]+")
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,18}")
_BOOLS = {"true": True, "false": False}


def check_attribute(name: str) -> str:
    """Return the name of an attribute; raise an error if no event has it."""
    if name == "data":
        hint = "use the dialect cbnet, as in data.amount > 5"
        raise ValueDomainError("`data` is not an attribute of an event", hint=hint)
    if not _NAME.fullmatch(name):
        hint = "attributes have lower-case letters and digits"
        raise ValueDomainError(f"`{name[:40]}` is not an attribute's name", hint=hint)
    return name


def exists(name: str) -> Formula:
    """Return the test whether an event has an attribute. Every event has the required ones."""
    return TRUE if name in REQUIRED_ATTRIBUTES else Presence(name)


def present(expression: Expression) -> Test:
    """Return the test whether an expression has a value that is not null."""
    return Comparison(Op.NE, expression, Constant(None))


def has_text(name: str, text: str) -> Test:
    """Return the test whether the text of an attribute is this one."""
    values: list[Value] = [text]
    if name not in TEXT_ATTRIBUTES:
        if text in _BOOLS:
            values.append(_BOOLS[text])
        elif _INTEGER.fullmatch(text) and INT_MIN <= int(text) <= INT_MAX:
            values.append(int(text))
    if len(values) == 1:
        return Comparison(Op.EQ, Attribute(name), Constant(text))
    return Membership(Attribute(name), value_set(values, name))


def text_is_like(name: str, pattern: str) -> Test:
    """Return the test whether the text of an attribute matches a pattern of ours."""
    characters = {char for piece in pieces(pattern) for char in piece if char is not None}
    may_be_other = characters <= set("-0123456789") or any(like(text, pattern) for text in _BOOLS)
    is_cast = may_be_other and name not in TEXT_ATTRIBUTES
    return Like(Call("string", Attribute(name)) if is_cast else Attribute(name), pattern)
