"""Review of the subscriptions and offers of a client whose rights have changed.

Those that the client may no longer have are removed, and the client receives a `RefusedFrame` for each, as if it had
only just requested it. If the client exceeds its quotas, the newest are removed first, and replay subscriptions last.
Durable subscriptions stay, and count toward the quotas.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from cbnet.language.predicate import Predicate
from cbnet.language.relations.covering import covers
from cbnet.network.announce.announcements import Announcements
from cbnet.network.announce.confirmations import OFFER, SUBSCRIPTION
from cbnet.network.announce.subscriptions import Subscriptions
from cbnet.network.durable.durable_router import DurableRouter
from cbnet.network.link.context import RouterContext
from cbnet.network.link.link import Link
from cbnet.network.logs import audit
from cbnet.network.protocol.frames import OfferFrame, Replay, Subscribe, frame_number
from cbnet.network.protocol.reasons import refused
from cbnet.network.router.filter_quotas import FilterQuotas
from cbnet.network.security.rights import Denied, Rights


class _Kind(NamedTuple):
    number: int  # in `confirmations`
    frame: int
    plural: str
    registered: Subscriptions
    right: Callable[[Rights], Predicate | None]
    check: Callable[[Rights, Predicate], None]


class RightsReview:
    """The subscriptions and offers of one router's clients, and their rights."""

    def __init__(
        self, context: RouterContext, announcements: Announcements, durable: DurableRouter, quotas: FilterQuotas
    ) -> None:
        self._context = context
        self._durable = durable
        self._quotas = quotas
        self._confirmations = announcements.confirmations
        subscribe, offer = frame_number(Subscribe), frame_number(OfferFrame)
        self._kinds = (
            _Kind(SUBSCRIPTION, subscribe, "subscriptions", announcements.subscriptions,
                  lambda rights: rights.subscribe, Rights.check_subscribe),
            _Kind(OFFER, offer, "offers", announcements.offers,
                  lambda rights: rights.offer, Rights.check_offer),
        )  # fmt: skip

    def check(self, link: Link, before: Rights) -> None:
        """Remove the subscriptions and offers that a client may no longer have; before: its previous rights."""
        for kind in self._kinds:
            if _is_narrower(kind.right(link.rights), kind.right(before)):
                self._check_predicates(kind, link)
            if (link.rights.constraints, link.rights.filters) != (before.constraints, before.filters):
                self._check_counts(kind, link)

    def _check_predicates(self, kind: _Kind, link: Link) -> None:
        for id, predicate in kind.registered.of(link.id):
            checked = kind.registered.fib.initial if predicate is None else predicate
            assert checked is not None
            try:
                kind.check(link.rights, checked)
            except Denied as error:
                self._remove(kind, link, kind.frame, id, error)

    def _check_counts(self, kind: _Kind, link: Link) -> None:
        plain = [(kind.frame, id) for id, _ in kind.registered.of(link.id)]
        attached = self._durable.attached(link.id) if kind.number == SUBSCRIPTION else []
        replays = [(frame, id) for frame, id, _ in attached if frame == frame_number(Replay)]
        for frame, id in [*reversed(plain), *reversed(replays)]:
            try:
                self._quotas.check_all(link, kind.registered)
            except Denied as error:
                self._remove(kind, link, frame, id, error)
            else:
                return

    def _remove(self, kind: _Kind, link: Link, frame: int, id: int, error: Denied) -> None:
        if frame == kind.frame:
            kind.registered.remove(link.id, id)
        else:
            self._durable.detach(link.id, id)
        self._confirmations.cancel(link.id, kind.number, id)
        audit(f"keep {kind.plural}", error.summary, client=link.account, address=link.address)
        self._context.outbox.send(link.id, refused(frame, id, error))


def _is_narrower(after: Predicate | None, before: Predicate | None) -> bool:
    """Return whether a right may be narrower than the previous one."""
    return after is not None and (before is None or not covers(after, before))
