"""Settings of a router's process that do not affect other routers: HTTP, logs, shutdown.

http             address of the health and metrics pages; none by default
http_insecure    consent, in fixed words, to an address that other machines can reach
log, log_level   format, and lowest level
drain            maximum seconds of a graceful shutdown
journal          folder for durable subscriptions; without it there can be none
audit            file to which refusals are appended; none by default
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from cbnet.errors import InputError
from cbnet.network.protocol.addresses import Address, parse_address

LOG_FORMATS: Final = ("text", "json")
LOG_LEVELS: Final = ("debug", "info", "warning", "error")
TYPES: Final[Mapping[str, type]] = {
    "http": str, "http_insecure": str, "log": str, "log_level": str, "drain": float, "journal": str,
    "audit": str,
}  # fmt: skip
DEFAULTS: Final[Mapping[str, Any]] = {
    "http": "", "http_insecure": "", "log": "text", "log_level": "info", "drain": 5.0, "journal": "",
    "audit": "",
}  # fmt: skip
FILES: Final = ("journal", "audit")  # paths
HTTP_INSECURE: Final = "anybody may read the metrics"
_MAX_DRAIN: Final = 3_600.0


@dataclass(frozen=True)
class ProcessSettings:
    """How a router's process logs, serves HTTP and stops."""

    http: Address | None = None
    log: str = "text"
    log_level: str = "info"
    drain: float = 0.0  # 0: stop at once
    journal: Path | None = None
    audit: str = ""  # path

    def __post_init__(self) -> None:
        for key, value, known in (("log", self.log, LOG_FORMATS), ("log_level", self.log_level, LOG_LEVELS)):
            if value not in known:
                raise InputError(f"unknown {key} {value!r}", hint="use one of " + ", ".join(known))
        if not 0 <= self.drain <= _MAX_DRAIN:
            raise InputError(f"invalid drain time {self.drain:g} s", hint=f"use 0 to {_MAX_DRAIN:,.0f}")


DEFAULT_PROCESS: Final = ProcessSettings()


def process_settings_from(values: Mapping[str, Any]) -> ProcessSettings:
    """Return the settings for the values of all keys."""
    http = parse_address(values["http"]) if values["http"] else None
    if http is not None and not http.is_loopback and values["http_insecure"] != HTTP_INSECURE:
        raise InputError(
            f"http: other machines can reach {http} and read the metrics without authentication",
            hint=f'use 127.0.0.1, or set http_insecure = "{HTTP_INSECURE}"',
        )
    journal = Path(values["journal"]) if values["journal"] else None
    return ProcessSettings(http, values["log"], values["log_level"], values["drain"], journal, values["audit"])
