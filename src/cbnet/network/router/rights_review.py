"""Review of the subscriptions and offers of a client whose rights have changed.

What the client may not have any more is removed, and the client gets a `RefusedFrame` for it, as if it had asked for it
only now. Where the client has too much, the newest goes first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from cbnet.language.predicate import Predicate
from cbnet.language.relations.covering import covers
from cbnet.network.announce.announcements import Announcements
from cbnet.network.announce.confirmations import OFFER, SUBSCRIPTION
from cbnet.network.announce.subscriptions import Subscriptions
from cbnet.network.link.context import RouterContext
from cbnet.network.link.links import Link, LinkTable
from cbnet.network.logs import audit
from cbnet.network.protocol.fields import MAX_REASON_LENGTH
from cbnet.network.protocol.frames import OfferFrame, RefusedFrame, Subscribe, frame_number
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

    def __init__(self, context: RouterContext, links: LinkTable, announcements: Announcements) -> None:
        self._context = context
        self._links = links
        self._confirmations = announcements.confirmations
        subscribe, offer = frame_number(Subscribe), frame_number(OfferFrame)
        self._kinds = (
            _Kind(SUBSCRIPTION, subscribe, "subscriptions", announcements.subscriptions,
                  lambda rights: rights.subscribe, Rights.check_subscribe),
            _Kind(OFFER, offer, "offers", announcements.offers, lambda rights: rights.offer, Rights.check_offer),
        )  # fmt: skip

    def check(self, link: Link, before: Rights) -> None:
        """Remove what a client may not have any more; before: the rights that it had."""
        for kind in self._kinds:
            if _is_narrower(kind.right(link.rights), kind.right(before)):
                self._check_predicates(kind, link)
            if (link.rights.constraints, link.rights.filters) != (before.constraints, before.filters):
                self._check_counts(kind, link)

    def _check_predicates(self, kind: _Kind, link: Link) -> None:
        for id, predicate in kind.registered.of(link.id):
            checked = kind.registered.initial if predicate is None else predicate
            assert checked is not None
            try:
                kind.check(link.rights, checked)
            except Denied as error:
                self._remove(kind, link, id, error)

    def _check_counts(self, kind: _Kind, link: Link) -> None:
        links = self._links.of_same_client(link.id)
        for id, _ in reversed(kind.registered.of(link.id)):
            try:
                link.rights.check_constraints(kind.registered.constraints(links, link.id, -1, ()), kind.plural)
                link.rights.check_filters(kind.registered.filter_count(links, link.id, -1, ()), kind.plural)
            except Denied as error:
                self._remove(kind, link, id, error)
            else:
                return

    def _remove(self, kind: _Kind, link: Link, id: int, error: Denied) -> None:
        kind.registered.remove(link.id, id)
        self._confirmations.cancel(link.id, kind.number, id)
        audit(f"keep {kind.plural}", error.summary, client=link.account, address=link.address)
        self._context.outbox.send(link.id, RefusedFrame(kind.frame, id, error.summary[:MAX_REASON_LENGTH]))


def _is_narrower(after: Predicate | None, before: Predicate | None) -> bool:
    """Return whether a right may not allow what another one did."""
    return after is not None and (before is None or not covers(after, before))
