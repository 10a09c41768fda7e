"""Handlers of client frames: subscribe, publish, trace, offer and request.

A client's mistake, such as a syntax error in a predicate, is an `InputError` of its handler. It is answered with
`RefusedFrame`, and the link stays open.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, Final, TypeAlias

from cbnet.errors import InputError, LimitError
from cbnet.language.predicate import Predicate
from cbnet.language.syntax.byte_form import filters_digest
from cbnet.network.announce.announcements import Announcements
from cbnet.network.announce.confirmations import CONFIRMATION_FRAMES, OFFER, SUBSCRIPTION
from cbnet.network.durable.durable_router import DurableRouter
from cbnet.network.forwarding.forwarder import Forwarder
from cbnet.network.forwarding.queue_groups import GroupKey
from cbnet.network.link.context import RouterContext
from cbnet.network.link.counters import Denial, Event
from cbnet.network.link.link import Link
from cbnet.network.logs import audit, audit_change, log
from cbnet.network.protocol import frames
from cbnet.network.protocol.content import Content
from cbnet.network.protocol.fields import RegistrationFrame
from cbnet.network.protocol.predicate_texts import filters_of, predicate_of
from cbnet.network.protocol.reasons import ReasonCode, Refusal, refused
from cbnet.network.protocol.request_codec import request_from_bytes
from cbnet.network.pull.pull_router import PullRouter
from cbnet.network.router.filter_quotas import FilterQuotas
from cbnet.network.security.rights import ALL_RIGHTS, Denied

Handler: TypeAlias = Callable[[Link, Any], None]
MAX_CLIENT_SUBSCRIPTIONS = 100_000  # and as many offers
_SHORTEST_WAIT: Final = 0.001  # seconds: 0 would be no wait at all
_REFERENCES: Final = ("number", "id", "sequence")  # members of which a frame has one, which its answer repeats
_DENIALS: Final[Mapping[type[frames.Frame], Denial]] = {
    frames.Subscribe: Denial.SUBSCRIBE,
    frames.Publish: Denial.PUBLISH,
    frames.OfferFrame: Denial.OFFER,
    frames.PullFrame: Denial.REQUEST,
    frames.Trace: Denial.TRACE,
    frames.TableRequest: Denial.TRACE,
    frames.FilterRequest: Denial.TRACE,
    frames.StatusRequest: Denial.TRACE,
    frames.SubscriptionRequest: Denial.TRACE,
    frames.DurableSubscribe: Denial.SUBSCRIBE,
    frames.DurablePublish: Denial.PUBLISH,
    frames.Replay: Denial.SUBSCRIBE,
    frames.ForgetHome: Denial.FORGET,
    frames.DurableRemove: Denial.REMOVE,
    frames.DurableLimit: Denial.LIMIT,
    frames.DurablePeek: Denial.PEEK,
    frames.DurableMove: Denial.MOVE,
    frames.DurablePurge: Denial.PURGE,
    frames.JournalBackup: Denial.BACKUP,
    frames.Reload: Denial.RELOAD,
}


def no_file() -> InputError:
    """Return the error of a router that cannot reload its configuration."""
    return InputError("this router has no file to reload", hint="start the router with --config FILE")


class ClientHandler:
    """Handles the frames of one router's clients."""

    def __init__(
        self,
        context: RouterContext,
        announcements: Announcements,
        forwarder: Forwarder,
        pulls: PullRouter,
        durable: DurableRouter,
        quotas: FilterQuotas,
    ) -> None:
        self._context = context
        self._quotas = quotas
        self._durable = durable
        self._subscriptions = announcements.subscriptions
        self._offers = announcements.offers
        self._registered = {SUBSCRIPTION: self._subscriptions, OFFER: self._offers}
        self._confirmations = announcements.confirmations
        self._forwarder = forwarder
        self._traces = forwarder.traces
        self._pulls = pulls

    def subscribe(self, link: Link, frame: frames.Subscribe) -> None:
        """Register a subscription; if the client waits for confirmation, answer later."""
        filters = self._checked(link, frame)
        if frame.is_initial:
            self._subscriptions.listen(link.id, frame.id)
            self._answer(link, frame, SUBSCRIPTION, filters)
        else:
            group = self._group(link, frame, filters)
            link.begin(self._set(link, frame, SUBSCRIPTION, filters, group))

    def unsubscribe(self, link: Link, frame: frames.Unsubscribe) -> None:
        """Remove a subscription; a durable one stays, and the client is detached from it."""
        if self._durable.detach(link.id, frame.id):
            self._confirmations.cancel(link.id, SUBSCRIPTION, frame.id)
            self._context.outbox.send(link.id, frames.Unsubscribed(frame.id))
        elif self._subscriptions.has(link.id, frame.id):
            link.begin(self._remove(link, SUBSCRIPTION, frame.id, frames.Unsubscribed(frame.id)))
        else:
            raise Refusal(f"unknown subscription {frame.id}", ReasonCode.UNKNOWN)

    def offer(self, link: Link, frame: frames.OfferFrame) -> None:
        """Register an offer; if the client waits for confirmation, answer later."""
        filters = filters_of(frame.predicate)
        _check_count("offers", self._offers.count(link.id))
        self._quotas.check(link, self._offers, filters, self._offers.load_of(link.id, frame.id))
        if link.rights.offer is not None:
            link.rights.check_offer(predicate_of(frame.predicate))
        link.begin(self._set(link, frame, OFFER, filters))

    def withdraw(self, link: Link, frame: frames.Withdraw) -> None:
        """Remove an offer."""
        if not self._offers.has(link.id, frame.id):
            raise Refusal(f"unknown offer {frame.id}", ReasonCode.UNKNOWN)
        link.begin(self._remove(link, OFFER, frame.id, frames.Withdrawn(frame.id)))

    def pull(self, link: Link, frame: frames.PullFrame) -> None:
        """Send a client's request."""
        link.rights.check_request(request_from_bytes(frame.request).content)
        if frame.is_traced:
            link.rights.check_watch()
        self._pulls.begin(link, frame)

    def publish(self, link: Link, frame: frames.Publish) -> None:
        """Forward a message."""
        if link.rights is not ALL_RIGHTS:
            link.rights.check_publish(Content(frame))
        self._forwarder.publish(link.name, frame)
        if frame.wants_answer:
            self._context.outbox.send(link.id, frames.Published(frame.number))

    def trace(self, link: Link, frame: frames.Trace) -> None:
        """Forward a message and report its path to the client."""
        content = Content(frame)  # checks the message first
        link.rights.check_watch()
        link.rights.check_publish(content)
        self._forwarder.publish(link.name, frame, self._traces.begin(link.id, frame))

    def reload(self, link: Link, frame: frames.Reload, on_reload: Callable[[int, int], None] | None) -> None:
        """Reload the configuration, at the request of a client that names this router."""
        link.rights.check_manage("reload the configuration")
        if frame.router != self._context.name:
            raise InputError(
                f"this is router {self._context.name!r}, not {frame.router!r}",
                hint="confirm the name of the router to reload",
            )
        if on_reload is None:
            raise no_file()
        audit_change("reload", client=link.name, address=link.address)
        on_reload(link.id, frame.number)

    def _set(
        self, link: Link, frame: RegistrationFrame, kind: int, filters: Collection[bytes], group: GroupKey | None = None
    ) -> Iterator[None]:  # fmt: skip
        """Register a subscription or an offer that was checked, in steps, and answer."""
        self._confirmations.cancel(link.id, kind, frame.id)
        began = self._context.now
        yield from self._registered[kind].set_in_steps(link.id, frame.id, filters, group)
        self._answer(link, frame, kind, filters, began)

    def _remove(self, link: Link, kind: int, id: int, answer: frames.Frame) -> Iterator[None]:
        """Remove a subscription or an offer, in steps, and answer."""
        self._confirmations.cancel(link.id, kind, id)
        yield from self._registered[kind].remove_in_steps(link.id, id)
        self._context.outbox.send(link.id, answer)

    def _answer(
        self, link: Link, frame: RegistrationFrame, kind: int, filters: Collection[bytes], began: float | None = None
    ) -> None:  # fmt: skip
        """Confirm a subscription or an offer: at once, or when every router that must know it has it.

        began: when the client's wait began, if not now.
        """
        self._confirmations.cancel(link.id, kind, frame.id)
        if frame.wait:
            waited = 0.0 if began is None else self._context.now - began
            self._confirmations.wait(link.id, frame.id, kind, filters, max(frame.wait - waited, _SHORTEST_WAIT))
        else:
            self._context.outbox.send(link.id, CONFIRMATION_FRAMES[kind](frame.id, False, 1, []))

    def _checked(self, link: Link, frame: frames.Subscribe) -> Collection[bytes]:
        """Check a subscription against the client's limits, quotas and rights; return its filters."""
        if frame.is_initial and frame.group:
            raise InputError(
                "the initial predicate has no queue group", hint="subscribe to a predicate, or leave it out"
            )
        if frame.is_initial:
            link.rights.check_subscribe(self._initial())
            filters = []  # already registered
        else:
            filters = filters_of(frame.predicate)
        _check_count("subscriptions", self._subscriptions.count(link.id))
        replaced = self._subscriptions.load_of(link.id, frame.id)
        self._quotas.check(link, self._subscriptions, filters, replaced)
        if filters and link.rights.limits_subscriptions:
            link.rights.check_subscribe(predicate_of(frame.predicate))
        return filters

    def _group(self, link: Link, frame: frames.Subscribe, filters: Collection[bytes]) -> GroupKey | None:
        """Return the queue group of a subscription, if it has one; raise a `LimitError` if it is one too many."""
        if not frame.group:
            return None
        key = GroupKey(link.account, frame.group, filters_digest(filters))
        self._subscriptions.fib.groups.check(key)
        return key

    def _initial(self) -> Predicate:
        predicate = self._subscriptions.fib.initial
        if predicate is None:
            hint = "start the network with `cbnet up --fib`"
            raise InputError(f"router {self._context.name} has no initial predicate", hint=hint)
        return predicate

    def refusing(self, handle: Handler) -> Handler:
        """Return a handler that refuses the frames for which another one raises an `InputError`, with the reason."""

        def handle_or_refuse(link: Link, frame: frames.Frame) -> None:
            try:
                handle(link, frame)
            except InputError as error:
                self._refuse(link, frame, error)

        return handle_or_refuse

    def _refuse(self, link: Link, frame: frames.Frame, error: InputError) -> None:
        self._context.counters[Event.REFUSED] += 1
        kind = type(frame)
        audit(str(_DENIALS.get(kind) or kind.__name__.lower()), error.summary, client=link.name, address=link.address)
        if isinstance(error, Denied):
            self._denied(link, _DENIALS[kind], error)
        number = next(getattr(frame, name) for name in _REFERENCES if name in frame.__struct_fields__)
        self._context.outbox.send(link.id, refused(frames.frame_number(kind), number, error))

    def _denied(self, link: Link, what: Denial, error: Denied) -> None:
        """Count a denial; log the first, tenth, hundredth … of a client."""
        self._context.counters[what.key] += 1
        link.denials += 1
        if str(link.denials).strip("0") == "1":
            log(logging.WARNING, "not allowed", client=link.name, operation=what, reason=error.summary)


def _check_count(plural: str, present: int) -> None:
    """Raise a `LimitError` if a client may not have another subscription, or offer."""
    if present >= MAX_CLIENT_SUBSCRIPTIONS:
        raise LimitError(f"{plural} of a client", present + 1, MAX_CLIENT_SUBSCRIPTIONS)
