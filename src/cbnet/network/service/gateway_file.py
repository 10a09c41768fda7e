"""Gateway files: TOML with one table per domain.

    name = "g"                  # unique among gateways
    outside = "names"           # how each domain sees the others: a summary; "exact" by default

    [[domain]]                  # a router, with the keys of `cbnet router`, under the gateway's name
    network = "north"
    listen = "127.0.0.1:4001"
    neighbours = { n1 = "127.0.0.1:4011" }

    [[domain]]
    network = "south"
    listen = "127.0.0.1:4002"

Keys before the tables apply to the routers of all domains.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cbnet.errors import InputError
from cbnet.files import check_keys, read_toml
from cbnet.network.service.configuration import KEYS, Configuration, configuration_of
from cbnet.routing.domains.summary import summary

_DOMAIN_KEYS = ("listen", "network", "neighbours", "weights", "http")  # allowed only in a domain
_PROCESS_KEYS = ("log", "log_level", "drain", "audit")  # allowed only before the domains


@dataclass(frozen=True)
class GatewayPlan:
    """The validated configuration of a gateway."""

    name: str
    outside: str
    sides: list[Configuration]


def read_gateway(path: Path) -> GatewayPlan:
    """Read a gateway file."""
    table = read_toml(path)
    try:
        return _plan(table, path)
    except InputError as error:
        raise error.at(file=str(path)) from None


def _plan(shared: dict[str, Any], path: Path) -> GatewayPlan:
    domains, outside = shared.pop("domain", []), shared.pop("outside", "exact")
    _forbid_keys(shared, _DOMAIN_KEYS, "is not allowed before the domains", "set it in each [[domain]] table")
    check_keys(shared, KEYS, " before the domains")
    if "name" not in shared:
        raise InputError("the gateway has no name", hint="set name = ... before the domains")
    _check_domains(domains)
    for table in domains:
        _forbid_keys(table, _PROCESS_KEYS, "is not allowed in a domain", "set it before the tables, for all domains")
    summary(outside)
    sides = [configuration_of({**shared, **table}, path) for table in domains]
    _check_unique("network", [each.settings.network for each in sides])
    _check_unique("listen", [str(each.listen) for each in sides if each.listen.port])
    return GatewayPlan(shared["name"], outside, sides)


def _forbid_keys(table: dict[str, Any], keys: tuple[str, ...], problem: str, hint: str) -> None:
    for key in keys:
        if key in table:
            raise InputError(f"{key} {problem}", hint=hint)


def _check_unique(key: str, values: list[str]) -> None:
    duplicates = [value for value, count in Counter(values).items() if count > 1]
    if duplicates:
        raise InputError(f"two domains have {key} = {duplicates[0]!r}", hint="use a different value in each")


def _check_domains(domains: Any) -> None:
    if not isinstance(domains, list) or not all(isinstance(each, dict) for each in domains):
        raise InputError("domain must be a list of tables", hint="begin each with [[domain]]")
    if len(domains) < 2:
        raise InputError("a gateway needs at least two domains", hint="write a [[domain]] table for each")
