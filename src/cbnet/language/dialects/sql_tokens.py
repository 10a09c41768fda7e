"""Tokens of SQL-like text, with their positions, and errors at them.

Linear in the length of the text. Every character belongs to a token, or is an error with a remedy.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import ClassVar, NamedTuple, TypeVar

from cbnet.errors import InputError, PredicateSyntaxError
from cbnet.language.values import Value

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


class SqlTokens(ABC):
    """The tokens of a text, with a position.

    PATTERN: a pattern with the groups `space`, `word`, `symbol` and those of literals, which `_decode` decodes.
    STRAY: the problem and the remedy for characters that begin no token.
    """

    PATTERN: ClassVar[re.Pattern[str]]
    KEYWORDS: ClassVar[frozenset[str]]
    STRAY: ClassVar[Mapping[str, tuple[str, str]]] = {}

    def __init__(self, text: str) -> None:
        if not isinstance(text, str):
            raise InputError(f"an expression must be a string, not {text!r}", hint="write it as text")
        self._text = text
        self._next = 0
        self._tokens: list[SqlToken] = []
        self._lexical_error: PredicateSyntaxError | None = None  # a syntax error before it is reported first
        self._tokenize()

    def located(self, token: SqlToken, check: Callable[[_Input], _Result], value: _Input) -> _Result:
        """Return the result of a check; an error gets the position of the token."""
        try:
            return check(value)
        except InputError as error:
            raise self.error_at(token, error.problem, error.hint) from None

    def error_at(self, token: SqlToken, problem: str, hint: str | None) -> PredicateSyntaxError:
        """Return an error at a token, also for what is found in the tree."""
        return PredicateSyntaxError(problem, self._text, token.position, length=len(token.text), hint=hint)

    @abstractmethod
    def _decode(self, kind: str, text: str) -> Value:
        """Return the value of a word or literal; raise an `InputError` if it has none."""

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

    def _error(self, problem: str, token: SqlToken | None = None, *, hint: str) -> PredicateSyntaxError:
        """Return an error at a token, or at the next one."""
        if self._lexical_error and self._peek().kind == "end":
            return self._lexical_error
        return self.error_at(token or self._peek(), problem, hint)

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
                self._lexical_error = self.error_at(token, error.problem, error.hint)
                return
        self._tokens.append(token)

    def _stray(self, position: int) -> PredicateSyntaxError:
        char = self._text[position]
        problem, hint = self.STRAY.get(char, (f"unexpected character {char!r}", "remove it, or put it into a string"))
        return PredicateSyntaxError(problem, self._text, position, hint=hint)
