"""SQL selectors, as JMS and AMQP brokers have them, translated to formulas [JMS 2.0 §3.8.1].

A property is NULL if the message has no such attribute, or its value is null. A condition is true, false or unknown:
unknown if it compares a NULL, false if it compares values of different types. Our tests are unknown in both cases,
and a filter asks for one outcome; so each condition becomes two formulas, one for true and one for false.

    n = 5           true: n = 5         false: n != null and (n = 5) is not true
    n IS NULL       true: (n = null) is not false       false: n != null

`/` keeps the fraction, as in ActiveMQ, Qpid and RabbitMQ: a message does not keep Java's types.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from cbnet.errors import PredicateSyntaxError
from cbnet.language.condition import Comparison, Like, Membership, operands_of
from cbnet.language.constraint import ORDERING, Op, value_set
from cbnet.language.dialects.event_attributes import present
from cbnet.language.dialects.selector_reader import SelectorReader
from cbnet.language.dialects.sql_reader import Node
from cbnet.language.expression import Arithmetic, Attribute, Constant, Expression, folded, names
from cbnet.language.formula import FALSE, NOT_FALSE, NOT_TRUE, TRUE, AllOf, AnyOf, Formula, Is
from cbnet.language.like_pattern import escape_pattern, validate_pattern
from cbnet.language.syntax.lexer import Token
from cbnet.language.values import INT_MAX, ValueType, canonical, validate_value, value_type

_OPERATORS = {"=": Op.EQ, "<>": Op.NE, "<": Op.LT, "<=": Op.LE, ">": Op.GT, ">=": Op.GE}
_ARITHMETIC = frozenset({"+", "-", "*", "/"})
_NULL, _ZERO = Constant(None), Constant(0)


def formula(source: str) -> Formula:
    """Return the formula of the messages that a selector selects."""
    reader = SelectorReader(source)
    if not source.strip(" \t\f\r\n"):
        return TRUE  # an empty selector is none
    return _Translator(reader).condition(reader.tree()).true


@dataclass(frozen=True, slots=True)
class _Condition:
    """A condition of a selector: the formulas of the messages for which it is true, and false. Else it is unknown."""

    true: Formula
    false: Formula

    def __invert__(self) -> _Condition:
        return _Condition(self.false, self.true)


@dataclass(frozen=True, slots=True)
class _Operand:
    """An operand of a comparison. Its type is None for a property: only a message tells."""

    expression: Expression
    type: ValueType | None
    token: Token


class _Translator:
    def __init__(self, reader: SelectorReader) -> None:
        self._reader = reader

    def condition(self, node: Node) -> _Condition:
        if node.op in ("AND", "OR"):
            return _joined(node.op, map(self.condition, node.operands))
        if node.op == "NOT":
            return ~self.condition(node.operands[0])
        if node.op in _OPERATORS:
            left, right = map(self._operand, node.operands)
            return self._compared(node.op, left, right)
        if node.op in ("IS NULL", "IS NOT NULL"):
            name = self._property(node)
            is_null = _Condition(Is(Comparison(Op.EQ, name, _NULL), NOT_FALSE), present(name))
            return is_null if node.op == "IS NULL" else ~is_null
        if node.op.endswith("BETWEEN"):
            return self._between(node)
        if node.op.endswith("LIKE"):
            return self._negated_if_not(node, Like(self._property(node), self._pattern(node)))
        if node.op.endswith("IN"):
            members = value_set([member.value for member in node.operands[1:]], "value")
            return self._negated_if_not(node, Membership(self._property(node), members))
        return self._boolean(node)

    def _boolean(self, node: Node) -> _Condition:
        """Return the condition of a boolean property or literal alone."""
        if isinstance(node.value, bool):
            return _Condition(TRUE, FALSE) if node.value else _Condition(FALSE, TRUE)
        if node.op == "name":
            return _decided(Comparison(Op.EQ, Attribute(str(node.value)), Constant(True)))
        raise self._error(node.token, "expected a condition", "write a comparison, as in x = 1")

    def _negated_if_not(self, node: Node, test: Like | Membership) -> _Condition:
        condition = _decided(test)
        return ~condition if node.op.startswith("NOT") else condition

    def _property(self, node: Node) -> Attribute:
        name = node.operands[0]
        if name.op != "name":
            raise self._error(name.token, f"`{node.op}` needs the name of a property before it", "write the name alone")
        return Attribute(str(name.value))

    def _between(self, node: Node) -> _Condition:
        """Return `x >= low AND x <= high`, or `x < low OR x > high`, by which the specification defines it."""
        operand, low, high = map(self._operand, node.operands)
        is_outside = node.op.startswith("NOT")
        return _joined(
            "OR" if is_outside else "AND",
            [
                self._compared("<" if is_outside else ">=", operand, low),
                self._compared(">" if is_outside else "<=", operand, high),
            ],
        )

    def _pattern(self, node: Node) -> str:
        """Return our pattern for one with any escape character or none."""
        _, pattern, *escapes = node.operands
        escape = str(escapes[0].value) if escapes else None
        if escape is not None and len(escape) != 1:
            raise self._error(escapes[0].token, "ESCAPE needs one character", "write ESCAPE '!'")
        parts: list[str] = []
        is_escaped = False
        for char in str(pattern.value):
            if char == escape and not is_escaped:
                is_escaped = True
            else:
                parts.append(char if char in "%_" and not is_escaped else escape_pattern(char))
                is_escaped = False
        if is_escaped:
            raise self._error(pattern.token, "the pattern ends with its escape character", "escape a % or _ with it")
        return self._reader.located(pattern.token, validate_pattern, "".join(parts))

    def _compared(self, op: str, left: _Operand, right: _Operand) -> _Condition:
        operator = _OPERATORS[op]
        for operand in (left, right):
            self._reader.check_expression(operand.expression, operand.token)
            if operator in ORDERING and operand.type not in (None, ValueType.NUMBER):
                problem = f"`{op}` compares numbers, not a {operand.type}"
                raise self._error(operand.token, problem, "selectors compare strings and booleans with = and <>")
        are_constants = isinstance(left.expression, Constant) and isinstance(right.expression, Constant)
        if are_constants and (left.type is ValueType.BOOL) != (right.type is ValueType.BOOL):
            raise self._error(right.token, f"a {left.type} never equals a {right.type}", "compare a property with it")
        if operator in ORDERING and left.type is right.type is None:
            left = self._numeric(left)  # both could be strings, which we order and selectors do not
        return _decided(Comparison(operator, left.expression, right.expression))

    def _operand(self, node: Node) -> _Operand:
        if node.op == "name":
            return _Operand(Attribute(str(node.value)), None, node.token)
        if node.op == "literal":
            return self._literal(node.token)
        if node.op not in _ARITHMETIC:
            hint = "join conditions with AND, OR and NOT"
            raise self._error(node.token, f"`{node.op}` gives a condition, not a value", hint)
        if len(node.operands) == 1:
            return self._signed(node)
        left, right = map(self._operand, node.operands)
        return self._calculated(node.op, left, right, node.token)

    def _literal(self, token: Token) -> _Operand:
        if isinstance(token.value, int):
            self._reader.located(token, lambda value: validate_value(value, "number"), token.value)
        return _Operand(Constant(canonical(token.value)), value_type(token.value), token)

    def _signed(self, node: Node) -> _Operand:
        """Return -x as 0 - x, and +x as a number."""
        inner = node.operands[0]
        if node.op == "-" and inner.value == INT_MAX + 1 and isinstance(inner.value, int):
            return _Operand(Constant(-inner.value), ValueType.NUMBER, node.token)
        operand = self._operand(inner)
        if node.op == "-":
            return self._calculated("-", _Operand(_ZERO, ValueType.NUMBER, node.token), operand, node.token)
        return operand if operand.type is ValueType.NUMBER else self._numeric(operand)

    def _numeric(self, operand: _Operand) -> _Operand:
        """Return a property as one that has a value only if it is a number."""
        return self._calculated("+", operand, _Operand(_ZERO, ValueType.NUMBER, operand.token), operand.token)

    def _calculated(self, op: str, left: _Operand, right: _Operand, token: Token) -> _Operand:
        for operand in (left, right):
            if operand.type not in (None, ValueType.NUMBER):
                raise self._error(operand.token, f"`{op}` needs numbers, not a {operand.type}", "write a number")
        operation = Arithmetic(op, left.expression, right.expression)
        expression = folded(operation)
        if expression is None:
            raise self._error(token, f"`{operation}` has no value", "correct the operands")
        return _Operand(expression, ValueType.NUMBER, token)

    def _error(self, token: Token, problem: str, hint: str) -> PredicateSyntaxError:
        return self._reader.error_at(token, problem, hint)


def _joined(op: str, conditions: Iterable[_Condition]) -> _Condition:
    parts = list(conditions)
    true, false = tuple(part.true for part in parts), tuple(part.false for part in parts)
    return _Condition(AllOf(true), AnyOf(false)) if op == "AND" else _Condition(AnyOf(true), AllOf(false))


def _decided(test: Comparison | Like | Membership) -> _Condition:
    """Return the condition that is unknown if a property is NULL, and false wherever else the test is not true."""
    expressions = operands_of(test)
    properties = sorted({name for expression in expressions for name in names(expression)})
    false = AllOf((Is(test, NOT_TRUE), *(present(Attribute(name)) for name in properties)))
    nulls = [present(name) for name in expressions if isinstance(name, Attribute) and _compares_nulls(test)]
    return _Condition(AllOf((test, *nulls)) if nulls else test, false)


def _compares_nulls(test: Comparison | Like | Membership) -> bool:
    """Return whether null can make our test true: `null = null` and `null != x + 1` are, but not `null != 1`."""
    if not isinstance(test, Comparison) or isinstance(test.left, Constant) or isinstance(test.right, Constant):
        return False
    return test.op in (Op.EQ, Op.NE)
