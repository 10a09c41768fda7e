"""Security: how is a router protected? By TLS, and by who may link to it as what.

A router that can be reached from other machines must know of both. There are words to run it without.

    certificate, key, authority     of TLS
    client_certificates             whether clients must show certificates
    [clients.NAME]                  the clients that may link, with their rights
    routers                         the routers that may link, beside those that this one dials
    insecure                        the words
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from cbnet.errors import InputError
from cbnet.network.protocol.addresses import Address
from cbnet.network.security.access import OPEN_ACCESS, Access, read_accounts
from cbnet.network.security.tls import Tls, client_context, server_context

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
    """How a router is protected."""

    access: Access = OPEN_ACCESS
    tls: Tls | None = None
    needs_client_certificates: bool = False


OPEN_POLICY: Final = SecurityPolicy()


def read_policy(said: Mapping[str, Any], listen: Address, neighbours: Iterable[str]) -> SecurityPolicy:
    """Return what the values of all keys say, if a router that listens there may run so."""
    tls = _tls(said)
    clients = None if said["clients"] is None else read_accounts(said["clients"])
    # Where clients are known, nobody else may say to be a router.
    is_known = said["routers"] is not None or clients is not None
    routers = frozenset((*(said["routers"] or ()), *neighbours)) if is_known else None
    found = SecurityPolicy(Access(clients, routers, tls is not None), tls, said["client_certificates"])
    if tls is None and found.needs_client_certificates:
        raise InputError("client_certificates without TLS", hint="name a certificate, its key and an authority")
    if tls is not None:
        server_context(tls, needs_certificate=found.needs_client_certificates)  # says now what is wrong with the files
        client_context(tls)
    if not listen.is_loopback and said["insecure"] != INSECURE:
        _check_beyond_loopback(found, said["routers"], listen)
    return found


def _tls(said: Mapping[str, Any]) -> Tls | None:
    certificate, key, authority = (said[file] or None for file in FILES)
    if certificate is None and (key or authority):
        raise InputError(f"{'key' if key else 'authority'} without a certificate", hint="name the certificate too")
    if certificate is None:
        return None
    if authority is None:
        raise InputError("a certificate without an authority", hint="name the authority that routers are trusted by")
    return Tls(authority, certificate, key)


def _check_beyond_loopback(found: SecurityPolicy, said_routers: object, listen: Address) -> None:
    """Refuse to be reached by others without knowing who they are."""
    missing = []
    if found.tls is None:
        missing.append("TLS (certificate, key, authority)")
    if found.access.clients is None:
        missing.append("who may be a client ([clients.NAME])")
    if said_routers is None:
        missing.append("who may link as a router (routers)")
    if missing:
        raise InputError(
            f"{listen} can be reached from other machines, and there is no word of " + ", or of ".join(missing),
            hint=f'say it; or listen at 127.0.0.1; or write insecure = "{INSECURE}"',
        )
