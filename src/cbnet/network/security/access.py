"""Access: who may link to a router, and as what? Decided once for each link, by its Hello.

    a client    shows its token; or, if it has none, a certificate that has its name in it. What it calls itself counts
                only if the certificate has the names of several clients
    a router    is on the list of those that may link, and shows a certificate that has its name in it

Who is admitted gets the rights of its name. If nothing is said of clients, or of routers, all are admitted.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from cbnet.errors import InputError
from cbnet.files import check_keys
from cbnet.network.protocol.fields import check_name
from cbnet.network.protocol.frames import Hello
from cbnet.network.security.rights import ALL_RIGHTS, RIGHTS, Denied, Rights, read_rights
from cbnet.network.security.tokens import parse_token_hash, token_matches, token_owner


@dataclass(frozen=True)
class Account:
    """What a router knows of a client."""

    rights: Rights
    token: str | None = None  # its hash; None: the client shows a certificate


class AdmittedPeer(NamedTuple):
    """Who is at the other end of a link."""

    name: str
    rights: Rights


@dataclass(frozen=True)
class Access:
    """Who may link to a router."""

    clients: Mapping[str, Account] | None = None  # None: anybody
    routers: frozenset[str] | None = None  # None: any
    has_certificates: bool = False  # whether routers must show their names in certificates

    def admitted(self, hello: Hello, names: frozenset[str] | None) -> AdmittedPeer:
        """Return who has said Hello, with the names in its certificate; `Denied` says why it is not let in."""
        if hello.role == "router":
            self._check_router(hello.name, names)
            return AdmittedPeer(hello.name, ALL_RIGHTS)
        if self.clients is None:
            return AdmittedPeer(hello.name, ALL_RIGHTS)
        if hello.token:
            return self._by_token(self.clients, hello.token)
        return self._by_certificate(self.clients, hello.name, names)

    def _check_router(self, name: str, names: frozenset[str] | None) -> None:
        if self.routers is not None and name not in self.routers:
            raise Denied(f"the router {name!r} may not link", hint="add it to `routers`")
        if not self.has_certificates:
            return
        if not names:
            raise Denied(f"the router {name!r} shows no certificate", hint="it must be told its certificate and key")
        if name not in names:
            raise Denied(
                f"the certificate of the router {name!r} is for {_listed(names)}",
                hint=f"make one with DNS:{name} among its names",
            )

    def _by_token(self, clients: Mapping[str, Account], token: str) -> AdmittedPeer:
        name = token_owner(token)
        account = clients.get(name)
        if not token_matches(token, None if account is None else account.token) or account is None:
            raise Denied("unknown token", hint="ask who runs the router for a new one")
        return AdmittedPeer(name, account.rights)

    def _by_certificate(self, clients: Mapping[str, Account], name: str, names: frozenset[str] | None) -> AdmittedPeer:
        by_certificate = {known for known, account in clients.items() if account.token is None}
        shown = by_certificate.intersection(names or ())
        if name in shown or len(shown) == 1:
            true_name = name if name in shown else min(shown)
            return AdmittedPeer(true_name, clients[true_name].rights)
        if shown:
            raise Denied(f"the certificate is for {_listed(shown)}", hint="say which of them connects: name=...")
        if names and by_certificate:
            raise Denied(
                f"no client is known by a certificate for {_listed(names)}",
                hint="show one with the name of a client in it, or a token",
            )
        raise Denied("a token is needed", hint="say it with --token, CBNET_TOKEN or token=...")


OPEN_ACCESS: Final = Access()


def read_accounts(said: Mapping[str, Any]) -> dict[str, Account]:
    """Return the clients that the tables of a file tell of."""
    found: dict[str, Account] = {}
    for name, table in said.items():
        check_name("client", name)
        where = f"[clients.{name}]"
        if not isinstance(table, dict):
            raise InputError(f"clients.{name} must be a table", hint=f"begin it with a line {where}")
        check_keys(table, ("token", *RIGHTS), f" in {where}")
        rights = read_rights({key: value for key, value in table.items() if key != "token"}, where)
        found[name] = Account(rights, parse_token_hash(table["token"], where) if "token" in table else None)
    return found


def _listed(names: Set[str]) -> str:
    return ", ".join(sorted(names)[:5])
