"""Predicates of clients, as texts of which each is read once.

A predicate of 64 KiB takes up to a fifth of a second to read, and a router needs it several times: the encoded filters,
and the predicate, to compare it with rights. The results for the last few long ones are kept, and the error of one that
is not valid. A transport reads a long one in a thread (`read_ahead`) before its frame is handled.
"""

from __future__ import annotations

from contextlib import suppress
from copy import copy
from functools import lru_cache
from time import thread_time
from typing import Any, Final

from cbnet.errors import InputError
from cbnet.language.predicate import Predicate
from cbnet.language.relations.normal_form import normalised
from cbnet.language.syntax.byte_form import predicate_to_bytes
from cbnet.language.syntax.parser import parse
from cbnet.network.protocol.fields import PREDICATE_LIMITS

LONG: Final = 2_000  # characters; shorter ones take a few milliseconds
_KEPT: Final = 8  # long predicates


def filters_of(text: str) -> list[bytes]:
    """Return the encoded filters of a predicate; raise an `InputError` if it is not valid."""
    return predicate_to_bytes(text, PREDICATE_LIMITS) if len(text) < LONG else [*_read(text, is_parsed=False)]


def predicate_of(text: str) -> Predicate:
    """Return a predicate; raise an `InputError` if it is not valid."""
    predicate: Predicate = parse(text, PREDICATE_LIMITS) if len(text) < LONG else _read(text, is_parsed=True)
    return predicate


def read_ahead(text: str, *, is_compared: bool) -> float:
    """Read a long predicate, so that the other functions return its results, or its error, at once.

    is_compared: whether `predicate_of` is needed, too, which takes several times as long for plain filters.

    Return the processor time that it takes, also if it was read before: other routers have to decode its filters.
    """
    began, cost = thread_time(), _cost_of(text)
    with suppress(InputError):
        for encoded in filters_of(text):
            normalised(encoded)  # keeps the last ones with conditions, decoded and normalised
        if is_compared:
            predicate_of(text)
    cost[0] = max(cost[0], thread_time() - began)
    return cost[0]


@lru_cache(maxsize=_KEPT)
def _cost_of(_: str) -> list[float]:
    return [0.0]


def _read(text: str, *, is_parsed: bool) -> Any:
    found = _kept(text, is_parsed)
    if isinstance(found, InputError):
        raise copy(found)
    return found


@lru_cache(maxsize=2 * _KEPT)
def _kept(text: str, is_parsed: bool) -> Any:
    try:
        return (parse if is_parsed else predicate_to_bytes)(text, PREDICATE_LIMITS)
    except InputError as error:
        return error.with_traceback(None)
