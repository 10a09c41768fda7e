"""Table: the forwarding table of a router, from interface to predicate.

table = Table.build({"alerts": 'severity > 2', "milan": 'dest = "MXP" and price < 500'})
table.match({"dest": "MXP", "price": 300})        # ['milan']
print(table.explain({"dest": "MXP"}, "milan"))     # why not?
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Generic, TypeAlias, TypeVar

from cbnet.errors import InputError, ValueDomainError
from cbnet.language.covering import PredicateLike, as_predicate
from cbnet.language.message import Message
from cbnet.language.predicate import Predicate
from cbnet.language.values import INT_MAX, INT_MIN, checked_text
from cbnet.matching import reference
from cbnet.matching.explain import Explanation, explain

Interface: TypeAlias = str | int
Key = TypeVar("Key", bound=Interface)


class Table(Generic[Key]):
    """An immutable forwarding table. Make one with `Table.build`."""

    def __init__(self, predicates: Mapping[Key, Predicate]) -> None:
        self._predicates = dict(predicates)

    @classmethod
    def build(cls, predicates: Mapping[Key, PredicateLike]) -> Table[Key]:
        """Make a table from the predicate, or the text of it, of each interface."""
        if not isinstance(predicates, Mapping):
            raise InputError("expected a mapping from interface to predicate", hint='write {"a": "x = 1"}')
        return cls({key: _predicate(checked_interface(key), said) for key, said in predicates.items()})

    def match(self, message: Message | Mapping[str, Any]) -> list[Key]:
        """Return the interfaces that the message goes to, in the order of the table.

        A mapping is taken as the JSON form of a message: its key "#" holds the tags.
        """
        return reference.match(self._predicates, Message.of(message))

    def explain(self, message: Message | Mapping[str, Any], interface: Key) -> Explanation:
        """Say why the message goes to the interface, or what kept it from going there."""
        return explain(Message.of(message), interface, self[interface])

    def __getitem__(self, interface: Key) -> Predicate:
        try:
            return self._predicates[interface]
        except KeyError:
            known = ", ".join(repr(known) for known in list(self._predicates)[:5])
            raise InputError(
                f"no interface {interface!r} in the table", hint=f"it has {known or 'none'} …"
            ) from None

    def __iter__(self) -> Iterator[Key]:
        return iter(self._predicates)

    def __len__(self) -> int:
        return len(self._predicates)

    def __repr__(self) -> str:
        filters = sum(map(len, self._predicates.values()))
        return f"<Table: interfaces {len(self)}, filters {filters}>"


def checked_interface(interface: object) -> Interface:
    """Return the name or number of an interface, or say why it cannot be one."""
    if isinstance(interface, str):
        return checked_text(interface, "interface")
    if isinstance(interface, int) and not isinstance(interface, bool) and INT_MIN <= interface <= INT_MAX:
        return interface
    written = json.dumps(interface, default=repr)
    raise ValueDomainError(f"{written} cannot be an interface", hint="use a string or a 64-bit int")


def _predicate(interface: Interface, said: PredicateLike) -> Predicate:
    try:
        return as_predicate(said)
    except InputError as error:
        raise error.at(file=f"interface {interface!r}") from None
