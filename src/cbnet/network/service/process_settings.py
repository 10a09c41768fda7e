"""Settings of a router's process that do not affect other routers: HTTP, logs, shutdown.

http                address of the HTTP server; none by default
http_origins        further origins whose web pages may use it
http_connections    maximum number of concurrent HTTP clients, not counting health checks
log, log_level      format, and lowest level
drain               maximum duration of a graceful shutdown, in seconds
journal             folder for durable subscriptions; without it there can be none
audit               file to which refusals are appended; none by default
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from cbnet.errors import InputError
from cbnet.network.protocol.addresses import Address, parse_address

LOG_FORMATS: Final = ("text", "json")
LOG_LEVELS: Final = ("debug", "info", "warning", "error")
TYPES: Final[Mapping[str, type]] = {
    "http": str, "http_origins": tuple, "http_connections": int,
    "log": str, "log_level": str, "drain": float, "journal": str, "audit": str,
}  # fmt: skip
DEFAULTS: Final[Mapping[str, Any]] = {
    "http": "", "http_origins": (), "http_connections": 1_000,
    "log": "text", "log_level": "info", "drain": 5.0, "journal": "", "audit": "",
}  # fmt: skip
FILES: Final = ("journal", "audit")  # paths
_MAX_DRAIN: Final = 3_600.0
_ORIGIN: Final = re.compile(r"https?://[^/\s?#*]+")


@dataclass(frozen=True)
class ProcessSettings:
    """Settings of a router's process: HTTP, logs, shutdown, journal."""

    http: Address | None = None
    log: str = "text"
    log_level: str = "info"
    drain: float = 0.0  # 0: stop at once
    journal: Path | None = None
    audit: str = ""  # path
    http_origins: tuple[str, ...] = ()
    http_connections: int = 1_000

    def __post_init__(self) -> None:
        for origin in self.http_origins:
            if not _ORIGIN.fullmatch(origin):
                hint = "write it as in https://example.org, without a path"
                raise InputError(f"http_origins: {origin!r} is not an origin", hint=hint)
        if self.http_connections < 1:
            raise InputError(f"invalid http_connections {self.http_connections}", hint="use 1 or more")
        for key, value, known in (("log", self.log, LOG_FORMATS), ("log_level", self.log_level, LOG_LEVELS)):
            if value not in known:
                raise InputError(f"unknown {key} {value!r}", hint="use one of " + ", ".join(known))
        if not 0 <= self.drain <= _MAX_DRAIN:
            raise InputError(f"invalid drain time {self.drain:g} s", hint=f"use 0 to {_MAX_DRAIN:,.0f}")


DEFAULT_PROCESS: Final = ProcessSettings()


def process_settings_from(values: Mapping[str, Any]) -> ProcessSettings:
    """Return the settings for the values of all keys."""
    return ProcessSettings(
        http=parse_address(values["http"]) if values["http"] else None,
        log=values["log"],
        log_level=values["log_level"],
        drain=values["drain"],
        journal=Path(values["journal"]) if values["journal"] else None,
        audit=values["audit"],
        http_origins=values["http_origins"],
        http_connections=values["http_connections"],
    )
