"""Reader of SQL selectors, as JMS and AMQP brokers have them [JMS 2.0 §3.8.1].

    condition  = condition "OR" condition | condition "AND" condition | "NOT" condition | "(" condition ")" | name
               | "TRUE" | "FALSE" | operand ( "=" | "<>" | "<" | "<=" | ">" | ">=" ) operand
               | name [ "NOT" ] "LIKE" string [ "ESCAPE" string ] | name [ "NOT" ] "IN" "(" string { "," string } ")"
               | operand [ "NOT" ] "BETWEEN" operand "AND" operand | name "IS" [ "NOT" ] "NULL"
    operand    = operand ( "+" | "-" | "*" | "/" ) operand | ( "+" | "-" ) operand | "(" operand ")" | name | literal

Keywords have any case. Names are Java identifiers, joined by dots for nested attributes; numbers are Java literals.
`selector` checks the types of operands.
"""

from __future__ import annotations

import re
import struct
import unicodedata
from typing import ClassVar

from cbnet.errors import PredicateSyntaxError, ValueDomainError
from cbnet.language.dialects.sql_reader import Node, SqlReader
from cbnet.language.values import INT_MAX, Value, validate_name, validate_value

# Between the ranks of comparisons and of sums: where the bounds of BETWEEN begin.
_OPERAND_RANK = 5
_FOREIGN = {"==": "=", "!=": "<>", "&&": "AND", "||": "OR", "^=": "LIKE"}
_INTEGER = re.compile(r"(0[xX][0-9a-fA-F]+|0[bB][01]+|0[0-7]*|[1-9][0-9]*)[lL]?")
_DECIMAL = re.compile(r"((?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)([fFdD]?)")
_HEXADECIMAL = re.compile(r"(0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][-+]?[0-9]+)([fFdD]?)")
_NAME_START = frozenset({"Lu", "Ll", "Lt", "Lm", "Lo", "Nl", "Sc", "Pc"})
_NAME_PART = _NAME_START | {"Nd", "Mn", "Mc", "Cf"}


class SelectorReader(SqlReader):
    """The tokens and the tree of a selector."""

    PATTERN = re.compile(
        r"""(?P<space>[\ \t\f\r\n]+)
        | (?P<word>[A-Za-z_$\x80-\U0010ffff][\w$\x80-\U0010ffff]*(?:\.[A-Za-z_$\x80-\U0010ffff][\w$\x80-\U0010ffff]*)*)
        | (?P<number>0[xX](?:[pP][-+]|[\w.])*|\.?[0-9](?:[eE][-+](?=[0-9])|[\w.])*)
        | (?P<string>'(?:[^']++|'')*+')
        | (?P<symbol><>|<=|>=|==|!=|\^=|&&|\|\||[-+*/%=<>(),])""",
        re.VERBOSE,
    )
    KEYWORDS = frozenset({"AND", "OR", "NOT", "BETWEEN", "LIKE", "ESCAPE", "IN", "IS", "NULL", "TRUE", "FALSE"})
    PREFIX: ClassVar = {"NOT": 3, "-": 7, "+": 7}
    INFIX: ClassVar = {
        "OR": 1, "AND": 2,
        "=": 4, "<>": 4, "<": 4, "<=": 4, ">": 4, ">=": 4,
        "LIKE": 4, "NOT LIKE": 4, "IN": 4, "NOT IN": 4, "BETWEEN": 4, "NOT BETWEEN": 4, "IS": 4,
        "+": _OPERAND_RANK, "-": _OPERAND_RANK, "*": 6, "/": 6,
    }  # fmt: skip
    STRAY: ClassVar = {
        "'": ("unclosed quote", "end the string with `'`; inside it write '' for a quote"),
        '"': ("strings need single quotes", "write '…'; a name has no quotes"),
        "`": ("names have no quotes", "write the name alone"),
        "!": ("unexpected `!`", "write NOT, or <> for unequal values"),
        ";": ("unexpected semicolon", "remove it; a selector is one expression"),
        ".": ("unexpected dot", "write a name or a digit beside it"),
    }

    def _decode(self, kind: str, text: str) -> Value:
        if kind == "number":
            return _number(text)
        return validate_value(text[1:-1].replace("''", "'"), "string") if kind == "string" else _name(text)

    def _primary(self) -> Node:
        if self._is("NULL"):
            raise self._error("NULL is not a value", hint="write `x IS NULL` or `x IS NOT NULL`")
        if self._peek().kind == "word" and self._is("(", ahead=1):
            raise self._error(f"unknown function `{self._peek().text}`", hint="selectors have no functions")
        return super()._primary()

    def _infix(self, op: str, left: Node) -> Node:
        if op == "IS":
            return self._is_null(left)
        if op not in ("LIKE", "NOT LIKE", "IN", "NOT IN", "BETWEEN", "NOT BETWEEN"):
            return self._binary(op, left)
        token = self._take_operator(op)
        if op.endswith("LIKE"):
            operands = [left, self._string("a pattern, as in x LIKE 'a%'")]
            if self._accept("ESCAPE"):
                operands.append(self._string("one character, as in ESCAPE '!'"))
            return Node(op, token, tuple(operands))
        if op.endswith("IN"):
            opening = self._peek()
            self._expect("(", hint="write a list of strings: x IN ('a', 'b')")
            strings = self._listed(opening, lambda: self._string("strings, as in x IN ('a', 'b')"))
            return Node(op, token, (left, *strings))
        low = self._read(_OPERAND_RANK)
        self._expect("AND", hint="write x BETWEEN 1 AND 5")
        return Node(op, token, (left, low, self._read(_OPERAND_RANK)))

    def _is_null(self, left: Node) -> Node:
        token = self._take()
        op = "IS NOT NULL" if self._accept("NOT") else "IS NULL"
        self._expect("NULL", hint="selectors have only IS NULL and IS NOT NULL; write `x = TRUE` for a boolean")
        return Node(op, token, (left,))

    def _string(self, expected: str) -> Node:
        if self._peek().kind != "string":
            raise self._error("expected a string", hint=f"write {expected}")
        return Node("literal", self._take())

    def _trailing(self) -> PredicateSyntaxError:
        text = self._peek().text
        if text in _FOREIGN:
            return self._error(f"unknown operator `{text}`", hint=f"write {_FOREIGN[text]}")
        if text == "%":
            return self._error("selectors have no remainder", hint="use an attribute that holds it")
        return super()._trailing()


def _name(text: str) -> str:
    for index, char in enumerate(text):
        if not char.isascii() and unicodedata.category(char) not in (_NAME_PART if index else _NAME_START):
            hint = "use letters, digits, _ and $; put text into single quotes"
            raise ValueDomainError(f"a name cannot have the character U+{ord(char):04X}", hint=hint)
    return validate_name(text)


def _number(text: str) -> int | float:
    """Return the value of a Java literal. 2**63 is allowed for a minus sign before it: `selector` checks that."""
    digits = re.sub(r"(?<=[0-9a-fA-F])_+(?=[0-9a-fA-F])", "", text)
    if match := _INTEGER.fullmatch(digits):
        return _integer(match[1])
    is_octal = digits.isdigit()  # with an 8 or 9
    if not is_octal and (match := _DECIMAL.fullmatch(digits) or _HEXADECIMAL.fullmatch(digits)):
        return _float(match[1], match[2])
    hint = "a leading 0 means octal; remove it" if is_octal else "write a number as 57, 6.2, 7E3 or 0xFF"
    raise ValueDomainError(f"`{text[:24]}` is not a number", hint=hint)


def _integer(digits: str) -> int:
    base = {"0x": 16, "0b": 2}.get(digits[:2].lower(), 8 if digits[0] == "0" else 10)
    value = int(digits, base) if len(digits) <= 70 else INT_MAX + 2
    if value > INT_MAX + 1:
        validate_value(value, digits[:24])  # raises an error
    return value


def _float(digits: str, suffix: str) -> float:
    try:
        value = float.fromhex(digits) if digits[:2] in ("0x", "0X") else float(digits)
        value = struct.unpack("f", struct.pack("f", value))[0] if suffix in ("f", "F") else value
    except OverflowError:
        value = float("inf")
    validate_value(value, digits[:24])
    return value
