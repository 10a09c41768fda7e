"""`POST /check`, `/covers` and `/explain`: predicates without a network, in all dialects.

They compute what `cbnet check`, `cbnet covers` and `cbnet match --explain` do, in a thread and one at a time, so that
the router serves others meanwhile; the limits of a predicate are lower than for a subscription.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from math import prod
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from cbnet.errors import InputError
from cbnet.language import (
    Limits,
    Message,
    Predicate,
    covers,
    parse,
    reduce,
    satisfiable,
    search_counterexample,
    size,
    witness,
)
from cbnet.language.dialects import CBNET
from cbnet.matching.explain import explain
from cbnet.network.door.http_links import HttpLinks
from cbnet.network.door.problems import json_response
from cbnet.network.door.request_input import RequestOptions, json_object

LIMITS: Final = Limits(length=10_000, filters=200, constraints=2_000)
_MAX_COMBINATIONS: Final = 20_000  # of values that an explanation examines


class Playground:
    """The endpoints of a router for predicates."""

    def __init__(self, links: HttpLinks) -> None:
        self._links = links
        self._turn = asyncio.Lock()

    async def check(self, request: Request) -> Response:
        """Return the normal form of a predicate."""
        return await self._answer(request, checked)

    async def covers(self, request: Request) -> Response:
        """Return whether one predicate covers another, or a counter-example."""
        return await self._answer(request, compared)

    async def explain(self, request: Request) -> Response:
        """Return why a message matches a predicate, or why not."""
        return await self._answer(request, explained)

    async def _answer(self, request: Request, compute: Callable[[dict[str, Any]], dict[str, Any]]) -> Response:
        self._links.rights(request)  # a client that the router does not know is refused
        members = await json_object(request)
        async with self._turn:
            return json_response(await asyncio.to_thread(compute, members))


def checked(members: dict[str, Any]) -> dict[str, Any]:
    """Parse a predicate; return it in the native dialect, reduced, and a message that matches."""
    options = RequestOptions(members, ("predicate", "dialect"))
    predicate = _predicate(members, "predicate", options.text("dialect"))
    reduced = reduce(predicate)
    example = witness(predicate)
    return {
        "predicate": str(predicate),
        "reduced": str(reduced),
        "size": size(predicate),
        "reduced_size": size(reduced),
        "satisfiable": satisfiable(predicate),
        "example": None if example is None else example.to_dict(),
    }


def compared(members: dict[str, Any]) -> dict[str, Any]:
    """Test whether a predicate covers another one; if not, search a message that matches only the narrow one."""
    options = RequestOptions(members, ("wide", "narrow", "dialect", "narrow_dialect"))
    dialect = options.text("dialect")
    wide = _predicate(members, "wide", dialect)
    narrow = _predicate(members, "narrow", options.text("narrow_dialect") or dialect)
    if covers(wide, narrow):
        return {"covers": True, "counterexample": None, "exhausted": True}
    search = search_counterexample(wide, narrow)
    message = None if search.message is None else search.message.to_dict()
    return {"covers": False, "counterexample": message, "exhausted": search.is_exhausted}


def explained(members: dict[str, Any]) -> dict[str, Any]:
    """Explain why a message matches a predicate, or which constraints fail."""
    options = RequestOptions(members, ("message", "predicate", "dialect"))
    predicate = _predicate(members, "predicate", options.text("dialect"))
    given = members.get("message")
    if not isinstance(given, dict):
        raise InputError("no message", hint='send {"message": {"price": 3}, "predicate": "price < 5"}')
    message = Message.of(given)
    _check_effort(message, predicate)
    found = explain(message, "", predicate).members()
    del found["interface"]
    return {"matches": found["filter"] is not None, **found}


def _predicate(members: dict[str, Any], name: str, dialect: str) -> Predicate:
    source = members.get(name, "")
    if source == "":
        raise InputError(f"no {name}", hint=f'send {{"{name}": "price < 5"}}')
    try:
        return parse(source, LIMITS, dialect=dialect or CBNET)
    except InputError as error:
        raise (
            error
            if name == "predicate"
            else InputError(f"{name}: {error.problem}", hint=error.hint, line=error.line, column=error.column)
        ) from None


def _check_effort(message: Message, predicate: Predicate) -> None:
    """Raise an error if very many combinations of values would be examined."""
    counts = {name: len(leaves) for name, leaves in message.leaves.items()}
    effort = sum(prod(counts.get(name, 1) for name in filter.names) for filter in predicate.filters)
    if effort > _MAX_COMBINATIONS:
        raise InputError("the message has too many values to be explained", hint="use shorter arrays")
