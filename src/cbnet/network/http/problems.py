"""Problem documents: errors as JSON, with the remedy [RFC 9457].

    {"title": "Bad Request", "status": 400, "detail": "unknown dialect 'sql'", "hint": "use one of cbnet, …"}

`line` and `column` are the location of a mistake in the input. Other members depend on the request.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, Final

import msgspec
from starlette.responses import Response

from cbnet.errors import CbnetError, InputError
from cbnet.network.errors import NetworkError, NoReply, NotConnected, NotStored, Refused, Timeout
from cbnet.network.security.rights import Denied

CONTENT_TYPE: Final = "application/problem+json"
_STATUSES: Final = (
    (Denied, 403),
    (InputError, 400),
    (Refused, 403),
    (NoReply, 404),
    (Timeout, 504),
    (NotStored, 504),
    (NotConnected, 503),
    (NetworkError, 503),
)
_RETRY: Final = {429: "1", 503: "1"}  # seconds


class Problem(CbnetError):  # noqa: N818
    """An error of an HTTP request."""

    def __init__(self, status: int, detail: str, *, hint: str = "", **members: Any) -> None:
        super().__init__(detail)
        self.status = status
        self.hint = hint
        self.members = members


def problem_of(error: CbnetError, **members: Any) -> Problem:
    """Return the problem document of an error, with further members."""
    if isinstance(error, Problem):
        error.members |= members
        return error
    status = next((status for kind, status in _STATUSES if isinstance(error, kind)), 500)
    if not isinstance(error, InputError):
        return Problem(status, str(error), **members)
    place = {"line": error.line, "column": error.column}
    known = {name: number for name, number in place.items() if number is not None}
    return Problem(status, error.problem, hint=error.hint or "", **{**known, **members})


def problem_members(problem: Problem) -> dict[str, Any]:
    """Return the members of a problem document."""
    hint = {"hint": problem.hint} if problem.hint else {}
    title = HTTPStatus(problem.status).phrase
    return {"title": title, "status": problem.status, "detail": str(problem), **hint, **problem.members}


def problem_response(problem: Problem) -> Response:
    """Return the response to a request that failed."""
    headers = {"Retry-After": _RETRY[problem.status]} if problem.status in _RETRY else {}
    if problem.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    body = msgspec.json.encode(problem_members(problem)) + b"\n"
    return Response(body, problem.status, headers, CONTENT_TYPE)


def json_response(document: Any, status: int = 200) -> Response:
    """Return a response with a JSON document."""
    return Response(msgspec.json.encode(document) + b"\n", status, {"Cache-Control": "no-store"}, "application/json")
