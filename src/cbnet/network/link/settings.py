"""Settings: what is one router told when it starts?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256

from cbnet.errors import InputError
from cbnet.network.protocol.fields import MAX_WEIGHT, check_name


@dataclass(frozen=True)
class Settings:
    """The name of a router, how it routes, and its times in seconds."""

    name: str
    network: str = "cbnet"  # routers and clients of another network are refused
    scheme: str = "psf"  # the same for all routers of a network
    trees: int = 1  # of the scheme multitree: rooted at the nodes with the most neighbours, unless `roots` are said
    roots: tuple[str, ...] = ()  # of the trees, by name, the same for all routers; then there are so many trees
    weights: Mapping[str, int] = field(default_factory=dict)  # of the links to neighbours; 1 where nothing is said
    is_limited: bool = True  # whether a filter is announced only if no other filter of this node covers it
    heartbeat: float = 1.0  # of silence, before the other side is asked whether it is there
    dead: float = 3.5  # of silence, before a link is closed
    spacing: float = 0.05  # between two versions of an own record
    refresh: float = 600.0  # after which an own record is renewed
    lifetime: float = 1800.0  # after which a record that was not renewed is forgotten
    retry: float = 1.0  # before something that did not come is asked for again
    trace: float = 2.0  # for the reports of a trace
    answer: float = 2.0  # for a client to answer a request, before another one is asked
    cache_bytes: int = 1 << 24  # of replies that are kept to answer the same request again; 0: none
    cache_age: float = 60.0  # for which a reply is kept, at most; 0: not at all
    overlap: float = 1.0  # after a change of the topology, in which messages also take the ways of before

    def __post_init__(self) -> None:
        others = [("router", name) for name in (*self.weights, *self.roots)]
        for what, name in (("router", self.name), ("network", self.network), *others):
            check_name(what, name)
        from cbnet.routing import SCHEMES  # imports NumPy, which clients do not need

        if self.scheme not in SCHEMES:
            raise InputError(f"unknown scheme {self.scheme!r}", hint="use one of " + ", ".join(SCHEMES))
        for neighbour, weight in self.weights.items():
            if not 1 <= weight <= MAX_WEIGHT:
                raise InputError(f"the weight {weight} of {neighbour}", hint=f"use a number from 1 to {MAX_WEIGHT:,}")
        if self.trees < 1:
            raise InputError(f"{self.trees} trees", hint="use at least 1")
        if len(set(self.roots)) < len(self.roots):
            raise InputError("two trees have the same root", hint="name each root once")
        if self.answer <= 0:
            raise InputError(f"{self.answer:g} s for a client to answer", hint="let `answer` be longer")
        if self.cache_bytes < 0 or self.cache_age < 0:
            raise InputError("a cache cannot be smaller than nothing", hint="use 0 for no cache")
        if not 0 < self.heartbeat < self.dead:
            raise InputError("a link would be dead before its first heartbeat", hint="let `dead` be longer")
        if self.overlap < 0:
            raise InputError(f"{self.overlap:g} s of overlap", hint="use 0 or more")
        if not 0 < self.refresh < self.lifetime:
            raise InputError("a record would end before it is renewed", hint="let `lifetime` be longer than `refresh`")

    @property
    def routing(self) -> str:
        """What routers must have in common to understand each other's headers."""
        if self.scheme != "multitree":
            return self.scheme
        return f"multitree:{len(self.roots)} of {_digest(self.roots)}" if self.roots else f"multitree:{self.trees}"


def _digest(names: tuple[str, ...]) -> str:
    """Return a short text that differs if the names do: a list of them may be too long for a `Hello`."""
    return sha256("\n".join(names).encode()).hexdigest()[:16]
