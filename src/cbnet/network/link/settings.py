"""Settings of one router."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Literal

from cbnet.errors import InputError
from cbnet.language.syntax.parser import parse
from cbnet.network.protocol.fields import MAX_INT, MAX_TREES, MAX_WEIGHT, check_name

LIVE_SCHEMES = ("multitree", "pif")  # trees shared by all sources; one tree per source, for small networks


# Settings that a running router can reload.
RELOADED = ("weights", "cache_bytes", "cache_age", "session_filters", "session_bytes", "queue_bytes", "handshakes",
            "handshakes_per_address", "history_messages", "history_bytes", "history_age",
            "account_grace")  # fmt: skip

_MAY_BE_ZERO = {"account_grace", "cache_bytes", "cache_age", "history_age", "settle", "overlap", "spacing"}


@dataclass(frozen=True)
class Settings:
    """Name, routing and timing of a router; all times are in seconds."""

    name: str
    network: str = "cbnet"  # peers of another network are refused
    home: str = ""  # of durable subscriptions, whose journal this router may hold; empty: it has the router's name
    scheme: str = "multitree"  # the same for all routers of a network
    trees: int = 1  # routing trees, the same for all routers: rooted at the nodes with the most neighbours
    roots: tuple[str, ...] = ()  # names of the trees' roots, the same for all routers; override `trees`
    commit: Literal["publisher", "message"] = "publisher"  # to one tree: all messages of a client, or each one
    weights: Mapping[str, int] = field(default_factory=dict)  # lengths of the links to neighbours; default 1
    heartbeat: float = 1.0  # of silence before a ping
    dead: float = 3.5  # of silence before a link is closed
    spacing: float = 0.05  # minimum between two versions of an own record
    refresh: float = 600.0  # between renewals of an own record
    lifetime: float = 1800.0  # of a record that is not renewed
    retry: float = 1.0  # before a missing record or acknowledgement is requested again
    trace: float = 2.0  # timeout for the reports of a trace
    answer: float = 2.0  # timeout for a holder's answer, before another one is asked
    cache_bytes: int = 1 << 24  # size of the reply cache; 0: no cache
    cache_age: float = 60.0  # maximum age of a cached reply; 0: no cache
    silence: float = 20.0  # for which a neighbour may owe an announcement, or read nothing, before its link is closed
    session_filters: int = 5_000_000  # that a neighbour may announce over one link
    session_bytes: int = 1 << 29  # of these filters
    queue_bytes: int = 1 << 30  # of messages queued for all slow clients together
    handshakes: int = 1_000  # connections whose peers have not sent their Hello
    handshakes_per_address: int = 100  # of these, from one address of another machine
    history: str | None = (
        None  # predicate of the messages kept for subscriptions that begin in the past; "": remove them
    )
    history_messages: int = 1_000_000  # of these, at most
    history_bytes: int = 1 << 28  # of their contents, at most
    history_age: float = 86_400.0  # of the oldest; 0: no limit
    sync: str = "always"  # or "interval": messages are answered before they are synced to disk, once a second
    account_grace: float = 604_800.0  # after which the durable subscriptions of a removed account end; 0: never
    settle: float = 0.05  # minimum between two versions of the topology
    overlap: float = 2.0  # for which earlier versions are kept after the newest is complete

    def __post_init__(self) -> None:
        others = [("router", name) for name in (*self.weights, *self.roots)]
        if self.home:
            check_name("home", self.home)
        for what, name in (("router", self.name), ("network", self.network), *others):
            check_name(what, name)
        check_scheme(self.scheme)
        for neighbour, weight in self.weights.items():
            if not 1 <= weight <= MAX_WEIGHT:
                raise InputError(
                    f"invalid weight {weight} of {neighbour}", hint=f"use a number from 1 to {MAX_WEIGHT:,}"
                )
        if not 1 <= self.trees <= MAX_TREES or len(self.roots) > MAX_TREES:
            raise InputError(f"invalid number of trees: {self.trees}", hint=f"use from 1 to {MAX_TREES}")
        for key, known in (("commit", ("publisher", "message")), ("sync", ("always", "interval"))):
            if getattr(self, key) not in known:
                raise InputError(f"unknown value {getattr(self, key)!r} of `{key}`", hint=f"use {' or '.join(known)}")
        if len(set(self.roots)) < len(self.roots):
            raise InputError("two trees have the same root", hint="list each root once in `roots`")
        if not 0 < self.heartbeat < self.dead:
            raise InputError("`dead` is not longer than `heartbeat`", hint="use a longer `dead`")
        if self.history:
            _check_history(self.history)
        if not 0 < self.refresh < self.lifetime:
            raise InputError("`lifetime` is not longer than `refresh`", hint="use a longer `lifetime`")
        for key, default in vars(type(self)).items():
            if type(default) in (int, float):
                check_number(key, getattr(self, key), may_be_zero=key in _MAY_BE_ZERO)

    @property
    def tree_count(self) -> int:
        """The number of shared trees, if the network has enough routers; 1 if each source has its own."""
        return len(self.roots) or self.trees if self.scheme == "multitree" else 1

    @property
    def routing(self) -> str:
        """Identifier of the trees, which all routers of a network must share to forward each other's packets."""
        if self.scheme != "multitree":
            return self.scheme
        digest = sha256("\n".join(self.roots).encode()).hexdigest()[:16]  # the list may be too long for a `Hello`
        return f"multitree:{len(self.roots)} of {digest}" if self.roots else f"multitree:{self.trees}"


def _check_history(predicate: str) -> None:
    try:
        parse(predicate)
    except InputError as error:
        raise InputError(f"history: {error.problem}", hint=error.hint) from None


def check_number(key: str, value: float, *, may_be_zero: bool = False) -> None:
    """Raise an `InputError` unless a setting is a finite number of at most 63 bits, and positive or zero."""
    if not 0 <= value <= MAX_INT or (value == 0 and not may_be_zero):
        least = "0 or more" if may_be_zero else "more than 0"
        raise InputError(f"`{key}` is {value}", hint=f"use {least}, and at most {MAX_INT:,}")


def check_scheme(name: str) -> None:
    """Raise an `InputError` unless a live network can use a scheme."""
    if name not in LIVE_SCHEMES:
        hint = f"use {' or '.join(LIVE_SCHEMES)}; `cbnet lab simulate` has the schemes of the papers"
        raise InputError(f"unknown scheme {name!r} of a live network", hint=hint)
