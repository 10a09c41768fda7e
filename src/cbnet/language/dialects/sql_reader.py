"""Reader of SQL-like text: tokens, and a syntax tree by operator precedence.

A dialect is a subclass with its pattern of tokens, its keywords and the ranks of its operators. It reads what is
special to it (literals, calls, IN lists …) in `_decode`, `_primary` and `_infix`, and translates the tree of `Node`s.
No input exhausts the stack: the depth of the tree is limited, and a chain of AND or OR is one node.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple, TypeVar

from cbnet.errors import InputError, LimitError, PredicateSyntaxError
from cbnet.language.values import Value

MAX_TREE_DEPTH = 100  # parentheses and operators in each other; a reader takes up to three Python frames for each
_Input = TypeVar("_Input")
_Result = TypeVar("_Result")


class SqlToken(NamedTuple):
    """A token: the group of the pattern that it matched (or "keyword", "end"), its value, position and spelling.

    The value of a keyword is in upper case.
    """

    kind: str
    value: Value
    position: int
    text: str


@dataclass(frozen=True, slots=True)
class Node:
    """A node of the syntax tree: an operator with its operands, or a leaf ("name", "literal") with its value."""

    op: str
    token: SqlToken  # its place
    operands: tuple[Node, ...] = ()
    depth: int = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "depth", 1 + max((operand.depth for operand in self.operands), default=0))

    @property
    def value(self) -> Value:
        """The value of a literal, or the name."""
        return self.token.value


class SqlReader:
    """The tokens of a text, with a position, and the rules of expressions.

    PATTERN: a pattern with the groups `space`, `word`, `symbol` and those of literals, which `_decode` decodes.
    PREFIX, INFIX: ranks of the operators; a higher rank binds more. "NOT IN" is an operator of two tokens.
    CHAINS: associative operators; a chain of one is a single node with all operands.
    STRAY: the problem and the remedy for characters that begin no token.
    """

    PATTERN: ClassVar[re.Pattern[str]]
    KEYWORDS: ClassVar[frozenset[str]]
    PREFIX: ClassVar[Mapping[str, int]]
    INFIX: ClassVar[Mapping[str, int]]
    CHAINS: ClassVar[frozenset[str]] = frozenset({"AND", "OR"})
    STRAY: ClassVar[Mapping[str, tuple[str, str]]] = {}

    def __init__(self, text: str) -> None:
        self._text = text
        self._next = 0
        self._depth = 0
        self._tokens: list[SqlToken] = []
        self._lexical_error: PredicateSyntaxError | None = None  # a syntax error before it is reported first
        self._tokenize()

    def tree(self) -> Node:
        """Return the tree of the whole text."""
        if self._peek().kind == "end":
            raise self._error("the expression is empty", hint="write TRUE to match every message")
        node = self._read(0)
        if self._peek().kind != "end" or self._lexical_error:
            raise self._trailing()
        return node

    # What dialects read themselves

    def _decode(self, kind: str, text: str) -> Value:
        """Return the value of a word or literal; raise an `InputError` if it has none."""
        raise NotImplementedError

    def _primary(self) -> Node:
        """Read a name or a literal."""
        token = self._peek()
        if token.kind in ("symbol", "keyword", "end"):
            raise self._missing_operand()
        return Node("name" if token.kind == "word" else "literal", self._take())

    def _infix(self, op: str, left: Node) -> Node:
        """Read the rest of an operation, from its operator on."""
        return self._binary(op, left)

    # Precedence

    def _read(self, floor: int) -> Node:
        """Read an expression of operators that have at least a rank."""
        self._descend()
        left = self._operand()
        while self.INFIX.get(op := self._operator(), -1) >= floor:
            left = self._checked(self._infix(op, left))
        self._depth -= 1
        return left

    def _operand(self) -> Node:
        token = self._peek()
        if self._is("("):
            return self._parenthesised()
        if token.kind not in ("symbol", "keyword") or token.value not in self.PREFIX:
            return self._primary()
        self._take()
        return self._checked(Node(str(token.value), token, (self._read(self.PREFIX[str(token.value)]),)))

    def _parenthesised(self) -> Node:
        opening = self._take()
        inner = self._read(0)
        self._close(opening)
        return inner

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
        return f"NOT {self._tokens[self._next + 1].value}" if token.value == "NOT" else str(token.value)

    def _take_operator(self, op: str) -> SqlToken:
        token = self._take()
        if op.startswith("NOT "):
            self._take()
        return token

    def _checked(self, node: Node) -> Node:
        self._check_depth(node.depth, node.token)
        return node

    def _descend(self) -> None:
        self._depth += 1
        self._check_depth(self._depth, self._peek())

    def _check_depth(self, depth: int, token: SqlToken) -> None:
        if depth > MAX_TREE_DEPTH:
            hint = "remove redundant parentheses, or split the expression"
            limit = LimitError("nested parentheses and operators", depth, MAX_TREE_DEPTH, hint=hint)
            location = PredicateSyntaxError("", self._text, token.position)
            raise limit.at(line=location.line, column=location.column)

    # Tokens

    def _peek(self) -> SqlToken:
        return self._tokens[self._next]

    def _take(self) -> SqlToken:
        self._next += self._peek().kind != "end"
        return self._tokens[self._next - 1]

    def _is(self, *spellings: str) -> bool:
        token = self._peek()
        return token.kind in ("symbol", "keyword") and token.value in spellings

    def _accept(self, spelling: str) -> bool:
        accepted = self._is(spelling)
        self._next += accepted
        return accepted

    def _expect(self, spelling: str, hint: str) -> None:
        if not self._accept(spelling):
            raise self._error(f"expected `{spelling}`", hint=hint)

    def _close(self, opening: SqlToken) -> None:
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
        self._tokens.append(SqlToken("end", "", position, ""))

    def _add(self, kind: str, text: str, position: int) -> None:
        token = SqlToken(kind, text, position, text)
        if kind == "word" and text.isascii() and text.upper() in self.KEYWORDS:
            token = token._replace(kind="keyword", value=text.upper())
        elif kind != "symbol":
            try:
                token = token._replace(value=self._decode(kind, text))
            except InputError as error:
                self._lexical_error = self._error_at(token, error.problem, error.hint)
                return
        self._tokens.append(token)

    # Errors

    def _located(self, token: SqlToken, check: Callable[[_Input], _Result], value: _Input) -> _Result:
        """Return the result of a check; an error gets the position of the token."""
        try:
            return check(value)
        except InputError as error:
            raise self._error_at(token, error.problem, error.hint) from None

    def _error(self, problem: str, token: SqlToken | None = None, *, hint: str) -> PredicateSyntaxError:
        """Return an error at a token, or at the next one."""
        if self._lexical_error and self._peek().kind == "end":
            return self._lexical_error
        return self._error_at(token or self._peek(), problem, hint)

    def _error_at(self, token: SqlToken, problem: str, hint: str | None) -> PredicateSyntaxError:
        return PredicateSyntaxError(problem, self._text, token.position, length=len(token.text), hint=hint)

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

    def _stray(self, position: int) -> PredicateSyntaxError:
        char = self._text[position]
        problem, hint = self.STRAY.get(char, (f"unexpected character {char!r}", "remove it, or put it into a string"))
        return PredicateSyntaxError(problem, self._text, position, hint=hint)
