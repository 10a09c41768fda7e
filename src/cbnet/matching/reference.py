"""The brute-force matcher: the specification of every engine.

It tests each predicate in turn, so its time grows with the table. It is meant to be obviously
right; the meaning of a constraint is defined in one module, `language.constraint`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from cbnet.language.message import Message
from cbnet.language.predicate import Predicate

Key = TypeVar("Key")


def match(predicates: Mapping[Key, Predicate], message: Message) -> list[Key]:
    """Return the rules whose predicate the message matches, in the order of the table."""
    return [rule for rule, predicate in predicates.items() if predicate.matches(message)]
