"""Gateway file: what is a gateway told? A TOML file with a table for each of its domains.

    name = "g"                  # no other gateway has it
    outside = "names"           # the summary that each domain is told of the others; "exact" if nothing is said

    [[domain]]                  # a router, with the keys of `cbnet router`; the name is that of the gateway
    network = "north"
    listen = "127.0.0.1:4001"
    neighbours = { n1 = "127.0.0.1:4011" }

    [[domain]]
    network = "south"
    listen = "127.0.0.1:4002"

What stands before the tables is said of the routers in all domains.
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

_OF_DOMAIN = ("listen", "network", "neighbours", "weights", "http")  # said of one domain
_OF_ALL = ("log", "log_level", "drain")  # said of the whole process


@dataclass(frozen=True)
class GatewayPlan:
    """All that a gateway is told, checked."""

    name: str
    outside: str
    sides: list[Configuration]


def read_gateway(path: Path) -> GatewayPlan:
    """Return what a file says; an `InputError` says what is wrong."""
    said = read_toml(path)
    try:
        return _plan(said, path)
    except InputError as error:
        raise error.at(file=str(path)) from None


def _plan(said: dict[str, Any], path: Path) -> GatewayPlan:
    domains, outside = said.pop("domain", []), said.pop("outside", "exact")
    _check_place(said, _OF_DOMAIN, "is said before the domains", "say it in the table of each [[domain]]")
    check_keys(said, KEYS, " before the domains")
    if "name" not in said:
        raise InputError("the gateway has no name", hint="write name = ... before the domains")
    _check_domains(domains)
    for table in domains:
        _check_place(table, _OF_ALL, "is said of one domain", "say it before the tables, for all")
    summary(outside)
    sides = [configuration_of({**said, **table}, path) for table in domains]
    _check_once("network", [each.settings.network for each in sides])
    _check_once("listen", [str(each.listen) for each in sides if each.listen.port])
    return GatewayPlan(said["name"], outside, sides)


def _check_place(table: dict[str, Any], wrong: tuple[str, ...], where: str, hint: str) -> None:
    for key in wrong:
        if key in table:
            raise InputError(f"{key} {where}", hint=hint)


def _check_once(key: str, values: list[str]) -> None:
    twice = [value for value, count in Counter(values).items() if count > 1]
    if twice:
        raise InputError(f"two domains say {key} = {twice[0]!r}", hint="say another for each")


def _check_domains(domains: Any) -> None:
    if not isinstance(domains, list) or not all(isinstance(each, dict) for each in domains):
        raise InputError("domain is no list of tables", hint="write [[domain]] before each")
    if len(domains) < 2:
        raise InputError("a gateway is in two domains or more", hint="write a table [[domain]] for each")
