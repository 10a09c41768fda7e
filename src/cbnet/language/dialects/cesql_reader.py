r"""Reader of CloudEvents SQL [CESQL 1.0 §2, §3.6].

    expression = expression ( "AND" | "OR" | "XOR" ) expression
               | expression ( "=" | "!=" | "<>" | "<" | "<=" | ">" | ">=" ) expression
               | expression ( "+" | "-" | "*" | "/" | "%" ) expression
               | expression [ "NOT" ] "IN" "(" expression { "," expression } ")" | expression [ "NOT" ] "LIKE" string
               | ( "NOT" | "-" ) expression | "EXISTS" name | function "(" [ expression { "," expression } ] ")"
               | name | integer | string | "TRUE" | "FALSE" | "(" expression ")"

Operators bind in this order, the first the least; AND, OR and XOR bind alike, from left to right, and NOT binds more
than a comparison. Keywords and functions have any case. A string has ' or " around it; `\'` and `\"` are quotes in it.
"""

from __future__ import annotations

import re
from typing import ClassVar

from cbnet.errors import PredicateSyntaxError, ValueDomainError
from cbnet.language.dialects.event_attributes import check_attribute
from cbnet.language.dialects.sql_reader import Node, SqlReader
from cbnet.language.syntax.lexer import Token
from cbnet.language.values import Value, validate_text

INTEGER_MAX = 2**31 - 1  # integers of CloudEvents have 32 bits
_FOREIGN = {"==": "=", "&&": "AND", "||": "OR", "IS": "EXISTS x", "BETWEEN": "x >= 1 AND x <= 5"}
NEGATED = frozenset({"!=", "<>", "NOT LIKE", "NOT IN"})
_COMPARISONS = frozenset({"=", "<", "<=", ">", ">=", "LIKE", "IN"})
CONDITIONS = frozenset({"AND", "OR", "XOR", "NOT", "EXISTS", "BOOL()"}) | _COMPARISONS | NEGATED  # nodes that are bools


class CesqlReader(SqlReader):
    """The tokens and the tree of an expression. A node of a call has the function in upper case and "()"."""

    PATTERN = re.compile(
        r"""(?P<space>[\ \t\r\n]+)
        | (?P<integer>[0-9]+(?![A-Za-z0-9_]))
        | (?P<word>[A-Za-z0-9_]+)
        | (?P<string>'(?:[^'\\]++|\\.)*+'|"(?:[^"\\]++|\\.)*+")
        | (?P<symbol><>|!=|<=|>=|==|&&|\|\||[-+*/%=<>(),])""",
        re.VERBOSE | re.DOTALL,
    )
    KEYWORDS = frozenset({"AND", "OR", "XOR", "NOT", "LIKE", "EXISTS", "IN", "TRUE", "FALSE"})
    PREFIX: ClassVar = {"NOT": 7, "-": 7}
    INFIX: ClassVar = {
        "AND": 1, "OR": 1, "XOR": 1,
        "=": 2, "!=": 2, "<>": 2, "<": 2, "<=": 2, ">": 2, ">=": 2,
        "+": 3, "-": 3, "*": 4, "/": 4, "%": 4,
        "IN": 5, "NOT IN": 5, "LIKE": 6, "NOT LIKE": 6,
    }  # fmt: skip
    CHAINS = frozenset({"AND", "OR", "XOR"})
    STRAY: ClassVar = {
        "'": ("unclosed quote", r"end the string with `'`; inside it write \' for a quote"),
        '"': ("unclosed quote", r'end the string with `"`; inside it write \" for a quote'),
        "!": ("unexpected `!`", "write NOT, or != for unequal values"),
        ";": ("unexpected semicolon", "remove it; a rule is one expression"),
        ".": ("unexpected dot", "numbers are integers, and attributes have no parts: CESQL cannot read the data"),
        "`": ("names have no quotes", "write the name alone"),
    }

    def _decode(self, kind: str, text: str) -> Value:
        if kind == "integer":
            value = int(text.lstrip("0")[:11] or "0")
            if value > INTEGER_MAX + 1:  # 2**31 is allowed for a minus sign before it
                raise _range_error(text)
            return value
        if kind == "string":
            return validate_text(text[1:-1].replace("\\" + text[0], text[0]), "string")
        return text

    def _primary(self) -> Node:
        token = self._peek()
        if self._is("EXISTS"):
            return self._exists()
        if self._is("+") and self._peek(1).kind == "integer":
            self._take()
            return Node("literal", self._checked_integer(self._take()))
        if token.kind == "word":
            return self._call() if self._is("(", ahead=1) else Node("name", self._name())
        if token.kind == "integer":
            return Node("literal", self._checked_integer(self._take()))
        return super()._primary()

    def _operand(self) -> Node:
        if self._is("-") and self._peek(1).kind == "integer":
            sign, token = self._take(), self._take()
            return Node("literal", sign._replace(kind="integer", value=-int(token.value or 0)))
        return super()._operand()

    def _infix(self, op: str, left: Node) -> Node:
        if op.endswith("IN"):
            token = self._take_operator(op)
            opening = self._peek()
            self._expect("(", hint="write a list of values: x IN ('a', 'b')")
            return Node(op, token, (left, *self._listed(opening, lambda: self._read(0))))
        if op.endswith("LIKE"):
            token = self._take_operator(op)
            if self._peek().kind != "string":
                raise self._error("expected a pattern", hint="write a string, as in x LIKE 'a%'")
            return Node(op, token, (left, Node("literal", self._take())))
        return self._binary(op, left)

    def _exists(self) -> Node:
        token = self._take()
        if self._peek().kind not in ("word", "integer"):
            raise self._error("expected a name", hint="write EXISTS subject")
        return Node("EXISTS", token, (Node("name", self._name()),))

    def _call(self) -> Node:
        token, opening = self._take(), self._take()
        operands = () if self._accept(")") else self._listed(opening, lambda: self._read(0))
        return Node(f"{str(token.value).upper()}()", token, operands)

    def _name(self) -> Token:
        token = self._take()
        self.located(token, check_attribute, token.text)
        return token._replace(value=token.text)

    def _checked_integer(self, token: Token) -> Token:
        if int(token.value or 0) > INTEGER_MAX:
            error = _range_error(token.text)
            raise self._error(error.problem, token, hint=str(error.hint))
        return token

    def _trailing(self) -> PredicateSyntaxError:
        text = self._peek().text
        if text.upper() in _FOREIGN:
            return self._error(f"unknown operator `{text}`", hint=f"write {_FOREIGN[text.upper()]}")
        return super()._trailing()


def _range_error(text: str) -> ValueDomainError:
    return ValueDomainError(f"{text[:24]} is beyond 32 bits", hint="no attribute of an event holds such an integer")
