"""Inquiries of clients about any router of the network: its status, and the subscriptions of its clients.

    client ── StatusRequest(at b) ──► a ── Inquiry ──► … ──► b
    client ◄── Status of b ────────── a ◄── InquiryReport ── …

The router that a client is linked to checks the right `watch`; routers trust each other. Inquiries and reports may be
lost in transit, so a client is refused after a timeout.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import Final, Literal, NamedTuple, TypeAlias

from msgspec.structs import replace

from cbnet.language.syntax.byte_form import filter_from_bytes
from cbnet.network.forwarding.forwarding_table import InternalSubscriber, Subscriber
from cbnet.network.forwarding.queue_groups import GroupKey
from cbnet.network.forwarding.router_core import RouterCore
from cbnet.network.link.link import Link
from cbnet.network.protocol import frames
from cbnet.network.protocol.operation_frames import MAX_LISTED, MAX_LISTED_LENGTH
from cbnet.network.protocol.reasons import ReasonCode, Refusal, refused

_TIMEOUT: Final = 2.0  # seconds
_MAX_WAITING: Final = 10_000  # inquiries of all clients
Request: TypeAlias = frames.StatusRequest | frames.SubscriptionRequest


class _Waiting(NamedTuple):
    link: int
    request: Request
    deadline: float


class Inquiries:
    """The inquiries of one router's clients, and its answers to those of others."""

    def __init__(self, core: RouterCore, status: Callable[[], frames.Status]) -> None:
        """Initialise; status: returns the status of this router."""
        self._core = core
        self._status = status
        self._waiting: dict[int, _Waiting] = {}
        self._count = 0
        core.links.on_closed.append(self._link_closed)

    def ask(self, link: int, request: Request) -> None:
        """Answer a client that may watch, or send an inquiry to the router that it names."""
        subject: Literal["status", "subscriptions"] = (
            "status" if isinstance(request, frames.StatusRequest) else "subscriptions"
        )
        if request.at in ("", self._core.name):
            self._core.outbox.send(link, replace(self._report(subject), number=request.number))
        elif request.at not in self._core.versions.newest.names:
            self._refuse(link, request, f"router {request.at!r} is not reachable", ReasonCode.UNKNOWN)
        elif len(self._waiting) >= _MAX_WAITING:
            self._refuse(link, request, "too many inquiries at once; wait for some to end", ReasonCode.LIMIT)
        else:
            self._count += 1
            self._waiting[self._count] = _Waiting(link, request, self._core.now + _TIMEOUT)
            self._core.unicast.send(frames.Inquiry(request.at, 0, self._core.name, self._count, subject))

    def answer(self, frame: frames.Inquiry) -> None:
        """Answer the inquiry of another router."""
        self._core.unicast.send(frames.InquiryReport(frame.source, 0, frame.number, self._report(frame.subject)))

    def pass_on(self, frame: frames.InquiryReport) -> None:
        """Pass the answer of another router on to the client."""
        waiting = self._waiting.get(frame.number)
        if waiting is not None and _is_answer(frame.report, waiting.request):  # else it has timed out
            del self._waiting[frame.number]
            self._core.outbox.send(waiting.link, replace(frame.report, number=waiting.request.number))

    def check(self) -> None:
        """Refuse the inquiries that have timed out."""
        for number, (link, request, deadline) in [*self._waiting.items()]:
            if self._core.now >= deadline:
                del self._waiting[number]
                reason = f"router {request.at!r} has not answered within {_TIMEOUT:g} s"
                self._refuse(link, request, reason, ReasonCode.NO_ANSWER)

    def _link_closed(self, link: Link) -> None:
        self._waiting = {number: each for number, each in self._waiting.items() if each.link != link.id}

    def _refuse(self, link: int, request: Request, reason: str, code: ReasonCode) -> None:
        refusal = refused(frames.frame_number(type(request)), request.number, Refusal(reason, code))
        self._core.outbox.send(link, refusal)

    def _report(self, subject: str) -> frames.Status | frames.SubscriptionList:
        if subject == "status":
            return self._status()
        listed = [
            _field(self._name(subscriber), id, filters, self._core.fib.groups.key(subscriber, id))
            for subscriber, id, filters in islice(self._core.fib.local(), MAX_LISTED)
        ]
        return frames.SubscriptionList(0, self._core.name, listed, len(self._core.fib))

    def _name(self, subscriber: Subscriber) -> str:
        return subscriber.value if isinstance(subscriber, InternalSubscriber) else self._core.links.name(subscriber)


def _is_answer(report: frames.Status | frames.SubscriptionList, request: Request) -> bool:
    """Return whether a report answers a request, and not one made before this router was restarted."""
    kind = frames.Status if isinstance(request, frames.StatusRequest) else frames.SubscriptionList
    return isinstance(report, kind) and report.router == request.at


def _field(subscriber: str, id: int, filters: Sequence[bytes], group: GroupKey | None) -> frames.SubscriptionField:
    """Return the report of a subscription; filters beyond the length that is shown are not decoded."""
    text = ""
    for filter in filters:
        text += (" or " if text else "") + str(filter_from_bytes(filter))
        if len(text) > MAX_LISTED_LENGTH:
            break
    text = text or "false"
    is_whole = len(text) <= MAX_LISTED_LENGTH
    shown = text if is_whole else text[: MAX_LISTED_LENGTH - 2] + " …"
    return frames.SubscriptionField(subscriber, id, shown, is_whole, "" if group is None else group.name)
