"""Immutable, hashable and ordered objects, compared by a key.

Messages, constraints, filters and predicates define a key; equality, order and hash follow from it.
The key is computed on first use: most messages are matched once and never compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import total_ordering
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, TypeVar

from cbnet.errors import ValueDomainError

Member = TypeVar("Member")


@total_ordering
class ValueObject:
    """An immutable object, compared by its key, with objects of its own family only."""

    __slots__ = ("_hash", "_key")
    _family: ClassVar[str]
    _key: tuple[Any, ...]
    _hash: int

    if TYPE_CHECKING:

        def _make_key(self) -> tuple[Any, ...]:
            """Return the key."""

    def _set(self, **members: object) -> None:
        """Set members during construction."""
        for name, member in members.items():
            object.__setattr__(self, name, member)

    def _get_key(self) -> tuple[Any, ...]:
        try:
            return self._key
        except AttributeError:
            self._set(_key=self._make_key())
            return self._key

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a {type(self).__name__} is immutable: create a new one")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a {type(self).__name__} is immutable: create a new one")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ValueObject) or self._family != other._family:
            return NotImplemented
        return self is other or self._get_key() == other._get_key()

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, ValueObject) or self._family != other._family:
            return NotImplemented
        return self._get_key() < other._get_key()

    def __hash__(self) -> int:
        try:
            return self._hash
        except AttributeError:
            self._set(_hash=hash(self._get_key()))
            return self._hash


def validate_members(members: Iterable[Member], expected: type[Member]) -> Iterator[Member]:
    """Yield the members of a conjunction or disjunction; raise an error for one of another type."""
    if isinstance(members, (str, ValueObject)) or not isinstance(members, Iterable):
        raise ValueDomainError(
            f"expected a list of {expected.__name__}, not {members!r}",
            hint="put it in a list, or use parse()",
        )
    for member in members:
        if not isinstance(member, expected):
            raise ValueDomainError(f"expected a {expected.__name__}, not {member!r}", hint="use parse() for text")
        yield member
