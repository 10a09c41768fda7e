"""The cases of the router benchmark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from cbnet.errors import InputError
from cbnet_lab.bench.router.load import Load

_USUAL = 10_000  # filters, at most, of cases with servers of their own


@dataclass(frozen=True)
class Case:
    """A load on every server."""

    name: str
    text: str
    load: Load
    is_tls: bool = False
    is_transit: bool = False  # subscribers are at a second router
    has_probe: bool = False  # latency is measured beside the load

    @property
    def has_own_servers(self) -> bool:
        """Whether the servers of the other cases cannot be used."""
        return self.is_tls or self.is_transit

    def filters(self, chosen: Sequence[int]) -> list[int]:
        """Return the numbers of filters to measure: with servers of its own, only the greatest usual one."""
        if not self.has_own_servers:
            return list(chosen)
        return [max((count for count in chosen if count <= _USUAL), default=min(chosen))]


CASES: Final = {
    case.name: case
    for case in (
        Case("fanout-1", "1 subscriber, 500 messages in a write", Load()),
        Case("fanout-10", "10 subscribers, 100 messages in a write", Load(subscribers=10, batch=100)),
        Case("fanout-100", "100 subscribers, 20 messages in a write", Load(subscribers=100, batch=20)),
        Case("payload-10k", "10,000 bytes of payload, 20 messages in a write", Load(payload=10_000, batch=20)),
        Case("publishers-20", "20 publishers in turn, one message in a write", Load(publishers=20, batch=1)),
        Case("probe", "as fanout-1, with a message every 2 ms of another client", Load(), has_probe=True),
        Case("tls", "as fanout-1, with TLS", Load(), is_tls=True),
        Case("transit", "as fanout-1, with the subscriber at a second router", Load(), is_transit=True),
    )
}


def chosen_cases(names: Sequence[str]) -> list[Case]:
    """Return the cases of these names."""
    for name in names:
        if name not in CASES:
            raise InputError(f"unknown case {name!r}", hint=f"use some of {', '.join(CASES)}")
    return [CASES[name] for name in names]
