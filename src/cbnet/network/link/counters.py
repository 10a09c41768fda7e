"""Counters of a router: identifiers, and human-readable texts.

A router has one `Counter[str]`. Its keys are events (`published`), drops by reason (`dropped.duplicate`) and denials by
cause (`denied.subscribe`); status frames carry them as they are. Logs, metrics and commands use the identifiers.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final


class Event(StrEnum):
    """Something that a router counts and that is neither a drop nor a denial."""

    PUBLISHED = "published"
    MATCHED = "matched"
    DELIVERED = "delivered"
    DELIVERED_INITIAL = "delivered_initial"
    PACKETS_RECEIVED = "packets_received"
    PACKETS_SENT = "packets_sent"
    PACKETS_RETRIED = "packets_retried"
    PACKETS_UNPRUNED = "packets_unpruned"
    ANNOUNCES_SENT = "announces_sent"
    FILTERS_SENT = "filters_sent"
    DOMAIN_ENTERED = "domain_entered"
    DOMAIN_LEFT = "domain_left"
    MATCHES = "matches"
    MATCHES_TIMED = "matches_timed"
    MATCHES_TIMED_NS = "matches_timed_ns"
    REFUSED = "refused"
    LINKS_FAILED = "links_failed"
    LINKS_DEAD = "links_dead"
    LINKS_TOO_SLOW = "links_too_slow"
    LINKS_OVER_LIMIT = "links_over_limit"
    LINKS_SILENT = "links_silent"
    RECORDS_INSTALLED = "records_installed"
    RECORDS_STALE = "records_stale"
    RECORDS_SECOND_HAND = "records_second_hand"
    RECORDS_EXPIRED = "records_expired"
    RECORDS_SUPERSEDED = "records_superseded"
    RECORDS_REFUSED = "records_refused"
    CONFIRMED = "confirmed"
    CONFIRMED_MS = "confirmed_ms"
    UNCONFIRMED = "unconfirmed"
    UNCONFIRMED_MS = "unconfirmed_ms"
    REQUESTS = "requests"
    REQUESTS_ANSWERED = "requests_answered"
    REQUESTS_UNANSWERED = "requests_unanswered"
    REQUESTS_TIMED_OUT = "requests_timed_out"
    HOLDERS_TIMED_OUT = "holders_timed_out"
    REPLIES = "replies"
    CACHE_HITS = "cache_hits"
    CACHE_MISSES = "cache_misses"
    CACHE_EVICTIONS = "cache_evictions"
    CACHE_EXPIRED = "cache_expired"
    STORED = "stored"
    DURABLE_PUBLISHED = "durable_published"
    DURABLE_UNSTORED = "durable_unstored"
    DURABLE_REPEATED = "durable_repeated"
    DEAD_LETTERS = "dead_letters"


class DropReason(StrEnum):
    """Why a packet, a request or a reply is not forwarded."""

    DUPLICATE = "duplicate"
    TOO_MANY_HOPS = "too_many_hops"
    LINK_CLOSED = "link_closed"
    NO_ROUTE = "no_route"
    PACKET_TOO_LONG = "packet_too_long"
    NEIGHBOUR_QUEUE_FULL = "neighbour_queue_full"
    CLIENT_QUEUE_FULL = "client_queue_full"
    UNEXPECTED_ANSWER = "unexpected_answer"
    UNEXPECTED_REPLY = "unexpected_reply"
    REPLY_MISMATCH = "reply_mismatch"
    REQUEST_EXPIRED = "request_expired"
    JOURNAL_FULL = "journal_full"
    UNDECIDED = "undecided"

    @property
    def key(self) -> str:
        """The key of its counter."""
        return f"dropped.{self}"


class Denial(StrEnum):
    """An operation that a peer is not allowed to perform."""

    CLIENT = "client"
    ROUTER = "router"
    TLS = "tls"
    SUBSCRIBE = "subscribe"
    PUBLISH = "publish"
    OFFER = "offer"
    REQUEST = "request"
    TRACE = "trace"
    RELOAD = "reload"
    FORGET = "forget"
    REMOVE = "remove"
    LIMIT = "limit"
    PEEK = "peek"
    MOVE = "move"
    PURGE = "purge"
    BACKUP = "backup"

    @property
    def key(self) -> str:
        """The key of its counter."""
        return f"denied.{self}"


# Texts of drop reasons; an identifier that is missing here is its own text, also that of a newer router.
_DROP_TEXTS: Final[Mapping[str, str]] = {
    DropReason.NO_ROUTE: "no route to the destination router",
    DropReason.NEIGHBOUR_QUEUE_FULL: "send queue of a neighbour full",
    DropReason.CLIENT_QUEUE_FULL: "send queue of a client full",
    DropReason.UNEXPECTED_ANSWER: "answer without an open request",
    DropReason.UNEXPECTED_REPLY: "reply without an open request",
    DropReason.REPLY_MISMATCH: "reply does not match its request",
    DropReason.REQUEST_EXPIRED: "request expired at a holder",
    DropReason.JOURNAL_FULL: "journal or durable subscription full",
    DropReason.UNDECIDED: "too many combinations of values for a subscription",
}


def drop_text(reason: str) -> str:
    """Return the text of a drop reason, given its identifier."""
    return _DROP_TEXTS.get(reason, reason.replace("_", " "))


def drops(counters: Mapping[str, int]) -> dict[str, int]:
    """Return the number of drops, by the identifier of the reason."""
    return _with_prefix(counters, "dropped.")


def denials(counters: Mapping[str, int]) -> dict[str, int]:
    """Return the number of denials, by the identifier of the cause."""
    return _with_prefix(counters, "denied.")


def events(counters: Mapping[str, int]) -> dict[str, int]:
    """Return the other counters."""
    return {str(key): count for key, count in counters.items() if "." not in key}


def _with_prefix(counters: Mapping[str, int], prefix: str) -> dict[str, int]:
    return {key.removeprefix(prefix): count for key, count in counters.items() if key.startswith(prefix)}
