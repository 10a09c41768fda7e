"""Rights: what may a client publish, subscribe to, offer and request? Each is a predicate.

    publish     a message must match it
    subscribe   it must cover the predicate of a subscription, so that nothing else can ever be delivered
    offer       it must cover the predicate of an offer
    request     a request, as a message, must match it
    watch       whether the client may trace messages and see how the router is: both tell of others
    constraints how many all its subscriptions have together, over all links; as many its offers. A tag counts as one
    text        how many characters the names, texts and tags of one of its messages have together
    links       how many it may have at once

The last three bound what one client can make others wait: a message is set against each constraint at most once, and
that takes at most one pass over its text.

What is not allowed raises `Denied`, which says what is missing and, for a predicate, what to write instead. `covers`
is sound and not complete: where it is not shown that a predicate stays within the rights, it is denied. Its work grows
with the filters of both sides, so those of rights are few (`RIGHTS_LIMITS`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any, Final

from cbnet.errors import InputError
from cbnet.files import check_keys
from cbnet.language.filter import Filter
from cbnet.language.limits import Limits
from cbnet.language.message import Message
from cbnet.language.predicate import Predicate
from cbnet.language.relations.covering import covers, overlaps
from cbnet.language.relations.witness import search_counterexample
from cbnet.language.syntax.parser import parse
from cbnet.matching import Table
from cbnet.network.protocol.content import Content

RIGHTS_LIMITS: Final = Limits(length=4_096, filters=16, constraints=64)  # of one right
_MOST_CHECKED = 1_000  # filters of a predicate: as many as a subscription may have
_BUDGET = 64  # values that the search for an example may choose anew
_MOST_EXPLAINED = 1_000  # characters of a predicate: to explain more would take longer than to refuse it
_MOST_SAID = 140  # characters of a predicate in an answer


class Denied(InputError):  # noqa: N818
    """What a client asks for is beyond its rights."""


@dataclass(frozen=True)
class Rights:
    """What one client may do; None: everything."""

    publish: Predicate | None = None
    subscribe: Predicate | None = None
    offer: Predicate | None = None
    request: Predicate | None = None
    watch: bool = True
    constraints: int | None = None
    text: int | None = None
    links: int | None = None

    def check_publish(self, message: Message) -> None:
        """Raise `Denied` unless the client may publish a message."""
        self._check_text(message)
        self._check_message("publish", self.publish, message)

    def check_request(self, request: Message) -> None:
        """Raise `Denied` unless the client may send a request."""
        self._check_text(request)
        self._check_message("request", self.request, request)

    def check_subscribe(self, predicate: Predicate) -> None:
        """Raise `Denied` unless the client may subscribe to a predicate."""
        _check_predicate("subscribe to", self.subscribe, predicate)

    def check_offer(self, predicate: Predicate) -> None:
        """Raise `Denied` unless the client may offer what a predicate matches."""
        _check_predicate("offer", self.offer, predicate)

    def check_constraints(self, count: int, what: str) -> None:
        """Raise `Denied` if the subscriptions, or offers, of the client would have too many constraints."""
        if self.constraints is not None and count > self.constraints:
            raise Denied(
                f"you may have {self.constraints:,} constraints in all your {what}: these would be {count:,}",
                hint="ask for more: `constraints` in your table",
            )

    def check_links(self, count: int) -> None:
        """Raise `Denied` if the client would have too many links."""
        if self.links is not None and count > self.links:
            raise Denied(f"you may have {self.links:,} links at once", hint="ask for more: `links` in your table")

    def _check_message(self, may: str, right: Predicate | None, message: Message) -> None:
        if right is not None and not _table(right).match(message.members if isinstance(message, Content) else message):
            raise _denial(may, right, message)

    def _check_text(self, message: Message) -> None:
        if self.text is not None and (length := text_length(message)) > self.text:
            raise Denied(
                f"a message of yours may have {self.text:,} characters of text: this one has {length:,}",
                hint="put what is not to be matched into the payload",
            )

    def check_watch(self) -> None:
        """Raise `Denied` unless the client may see what tells of others."""
        if not self.watch:
            raise Denied("you may not trace messages: that tells of others", hint="ask for `watch = true`")


RIGHTS: Final = tuple(field.name for field in fields(Rights))
ALL_RIGHTS: Final = Rights()
_PREDICATES: Final = ("publish", "subscribe", "offer", "request")
_OTHERS: Final[Mapping[str, bool | int]] = {
    "watch": False,
    "constraints": 4_000,
    "text": 4_096,
    "links": 16,
}  # if nothing is said
_SAID: Final = {bool: "true or false", int: "a whole number"}


def text_length(message: Message) -> int:
    """Return how many characters the names, texts and tags of a message have."""
    length = sum(map(len, message.tags))
    for name, value in message.attributes.items():
        length += len(name) + (len(value) if type(value) is str else 0)
    return length


def read_rights(said: Mapping[str, Any], where: str) -> Rights:
    """Return the rights that a table of a file gives; what it does not name, it does not give."""
    check_keys(said, RIGHTS, f" in {where}")
    found: dict[str, Any] = {}
    for right in _PREDICATES:
        text = said.get(right, "false")
        if not isinstance(text, str):
            raise InputError(f"{right} in {where} must be a predicate, not {text!r}", hint='write it as text: "x = 1"')
        try:
            found[right] = parse(text, RIGHTS_LIMITS)
        except InputError as error:
            raise InputError(f"{right} in {where}: {error.summary}") from None
    for right, default in _OTHERS.items():
        found[right] = value = said.get(right, default)
        if type(value) is not type(default) or value < 0:
            raise InputError(f"{right} in {where} must be {_SAID[type(default)]}, not {value!r}")
    return Rights(**found)


# --- what is denied


@lru_cache(maxsize=1_000)
def _table(right: Predicate) -> Table[int]:
    """Return a right, compiled: every message of a client is matched with it."""
    return Table.build({0: right})


def _denial(may: str, right: Predicate, message: Message) -> Denied:
    if not right.filters:
        return Denied(f"you may not {may} anything")
    closest = min((_failing(filter, message) for filter in right.filters), key=_size)
    return Denied(f"you may {may} `{_short(right)}` only: this message fails `{_short(closest)}`")


def _failing(filter: Filter, message: Message) -> Filter:
    """Return the part of a filter that a message does not match."""
    constraints = (each for each in filter.constraints if not Filter([each]).matches(message))
    return Filter(constraints, filter.tags - message.tags)


def _size(filter: Filter) -> int:
    return len(filter.constraints) + len(filter.tags)


def _check_predicate(may: str, right: Predicate | None, predicate: Predicate) -> None:
    if right is None:
        return
    only = f"you may {may} `{_short(right)}` only"
    if len(predicate) > _MOST_CHECKED:
        raise Denied(f"{only}, and a predicate of {len(predicate):,} filters is too large to be compared with that")
    if covers(right, predicate):
        return
    if not right.filters:
        raise Denied(f"you may not {may} anything")
    if len(str(predicate)) > _MOST_EXPLAINED:
        raise Denied(f"{only}, and it is not shown that this predicate stays within that")
    filter = next(each for each in predicate.filters if not covers(right, each))
    raise Denied(f"{only}: {_what_is_missing(right, filter)}", hint=_what_to_write(right, predicate))


def _what_is_missing(right: Predicate, filter: Filter) -> str:
    """Say what a filter matches beyond a right, or that this is not known."""
    search = search_counterexample(right, filter, _BUDGET)
    if search.message is None:
        return f"it cannot be shown that `{_short(filter)}` stays within that"
    return f"`{_short(filter)}` also matches others, such as {_short(search.message)}"


def _what_to_write(right: Predicate, predicate: Predicate) -> str:
    """Return what to write instead of a predicate."""
    corrected = within(right, predicate)
    if not corrected.filters:
        return "no message matches both"
    text = str(corrected)
    if len(text) <= _MOST_SAID:
        return f"write `{text}`"
    return f"add `{_short(right)}` to each of its filters"


def within(right: Predicate, predicate: Predicate) -> Predicate:
    """Return the predicate of what matches a predicate and a right, written with as little as possible."""
    kept: dict[Filter, None] = {}
    for filter in predicate.filters:
        if covers(right, filter):
            kept[filter] = None
        else:
            kept.update(dict.fromkeys(_both(wide, filter) for wide in right.filters if overlaps(wide, filter)))
        if len(kept) > RIGHTS_LIMITS.filters:  # more than anybody reads
            break
    return Predicate(kept)


def _both(wide: Filter, filter: Filter) -> Filter:
    """Return the filter of what matches both, without the constraints of the first that the second implies."""
    missing = [each for each in wide.constraints if not covers(Filter([each]), filter)]
    return Filter([*missing, *filter.constraints], wide.tags | filter.tags)


def _short(said: object) -> str:
    text = str(said)
    return text if len(text) <= _MOST_SAID else text[: _MOST_SAID - 1] + "…"
