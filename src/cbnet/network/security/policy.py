"""Security policy of a router: TLS and access control.

A router that is reachable from other machines must configure both, or opt out explicitly.

    certificate, key, authority     for TLS
    client_certificates             whether clients must present certificates
    [clients.NAME]                  the clients that may link, with their rights
    clients = "FILE"                the same, in a separate file
    routers                         the routers that may link, besides those that this one dials
    insecure                        the text that opts out
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from cbnet.errors import InputError
from cbnet.network.protocol.addresses import Address
from cbnet.network.security.access import OPEN_ACCESS, Access, Account, read_accounts, read_accounts_file
from cbnet.network.security.tls import Tls, TlsContexts, router_contexts

TYPES: Final[Mapping[str, type]] = {
    "certificate": str, "key": str, "authority": str, "client_certificates": bool, "routers": tuple, "clients": dict,
    "insecure": str,
}  # fmt: skip
DEFAULTS: Final[Mapping[str, Any]] = {
    "certificate": "", "key": "", "authority": "", "client_certificates": False, "routers": None, "clients": None,
    "insecure": "",
}  # fmt: skip
FILES: Final = ("certificate", "key", "authority")
INSECURE: Final = "anybody may read and publish everything"


@dataclass(frozen=True)
class SecurityPolicy:
    """TLS and access control of a router."""

    access: Access = OPEN_ACCESS
    tls: Tls | None = None
    needs_client_certificates: bool = False

    def contexts(self) -> TlsContexts:
        """Read the certificates, and return the TLS contexts of the router."""
        return router_contexts(self.tls, needs_certificate=self.needs_client_certificates)


OPEN_POLICY: Final = SecurityPolicy()


def read_policy(values: Mapping[str, Any], listen: Address, neighbours: Iterable[str]) -> SecurityPolicy:
    """Return the policy in the values of all keys, if it is sufficient for the listening address."""
    tls = _tls(values)
    clients = _accounts(values["clients"])
    # Once clients must authenticate, so must routers: else any client could link as a router.
    is_restricted = values["routers"] is not None or clients is not None
    routers = frozenset((*(values["routers"] or ()), *neighbours)) if is_restricted else None
    policy = SecurityPolicy(Access(clients, routers, tls is not None), tls, values["client_certificates"])
    if tls is None and policy.needs_client_certificates:
        raise InputError("client_certificates needs TLS", hint="set certificate, key and authority")
    policy.contexts()  # checks the files now
    if not listen.is_loopback and values["insecure"] != INSECURE:
        _check_public(policy, values["routers"], listen)
    return policy


def _accounts(clients: str | Mapping[str, Any] | None) -> dict[str, Account] | None:
    if isinstance(clients, str):
        return read_accounts_file(Path(clients))
    return None if clients is None else read_accounts(clients)


def _tls(values: Mapping[str, Any]) -> Tls | None:
    certificate, key, authority = (values[file] or None for file in FILES)
    if certificate is None and (key or authority):
        raise InputError(f"{'key' if key else 'authority'} without a certificate", hint="set certificate too")
    if certificate is None:
        return None
    if authority is None:
        raise InputError(
            "certificate without an authority", hint="set authority, which signs the routers' certificates"
        )
    return Tls(authority, certificate, key)


def check_http(policy: SecurityPolicy, http: Address, insecure: str) -> None:
    """Raise an `InputError` if the HTTP address is publicly reachable and clients need not authenticate."""
    if not http.is_loopback and insecure != INSECURE:
        _check_missing(http, _missing_for_clients(policy))


def _check_public(policy: SecurityPolicy, routers: object, listen: Address) -> None:
    """Raise an `InputError` if a publicly reachable router does not authenticate its peers."""
    missing = _missing_for_clients(policy)
    _check_missing(listen, [*missing, *(["list of routers (routers)"] if routers is None else [])])


def _missing_for_clients(policy: SecurityPolicy) -> list[str]:
    found = {
        "TLS (certificate, key, authority)": policy.tls,
        "list of clients ([clients.NAME])": policy.access.clients,
    }
    return [name for name, value in found.items() if value is None]


def _check_missing(address: Address, missing: list[str]) -> None:
    if missing:
        raise InputError(
            f"{address} is reachable from other machines, but has no " + ", no ".join(missing),
            hint=f'configure them, listen on 127.0.0.1, or set insecure = "{INSECURE}"',
        )
