"""Reader of expressions and of sets of constants.

    expression = product { ( "+" | "-" ) product }
    product    = primary { ( "*" | "/" | "div" | "mod" ) primary }
    primary    = name | value | "-" primary | function "(" expression ")" | "(" expression ")"
    set        = "(" value { "," value } ")"

A minus sign between two names needs blanks: `a-b` is a name. Operations on constants are computed at once.
"""

from __future__ import annotations

from collections.abc import Callable

from cbnet.errors import LimitError, PredicateSyntaxError
from cbnet.language.constraint import Values, value_set
from cbnet.language.expression import (
    FUNCTIONS,
    PRECEDENCE,
    Arithmetic,
    Attribute,
    Call,
    Constant,
    Expression,
    folded,
)
from cbnet.language.syntax.hints import name_hint, value_hint
from cbnet.language.syntax.lexer import Token, TokenReader, TokenType, tokenize
from cbnet.language.values import FOREIGN_VALUES, RESERVED_NAME, Value

MAX_EXPRESSION_NESTING = 32
_CONNECTIVES = frozenset({"&&", "&", "||", "|"})  # of other languages: they join constraints


class ExpressionReader(TokenReader):
    """The rules of expressions."""

    def __init__(self, text: str, tokens: list[Token] | None = None) -> None:
        super().__init__(text)
        self._tokens, self._lexical_error = tokenize(text) if tokens is None else (tokens, None)
        self._depth = 0
        self._closings = _closings(self._tokens)

    def _left_operand(self) -> Expression:
        token = self._peek()
        if token.kind is TokenType.VALUE and not self._continues_operand(self._next + 1):
            raise self._error("expected a name", hint=name_hint(self._tokens[self._next :][:3]))
        return self._expression()

    def _continues_operand(self, index: int) -> bool:
        """Return whether a token is one that follows an operand: an operator, or a word such as `in` or `not in`."""
        token, after = self._tokens[index], self._tokens[min(index + 1, len(self._tokens) - 1)]
        if token.text == "not":
            return after.text in ("in", "like")
        is_operator = token.kind in (TokenType.OPERATOR, TokenType.SIGN) and token.text not in _CONNECTIVES
        return is_operator or token.text in _AFTER_OPERAND

    def _right_operand(self) -> Expression:
        token = self._peek()
        if token.kind not in _FIRST_OF_EXPRESSION or token.text in FOREIGN_VALUES:
            problem = "a value is missing" if token.kind is TokenType.END else "expected a value"
            raise self._error(problem, hint=value_hint(token))
        return self._expression()

    def _expression(self, precedence: int = 1) -> Expression:
        left = self._primary() if precedence > 2 else self._expression(precedence + 1)
        while PRECEDENCE.get(self._peek().text) == precedence and self._peek().kind is not TokenType.VALUE:
            token = self._take()
            right = self._primary() if precedence == 2 else self._expression(precedence + 1)
            left = self._folded(Arithmetic(token.text, left, right), token)
        return left

    def _primary(self) -> Expression:
        token = self._peek()
        if token.kind is TokenType.VALUE:
            return Constant(self._take().value)
        if token.text == "-":
            self._take()
            return self._folded(Arithmetic("-", Constant(0), self._nested(self._primary)), token)
        if token.kind is TokenType.OPEN:
            return self._parenthesised()
        if token.kind is TokenType.NAME and self._tokens[self._next + 1].kind is TokenType.OPEN:
            return self._call()
        return Attribute(self._name())

    def _call(self) -> Expression:
        token = self._take()
        if token.text not in FUNCTIONS:
            hint = f"the functions are {', '.join(FUNCTIONS)}, and count for arrays"
            raise self._error(f"unknown function `{token.text}`", token, hint=hint)
        return self._folded(Call(token.text, self._parenthesised()), token)

    def _parenthesised(self) -> Expression:
        opening = self._take()
        inner = self._nested(self._expression)
        if self._peek().kind is not TokenType.CLOSE:
            if self._peek().kind is TokenType.END:
                raise self._error("unclosed parenthesis", opening, hint="write `)` at its end")
            raise self._error("expected `)`", hint="close the parenthesis of the expression")
        self._take()
        return inner

    def _nested(self, read: Callable[[], Expression]) -> Expression:
        self._depth += 1
        if self._depth > MAX_EXPRESSION_NESTING:
            error = LimitError("nested parentheses in an expression", self._depth, MAX_EXPRESSION_NESTING)
            raise self.limit_error(error, self._peek().position)
        inner = read()
        self._depth -= 1
        return inner

    def _folded(self, operation: Arithmetic | Call, token: Token) -> Expression:
        """Return an operation, or its value if the operands are constants."""
        found = folded(operation)
        if found is None:
            raise self._error(f"`{operation}` has no value", token, hint="correct the operands")
        return found

    def _set(self) -> Values:
        opening = self._peek()
        if self._text.startswith(("[", "{"), opening.position):  # the lexer stopped there
            raise PredicateSyntaxError(
                "expected a list of values", self._text, opening.position, hint="write (1, 2, 3)"
            )
        if opening.kind is not TokenType.OPEN:
            raise self._error("expected a list of values", hint="write (1, 2, 3)")
        values: list[Value] = []
        while opening.kind is TokenType.OPEN or self._peek().kind is TokenType.COMMA:
            self._take()
            token = self._peek()
            if token.kind is not TokenType.VALUE:
                raise self._error("expected a value", hint=value_hint(token))
            values.append(self._take().value)
            opening = token
        if self._peek().kind is not TokenType.CLOSE:
            raise self._error("expected `,` or `)`", hint="write the values as (1, 2, 3)")
        self._take()
        return self.located(opening, lambda listed: value_set(listed, "value"), values)

    def _name(self) -> str:
        token = self._peek()
        if token.kind is not TokenType.NAME:
            problem = "unexpected end of text" if token.kind is TokenType.END else "expected a name"
            raise self._error(problem, hint=name_hint(self._tokens[self._next :][:3]))
        if token.value == RESERVED_NAME:
            raise self._error("the name `#` is reserved for tags", hint="write #name for a tag")
        return str(self._take().value)

    def _is_expression_group(self) -> bool:
        """Return whether the parenthesis here is part of an expression: an operator follows its end."""
        closing = self._closings.get(self._next)
        return closing is not None and self._continues_operand(closing + 1)

    def _is_operator(self, ahead: int = 0) -> bool:
        token = self._tokens[self._next + ahead]
        return token.kind is TokenType.OPERATOR and token.text not in _CONNECTIVES

    def _accept(self, keyword: str) -> bool:
        token = self._peek()
        accepted = token.kind is TokenType.KEYWORD and token.text == keyword
        self._next += accepted
        return accepted


_AFTER_OPERAND = frozenset({"in", "like", "div", "mod"})
_FIRST_OF_EXPRESSION = frozenset({TokenType.NAME, TokenType.VALUE, TokenType.SIGN, TokenType.OPEN})


def _closings(tokens: list[Token]) -> dict[int, int]:
    """Return the index of the closing parenthesis for that of each opening one."""
    closings: dict[int, int] = {}
    stack: list[int] = []
    for index, token in enumerate(tokens):
        if token.kind is TokenType.OPEN:
            stack.append(index)
        elif token.kind is TokenType.CLOSE and stack:
            closings[stack.pop()] = index
    return closings
