"""The attacks, with what each must do to count, what it must be told, and the memory that it may cost a router."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from cbnet.network.transport.tcp_router import MAX_QUEUED_FOR_ACCOUNT
from cbnet_lab.faults.attacks import client_attacks, durable_attacks, http_attacks, http_floods, silent_attacks
from cbnet_lab.faults.attacks.attacker import Attacker, Work

_GROWTH = 100.0  # MB
_KEPT = 60.0  # MB; `unfinished` leaves 38
_QUEUED = MAX_QUEUED_FOR_ACCOUNT / 1e6  # MB


@dataclass(frozen=True)
class Attack:
    """An attack and its limits."""

    run: Callable[[Attacker], Sequence[Work]]
    least: Mapping[str, int] = field(default_factory=dict)  # what it must have done at least
    told: str = ""  # regular expression, found in an answer
    growth_mb: float = _GROWTH  # of a router
    kept_mb: float | None = None  # of its growth, some seconds after the attack; None: any

    @property
    def text(self) -> str:
        """The attack in words."""
        return (self.run.__doc__ or "").rstrip(".")

    def missing(self, did: Mapping[str, int], told: Iterable[str]) -> Iterator[str]:
        """Yield what an attacker must still do, and be told."""
        for what, least in self.least.items():
            if did.get(what, 0) < least:
                yield f"the attacker did too little to attack anything: {did.get(what, 0):,} {what} of {least:,}"
        if self.told and not any(re.search(self.told, answer) for answer in told):
            yield f"no answer to the attacker contains `{self.told}`"


ATTACKS: Final[Mapping[str, Attack]] = {
    "conditions": Attack(client_attacks.conditions, {"subscriptions": 58, "messages": 8}),
    "messages": Attack(client_attacks.messages, {"messages": 256}),
    "subscriptions": Attack(client_attacks.subscriptions, {"subscriptions": 16}),
    "slow-readers": Attack(
        client_attacks.slow_readers, {"links that do not read": 15, "messages": 16}, "", _QUEUED + _GROWTH
    ),
    "regexes": Attack(client_attacks.regexes, {"subscriptions": 120, "messages": 8}),
    "predicates": Attack(client_attacks.predicates, {"subscriptions": 16}),
    "quantifiers": Attack(client_attacks.quantifiers, {"subscriptions": 235, "messages": 16}),
    "empty-subscriptions": Attack(client_attacks.empty_subscriptions, {"subscriptions": 10_000}),
    "large-filters": Attack(client_attacks.large_filters, {"subscriptions": 40}),
    "tokens": Attack(client_attacks.tokens, {"guesses": 2}),
    "half-open": Attack(silent_attacks.half_open, {"connections": silent_attacks.CONNECTIONS}, kept_mb=_KEPT),
    "silent": Attack(silent_attacks.silent, {"connections": 4}, kept_mb=_KEPT),
    "unfinished": Attack(silent_attacks.unfinished, {"connections": 4}, kept_mb=_KEPT),
    "members": Attack(http_attacks.members, {"requests": 16}, "^4.. .*values"),
    "numbers": Attack(http_attacks.numbers, {"requests": 2}, "^400 "),
    "headers": Attack(http_attacks.headers, {"requests": 2}, " 4"),
    "slow-headers": Attack(http_attacks.slow_headers, {"connections": 200, "bytes": 200, "requests": 1}),
    "socket-frames": Attack(http_attacks.socket_frames, {"frames": 8}, "100[279]"),
    "origins": Attack(http_attacks.origins, {"requests": 3}, "403"),
    "strangers": Attack(http_floods.strangers, {"requests": 400}, "^200"),
    "chunks": Attack(http_floods.chunks, {"chunks": 20_000}),
    "lines": Attack(http_floods.lines, {"lines": 400}),
    "socket-subscriptions": Attack(http_floods.socket_subscriptions, {"subscriptions": 3_900, "messages": 16}),
    "event-streams": Attack(http_floods.event_streams, {"streams": 15, "messages": 16}, "", _QUEUED + _GROWTH),
    "durable-filters": Attack(durable_attacks.durable_filters, {"subscriptions": 4}),
    "full-subscriptions": Attack(durable_attacks.full_subscriptions, {"subscriptions": 30, "refusals": 30}),
    "replays": Attack(durable_attacks.replays, {"replays": 16, "messages": 100}),
    "others": Attack(durable_attacks.others, {"attempts": 5}, "durable subscription"),
    "forget-home": Attack(durable_attacks.forget_home, {"attempts": 1}, "you may not"),
    "forged-homes": Attack(durable_attacks.forged_homes, {"forged records": 1, "durable messages": 1}),
}
