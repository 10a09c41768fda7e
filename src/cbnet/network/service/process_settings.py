"""ProcessSettings: what is a router told that does not concern the others? Its logs, its health, and how it ends.

http             where its health and its metrics are told; nowhere if nothing is said
http_insecure    the words by which that may be an address that other machines can reach
log, log_level   in which form, and from which level on
drain            seconds in which it may end gracefully
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from cbnet.errors import InputError
from cbnet.network.protocol.addresses import Address, parse_address

FORMS: Final = ("text", "json")
LEVELS: Final = ("debug", "info", "warning", "error")
TYPES: Final[Mapping[str, type]] = {
    "http": str, "http_insecure": str, "log": str, "log_level": str, "drain": float,
}  # fmt: skip
DEFAULTS: Final[Mapping[str, Any]] = {
    "http": "", "http_insecure": "", "log": "text", "log_level": "info", "drain": 5.0,
}  # fmt: skip
HTTP_INSECURE: Final = "anybody may read the metrics"
_LONGEST_DRAIN: Final = 3_600.0


@dataclass(frozen=True)
class ProcessSettings:
    """How a router is run."""

    http: Address | None = None
    log: str = "text"
    log_level: str = "info"
    drain: float = 0.0  # it ends at once

    def __post_init__(self) -> None:
        for key, said, known in (("log", self.log, FORMS), ("log_level", self.log_level, LEVELS)):
            if said not in known:
                raise InputError(f"unknown {key} {said!r}", hint="use one of " + ", ".join(known))
        if not 0 <= self.drain <= _LONGEST_DRAIN:
            raise InputError(f"{self.drain:g} s of drain", hint=f"use 0 to {_LONGEST_DRAIN:,.0f}")


QUIET: Final = ProcessSettings()


def process_settings_from(said: Mapping[str, Any]) -> ProcessSettings:
    """Return what the values of all keys say."""
    where = parse_address(said["http"]) if said["http"] else None
    if where is not None and not where.is_loopback and said["http_insecure"] != HTTP_INSECURE:
        raise InputError(
            f"http: {where} can be reached from other machines, and whoever reaches it may read",
            hint=f'use 127.0.0.1, or say http_insecure = "{HTTP_INSECURE}"',
        )
    return ProcessSettings(where, said["log"], said["log_level"], said["drain"])
