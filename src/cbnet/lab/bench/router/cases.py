"""The cases of the router benchmark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from cbnet.errors import InputError
from cbnet.lab.bench.router.load import Load


@dataclass(frozen=True)
class Case:
    """A load on every server."""

    name: str
    load: Load
    text: str


CASES: Final = {
    case.name: case
    for case in (
        Case("fanout-1", Load(), "1 subscriber, 500 messages in a write"),
        Case("fanout-10", Load(subscribers=10, batch=100), "10 subscribers, 100 messages in a write"),
        Case("fanout-100", Load(subscribers=100, batch=20), "100 subscribers, 20 messages in a write"),
        Case("payload-10k", Load(payload=10_000, batch=20), "10,000 bytes of payload, 20 messages in a write"),
        Case("publishers-20", Load(publishers=20, batch=1), "20 publishers in turn, one message in a write"),
    )
}


def parse_cases(text: str) -> list[Case]:
    """Return the cases of a comma-separated list of names."""
    return [_case(name.strip()) for name in text.split(",")]


def _case(name: str) -> Case:
    if name not in CASES:
        raise InputError(f"unknown case {name!r}", hint=f"use some of {', '.join(CASES)}")
    return CASES[name]
