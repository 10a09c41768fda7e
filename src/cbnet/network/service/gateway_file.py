"""Gateway files: TOML with one table per domain, a router; keys before the tables apply to the routers of all domains.

`docs/reference/network-file.md` has an example.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cbnet.errors import InputError
from cbnet.network.service.configuration import Configuration, configured_from, file_values
from cbnet.routing.schemes.domains import summary
from cbnet.text_positions import Keys
from cbnet.toml_files import TomlDocument

_DOMAIN_KEYS = ("listen", "network", "neighbours", "weights", "http")  # allowed only in a domain
_PROCESS_KEYS = ("log", "log_level", "drain", "audit")  # allowed only before the domains


@dataclass(frozen=True)
class GatewayPlan:
    """The validated configuration of a gateway."""

    name: str
    outside: str
    sides: list[Configuration]

    @property
    def networks(self) -> list[str]:
        """The networks of its domains."""
        return [each.settings.network for each in self.sides]


def read_gateway(path: Path) -> GatewayPlan:
    """Read a gateway file."""
    document = TomlDocument(path)
    domains, outside = document.tables.pop("domain", []), document.tables.pop("outside", "exact")
    shared = {key: (key,) for key in document.tables if key not in _DOMAIN_KEYS}
    for key in document.tables.keys() - shared.keys():
        document.note((key,), f"{key} is not allowed before the domains", "set it in each [[domain]] table")
    if "name" not in shared:
        document.note((), "the gateway has no name", "set name = ... before the domains")
    document.build(("domain",), lambda: _check_domains(domains))
    document.build(("outside",), lambda: summary(outside))
    values = file_values(document, shared)
    document.finish()
    document.tables["domain"] = domains
    own = [_domain_places(document, number) for number in range(len(domains))]
    given = [values | file_values(document, places) for places in own]
    document.finish()
    try:
        sides = [configured_from(document, shared | places, each) for places, each in zip(own, given, strict=True)]
    except InputError as error:
        raise error.at(file=str(path)) from None
    _check_unique(document, "network", [each.settings.network for each in sides])
    _check_unique(document, "listen", [str(each.listen) if each.listen.port else None for each in sides])
    document.finish()
    return GatewayPlan(document.tables["name"], outside, sides)


def _domain_places(document: TomlDocument, number: int) -> dict[str, Keys]:
    """Return where the file has the keys of one domain, after noting those that are not allowed there."""
    places: dict[str, Keys] = {key: ("domain", number, key) for key in document.at(("domain", number))}
    for key in _PROCESS_KEYS:
        if key in places:
            hint = "set it before the tables, for all domains"
            document.note(places[key], f"{key} is not allowed in a domain", hint)
    return places


def _check_unique(document: TomlDocument, key: str, values: list[str | None]) -> None:
    for number, value in enumerate(values):
        if value is not None and value in values[:number]:
            problem = f"two domains have {key} = {value!r}"
            document.note(("domain", number, key), problem, "use a different value in each")


def _check_domains(domains: Any) -> None:
    if not isinstance(domains, list) or not all(isinstance(each, dict) for each in domains):
        raise InputError("domain must be a list of tables", hint="begin each with [[domain]]")
    if len(domains) < 2:
        raise InputError("a gateway needs at least two domains", hint="write a [[domain]] table for each")
