"""Reader of SQL-like text: tokens, and a syntax tree by operator precedence.

A dialect is a subclass with its pattern of tokens, its keywords and the ranks of its operators. It reads what is
special to it (literals, calls, IN lists …) in `_decode`, `_primary` and `_infix`, and translates the tree of `Node`s.
Every character belongs to a token, or is an error with a remedy. The time is linear in the length of the text. No input
exhausts the stack: the depth of the tree is limited, and a chain of AND or OR is one node.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from cbnet.errors import InputError, LimitError, PredicateSyntaxError
from cbnet.language.expression import PRECEDENCE, Arithmetic, Call, Expression, check_expression_depth
from cbnet.language.syntax.expressions import MAX_EXPRESSION_NESTING
from cbnet.language.syntax.lexer import Token, TokenReader
from cbnet.language.values import Value

MAX_TREE_DEPTH = 100  # parentheses and operators in each other; a reader takes up to four Python frames for each


@dataclass(frozen=True, slots=True)
class Node:
    """A node of the syntax tree: an operator with its operands, or a leaf ("name", "literal") with its value."""

    op: str
    token: Token  # its place
    operands: tuple[Node, ...] = ()
    depth: int = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "depth", 1 + max((operand.depth for operand in self.operands), default=0))

    @property
    def value(self) -> Value:
        """The value of a literal, or the name."""
        return self.token.value


class SqlReader(TokenReader, ABC):
    """The tokens of a text and the rules of its expressions.

    The kind of a token is the group of the pattern that it matched, or "keyword" or "end". The value of a keyword is in
    upper case.

    PATTERN: a pattern with the groups `space`, `word`, `symbol` and those of literals, which `_decode` decodes.
    STRAY: the problem and the remedy for characters that begin no token.
    PREFIX, INFIX: ranks of the operators; a higher rank binds more. "NOT IN" is an operator of two tokens.
    CHAINS: associative operators; a chain of one is a single node with all operands.
    """

    PATTERN: ClassVar[re.Pattern[str]]
    KEYWORDS: ClassVar[frozenset[str]]
    STRAY: ClassVar[Mapping[str, tuple[str, str]]] = {}
    PREFIX: ClassVar[Mapping[str, int]]
    INFIX: ClassVar[Mapping[str, int]]
    CHAINS: ClassVar[frozenset[str]] = frozenset({"AND", "OR"})

    def __init__(self, text: str) -> None:
        if not isinstance(text, str):
            raise InputError(f"an expression must be a string, not {text!r}", hint="write it as text")
        super().__init__(text)
        self._depth = 0
        self._tokenize()

    def tree(self) -> Node:
        """Return the tree of the whole text."""
        if self._peek().kind == "end":
            raise self._error("the expression is empty", hint="write TRUE to match every message")
        node = self._read(0)
        if self._peek().kind != "end" or self._lexical_error:
            raise self._trailing()
        return node

    def check_expression(self, expression: Expression, token: Token) -> None:
        """Raise an error unless an expression is within the nesting that our text and our tables allow."""
        try:
            check_expression_depth(expression)
        except LimitError as error:
            raise self.limit_error(error, token.position) from None
        self._check_depth(_height(expression), token, MAX_EXPRESSION_NESTING)

    def _primary(self) -> Node:
        """Read a name or a literal. A dialect reads its own forms first."""
        token = self._peek()
        if self._is("TRUE", "FALSE"):
            return Node("literal", self._take()._replace(kind="bool", value=token.value == "TRUE"))
        if token.kind in ("symbol", "keyword", "end"):
            raise self._missing_operand()
        return Node("name" if token.kind == "word" else "literal", self._take())

    def _infix(self, op: str, left: Node) -> Node:
        """Read the rest of an operation, from its operator on. A dialect reads its own forms first."""
        return self._binary(op, left)

    def _read(self, floor: int) -> Node:
        """Read an expression of operators that have at least a rank."""
        self._depth += 1
        self._check_depth(self._depth, self._peek())
        left = self._operand()
        while self.INFIX.get(op := self._operator(), -1) >= floor:
            left = self._checked(self._infix(op, left))
        self._depth -= 1
        return left

    def _operand(self) -> Node:
        token = self._peek()
        if self._is("("):
            self._take()
            inner = self._read(0)
            self._close(token)
            return inner
        if token.kind not in ("symbol", "keyword") or token.value not in self.PREFIX:
            return self._primary()
        self._take()
        return self._checked(Node(str(token.value), token, (self._read(self.PREFIX[str(token.value)]),)))

    def _binary(self, op: str, left: Node) -> Node:
        token, rank = self._take_operator(op), self.INFIX[op]
        operands = [left, self._read(rank + 1)]
        while op in self.CHAINS and self._accept(op):
            operands.append(self._read(rank + 1))
        return Node(op, token, tuple(operands))

    def _operator(self) -> str:
        """Return the operator here, without reading it."""
        token = self._peek()
        if token.kind not in ("symbol", "keyword"):
            return ""
        return f"NOT {self._peek(1).value}" if token.value == "NOT" else str(token.value)

    def _take_operator(self, op: str) -> Token:
        token = self._take()
        if op.startswith("NOT "):
            self._take()
        return token

    def _checked(self, node: Node) -> Node:
        self._check_depth(node.depth, node.token)
        return node

    def _check_depth(self, depth: int, token: Token, limit: int = MAX_TREE_DEPTH) -> None:
        if depth > limit:
            hint = "remove redundant parentheses, or split the expression"
            error = LimitError("nested parentheses and operators", depth, limit, hint=hint)
            raise self.limit_error(error, token.position)

    def _missing_operand(self) -> PredicateSyntaxError:
        token = self._peek()
        if token.kind == "end":
            return self._error("unexpected end of text", hint="write a name or a value")
        if token.kind == "keyword":
            return self._error(f"unexpected `{token.text}`", hint="write a name or a value; it is a reserved word")
        return self._error(f"unexpected `{token.text}`", hint="write a name or a value before it")

    def _trailing(self) -> PredicateSyntaxError:
        if self._is(")"):
            return self._error("unmatched `)`", hint="remove it, or write `(` before")
        return self._error(f"unexpected `{self._peek().text}`", hint="write AND, OR or another operator before it")

    # --- tokens

    @abstractmethod
    def _decode(self, kind: str, text: str) -> Value:
        """Return the value of a word or literal; raise an `InputError` if it has none."""

    def _is(self, *spellings: str, ahead: int = 0) -> bool:
        token = self._peek(ahead)
        return token.kind in ("symbol", "keyword") and token.value in spellings

    def _accept(self, spelling: str) -> bool:
        accepted = self._is(spelling)
        self._next += accepted
        return accepted

    def _expect(self, spelling: str, hint: str) -> None:
        if not self._accept(spelling):
            raise self._error(f"expected `{spelling}`", hint=hint)

    def _listed(self, opening: Token, read: Callable[[], Node]) -> tuple[Node, ...]:
        """Read one or more operands up to the closing parenthesis."""
        found = [read()]
        while self._accept(","):
            found.append(read())
        self._close(opening)
        return tuple(found)

    def _close(self, opening: Token) -> None:
        if self._peek().kind == "end":
            raise self._error("unclosed parenthesis", opening, hint="write `)` at its end")
        self._expect(")", hint="close the parenthesis, or write an operator")

    def _tokenize(self) -> None:
        position = 0
        while position < len(self._text) and not self._lexical_error:
            match = self.PATTERN.match(self._text, position)
            if match is None:
                self._lexical_error = self._stray(position)
                break
            if match.lastgroup != "space":
                self._add(str(match.lastgroup), match[0], position)
            position = match.end()
        self._tokens.append(Token("end", "", position, ""))

    def _add(self, kind: str, text: str, position: int) -> None:
        token = Token(kind, text, position, text)
        if kind == "word" and text.isascii() and text.upper() in self.KEYWORDS:
            token = token._replace(kind="keyword", value=text.upper())
        elif kind != "symbol":
            try:
                token = token._replace(value=self._decode(kind, text))
            except InputError as error:
                self._lexical_error = self.error_at(token, error.problem, error.hint)
                return
        self._tokens.append(token)

    def _stray(self, position: int) -> PredicateSyntaxError:
        char = self._text[position]
        problem, hint = self.STRAY.get(char, (f"unexpected character {char!r}", "remove it, or put it into a string"))
        return PredicateSyntaxError(problem, self._text, position, hint=hint)


def _height(expression: Expression) -> int:
    """Return a bound of the parentheses in the text of an expression and of the operands that wait for others.

    A chain of equal ranks, as in `a + b + c`, needs neither.
    """
    if isinstance(expression, Call):
        return 1 + _height(expression.argument)
    if not isinstance(expression, Arithmetic):
        return 0
    left = expression.left
    is_chain = isinstance(left, Arithmetic) and PRECEDENCE[left.op] == PRECEDENCE[expression.op]
    return max(_height(left) + (not is_chain), _height(expression.right) + 1)
