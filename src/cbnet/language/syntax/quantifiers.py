"""Reader of quantifiers, which test the items of an array.

    quantifier = ( "all" | "none" ) name "(" predicate ")"
    count      = "count" "(" name [ "(" predicate ")" ] ")"

The names inside are those of an item, and `@` is the item itself. What is read becomes the name of a computed
attribute, with the predicate as it is printed: see `language.computed`.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import NamedTuple

from cbnet.errors import LimitError
from cbnet.language.computed import Kind, computed
from cbnet.language.expression import Attribute, Expression
from cbnet.language.predicate import Predicate
from cbnet.language.syntax.expressions import ExpressionReader
from cbnet.language.syntax.lexer import Token, TokenType
from cbnet.language.values import CONTEXTUAL_KEYWORDS, format_name

MAX_QUANTIFIER_LENGTH = 16_384  # characters of its text, as of a condition
MAX_QUANTIFIERS = 8  # inside each other


class Quantifier(NamedTuple):
    """What is asked of the items of an array."""

    kind: Kind  # all or count
    array: str
    predicate: Predicate | None = None  # None: all of them are counted

    @property
    def name(self) -> str:
        """The name of the attribute that has the answer."""
        array, predicate = format_name(self.array), None if self.predicate is None else f" ({self.predicate})"
        return f"all {array}{predicate}" if self.kind == "all" else f"count({array}{predicate or ''})"


class QuantifierReader(ExpressionReader):
    """The rules of quantifiers."""

    def __init__(self, text: str, tokens: list[Token] | None = None) -> None:
        super().__init__(text, tokens)
        self._inner: set[int] = set()  # indices of the tokens that predicates of items have

    def _outer_tokens(self, first: int) -> list[Token]:
        """Return the tokens that have been read since one, without those of predicates of items."""
        return [self._tokens[index] for index in range(first, self._next) if index not in self._inner]

    @abstractmethod
    def _item_predicate(self, opening: int, closing: int) -> Predicate:
        """Return the predicate between two parentheses, given by the index of their tokens."""

    def _primary(self) -> Expression:
        return Attribute(self._name()) if self._begins_count() or self._begins("all") else super()._primary()

    def _name(self) -> str:
        """Read the name of an attribute, which may be computed."""
        if not self._begins_count() and not self._begins("all"):
            return super()._name()
        first = self._peek()
        name = self._quantifier().name
        if len(name) > MAX_QUANTIFIER_LENGTH:
            error = LimitError("characters in a quantifier", len(name), MAX_QUANTIFIER_LENGTH, hint="shorten it")
            raise self.limit_error(error, first.position)
        return name

    def _begins_count(self) -> bool:
        return self._peek().text == "count" and self._tokens[self._next + 1].kind is TokenType.OPEN

    def _begins(self, quantifier: str) -> bool:
        """Return whether the quantifier `all` or `none` comes next, and not an attribute of this name."""
        if self._peek().text != quantifier:
            return False
        name = self._tokens[self._next + 1]
        is_name = name.kind is TokenType.NAME and name.text not in CONTEXTUAL_KEYWORDS
        return is_name and self._tokens[self._next + 2].kind is TokenType.OPEN

    def _none(self) -> str:
        """Read `none`, and return the name of the number of items that match."""
        self._take()
        return Quantifier("count", self._array(), self._predicate()).name

    def _quantifier(self) -> Quantifier:
        """Read `all` or `count`."""
        if self._take().text == "all":
            return Quantifier("all", self._array(), self._predicate())
        self._take()
        array = self._array()
        predicate = self._predicate() if self._peek().kind is TokenType.OPEN else None
        if self._peek().kind is not TokenType.CLOSE:
            hint = "write count(items), or count(items (price > 3)) to count those that match"
            raise self._error("expected `)`", hint=hint)
        self._take()
        return Quantifier("count", array, predicate)

    def _array(self) -> str:
        token = self._peek()
        is_quoted = token.kind is TokenType.NAME and str(token.value).endswith(")")
        if self._begins_count() or (is_quoted and computed(str(token.value)) is not None):
            raise self._error("expected the name of an array", hint="write count(items)")
        return super()._name()

    def _predicate(self) -> Predicate:
        """Read a predicate in parentheses."""
        opening = self._next
        closing = self._closings.get(opening)
        if closing is None:
            unclosed = self._error("unclosed parenthesis", self._tokens[opening], hint="write `)` at its end")
            raise self._lexical_error or unclosed
        predicate = self._item_predicate(opening, closing)
        if any(filter.tag_names for filter in predicate.filters):
            hint = "test the tags of the message outside the parentheses"
            raise self._error("items of arrays have no tags", self._tokens[opening], hint=hint)
        self._inner.update(range(opening, closing))
        self._next = closing + 1
        return predicate
