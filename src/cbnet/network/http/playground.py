"""`POST /check`, `/covers` and `/explain`: predicates without a network, in all dialects.

They compute what `cbnet check`, `cbnet covers` and `cbnet match --explain` do, in a thread and one at a time, so that
the router serves others meanwhile. The limits of a predicate are lower than for a subscription, the search for a
message is bounded in time, and the number of waiting requests is limited.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from math import prod
from time import thread_time
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from cbnet.errors import InputError, UndecidedError
from cbnet.language import (
    Limits,
    Message,
    Predicate,
    Search,
    covers,
    parse,
    reduce,
    satisfiable,
    search_counterexample,
    size,
)
from cbnet.language.dialects import CBNET
from cbnet.language.search_budget import MAX_EXAMINED
from cbnet.matching.explain import explain
from cbnet.network.http.http_links import links_of
from cbnet.network.http.problems import Problem, json_response
from cbnet.network.http.processor_share import in_thread
from cbnet.network.http.request_input import RequestOptions, json_object

LIMITS: Final = Limits(length=10_000, filters=200, constraints=2_000)
_MAX_COMBINATIONS: Final = 20_000  # of values that an explanation examines
_MAX_BODY: Final = 1 << 16  # bytes
_MAX_WAITING: Final = 16  # requests
_SEARCH_TIME: Final = 0.5  # seconds of processor time, after which no further filter is searched
_NOTHING: Final = Predicate()


class Playground:
    """The endpoints of a router for predicates."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._waiting = 0  # requests, including the one being computed

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
        async with links_of(request).shared(request):  # applies the limits of sessions and links
            members = await json_object(request, _MAX_BODY)
            if self._waiting >= _MAX_WAITING:
                raise Problem(503, "too many predicates are examined at once", hint="try again later")
            self._waiting += 1
            try:
                async with self._turn:
                    return json_response(await in_thread(compute, members))
            finally:
                self._waiting -= 1


def checked(members: dict[str, Any]) -> dict[str, Any]:
    """Parse a predicate; return it in the native dialect, reduced, and a message that matches."""
    options = RequestOptions(members, ("predicate", "dialect"))
    predicate = _predicate(members, "predicate", options.text("dialect"))
    reduced = reduce(predicate)
    example = _search(_NOTHING, predicate).message
    return {
        "predicate": str(predicate),
        "reduced": str(reduced),
        "size": size(predicate),
        "reduced_size": size(reduced),
        "satisfiable": satisfiable(predicate),
        "example": None if example is None else example.to_dict(),
    }


def compared(members: dict[str, Any]) -> dict[str, Any]:
    """Test whether a predicate covers another one; if not, search for a message that matches only the narrow one."""
    options = RequestOptions(members, ("wide", "narrow", "dialect", "narrow_dialect"))
    dialect = options.text("dialect")
    wide = _predicate(members, "wide", dialect)
    narrow = _predicate(members, "narrow", options.text("narrow_dialect") or dialect)
    if covers(wide, narrow):
        return {"covers": True, "counterexample": None, "exhausted": True}
    search = _search(wide, narrow)
    message = None if search.message is None else search.message.to_dict()
    return {"covers": False, "counterexample": message, "exhausted": search.is_exhausted}


def explained(members: dict[str, Any]) -> dict[str, Any]:
    """Explain why a message matches a predicate, or which constraints fail."""
    options = RequestOptions(members, ("message", "predicate", "dialect"))
    predicate = _predicate(members, "predicate", options.text("dialect"))
    message = options.message('send {"message": {"price": 3}, "predicate": "price < 5"}')
    _check_effort(message, predicate)
    found = explain(message, "", predicate).members()
    del found["rule"]
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


def _search(wide: Predicate, narrow: Predicate) -> Search:
    """Search for a message that matches only the narrow predicate, filter by filter."""
    end = thread_time() + _SEARCH_TIME
    is_exhausted = True
    for filter in narrow.filters:
        if thread_time() > end:
            return Search(None, False)
        found = search_counterexample(wide, filter)
        if found.message is not None:
            return found
        is_exhausted &= found.is_exhausted
    return Search(None, is_exhausted)


def _check_effort(message: Message, predicate: Predicate) -> None:
    """Raise an error if very many combinations of values would be examined."""
    try:
        effort = sum(
            prod(len(message.leaves_of(name)) or 1 for name in filter.names) * filter.effort(message)
            for filter in predicate.filters
        )
    except UndecidedError:  # of an attribute computed from an array
        effort = MAX_EXAMINED
    if effort > _MAX_COMBINATIONS:
        raise InputError("the message has too many values to be explained", hint="use shorter arrays and strings")
