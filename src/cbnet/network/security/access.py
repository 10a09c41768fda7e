"""Access control: which clients and routers may link to a router, decided once per link by its `Hello`.

    client    authenticates by token, or by a certificate for its name. The name in its `Hello` counts only if the
              certificate is for several clients
    router    must be listed, and over TLS show a certificate for its name

An admitted client has the rights of its account. Without a list of clients, or of routers, all are admitted. A router
that is reachable from other machines must configure TLS and both lists, or opt out explicitly (`insecure`):
`docs/reference/network-file.md` lists the keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from cbnet.errors import InputError
from cbnet.network.protocol.addresses import Address
from cbnet.network.protocol.fields import check_name
from cbnet.network.protocol.frames import Hello
from cbnet.network.security.record_signatures import NO_SIGNATURES, RecordSignatures, read_signatures
from cbnet.network.security.rights import ALL_RIGHTS, RIGHTS, Denied, Rights, read_rights
from cbnet.network.security.tls import Tls, TlsContexts, router_contexts
from cbnet.network.security.tokens import parse_token_hash, token_matches, token_owner
from cbnet.text_positions import Keys
from cbnet.toml_files import TomlDocument, check_keys

SECURITY: Final[dict[str, Any]] = {  # keys of a configuration, with their defaults
    "certificate": "", "key": "", "authority": "", "client_certificates": False, "routers": None, "clients": None,
    "signing_key": "", "home_key": "", "public_keys": None, "insecure": "",
}  # fmt: skip
SECURITY_FILES: Final = ("certificate", "key", "authority")
INSECURE: Final = "anybody may read and publish everything"


@dataclass(frozen=True)
class Account:
    """Rights and credentials of a client."""

    rights: Rights
    token: str | None = None  # hash of its token; None: the client authenticates by certificate


class AdmittedPeer(NamedTuple):
    """True name and rights of the peer of a link."""

    name: str
    rights: Rights


@dataclass(frozen=True)
class Access:
    """The clients and routers that may link to a router."""

    clients: Mapping[str, Account] | None = None  # None: any
    routers: frozenset[str] | None = None  # None: any
    has_certificates: bool = False  # routers must show certificates for their names
    signatures: RecordSignatures = NO_SIGNATURES

    def admit(self, hello: Hello, names: frozenset[str] | None) -> AdmittedPeer:
        """Return the peer that sent a `Hello`, given the names in its certificate, or raise `Denied`."""
        if hello.role == "router":
            self._check_router(hello.name, names)
            return AdmittedPeer(hello.name, ALL_RIGHTS)
        if self.clients is None:
            return AdmittedPeer(hello.name, ALL_RIGHTS)
        if hello.token:
            return self._by_token(self.clients, hello.token)
        return self._by_certificate(self.clients, hello.name, names)

    def review(self, hello: Hello, names: frozenset[str] | None, before: Access) -> AdmittedPeer:
        """Return a peer that earlier rules (`before`) admitted, with its current rights, or raise `Denied`."""
        if hello.role == "router" or self.clients is None:
            return self.admit(hello, names)
        account, present = (before.clients or {}).get(hello.name), self.clients.get(hello.name)
        if account is None:
            raise Denied("clients must authenticate from now on", hint="use a token or a certificate")
        if present is None:
            raise Denied(f"the client {hello.name!r} was removed", hint="ask the operator of the router")
        if present.token != account.token:
            raise Denied(f"the client {hello.name!r} has other credentials now", hint="use its new token")
        return AdmittedPeer(hello.name, present.rights)

    def has_account(self, name: str) -> bool:
        """Return whether an account exists; without a list of clients, all share the one with the empty name."""
        return not name if self.clients is None else name in self.clients

    def rights_of(self, account: str) -> Rights:
        """Return the rights of an account; of one that does not exist, those that a new one has by default."""
        if self.clients is None:
            return ALL_RIGHTS
        present = self.clients.get(account)
        return _NEW_RIGHTS if present is None else present.rights

    def _check_router(self, name: str, names: frozenset[str] | None) -> None:
        if self.routers is not None and name not in self.routers:
            raise Denied(f"router {name!r} is not allowed to link", hint="add it to `routers`")
        if not self.has_certificates:
            return
        if not names:
            raise Denied(f"router {name!r} presents no certificate", hint="configure its certificate and key")
        if name not in names:
            raise Denied(
                f"the certificate of router {name!r} is for {_listed(names)}",
                hint=f"issue one with DNS:{name} among its names",
            )

    def _by_token(self, clients: Mapping[str, Account], token: str) -> AdmittedPeer:
        name = token_owner(token)
        account = clients.get(name)
        if not token_matches(token, None if account is None else account.token) or account is None:
            raise Denied("unknown token", hint="ask the operator of the router for a new one")
        return AdmittedPeer(name, account.rights)

    def _by_certificate(self, clients: Mapping[str, Account], name: str, names: frozenset[str] | None) -> AdmittedPeer:
        by_certificate = {known for known, account in clients.items() if account.token is None}
        shown = by_certificate.intersection(names or ())
        if name in shown or len(shown) == 1:
            true_name = name if name in shown else min(shown)
            return AdmittedPeer(true_name, clients[true_name].rights)
        if shown:
            raise Denied(f"the certificate is for {_listed(shown)}", hint="choose one of them with name=...")
        if names and by_certificate:
            raise Denied(
                f"no client has a certificate for {_listed(names)}",
                hint="use a certificate for the name of a client, or a token",
            )
        raise Denied("a token is required", hint="use --token, CBNET_TOKEN or token=...")


OPEN_ACCESS: Final = Access()
_NEW_RIGHTS: Final = read_rights({}, "")


def read_account(name: str, table: Any) -> Account:
    """Return the account in a table `[clients.NAME]` of a configuration file."""
    check_name("client", name)
    where = f"[clients.{name}]"
    if not isinstance(table, dict):
        raise InputError(f"clients.{name} must be a table", hint=f"start it with {where}")
    check_keys(table, ("token", *RIGHTS), f" in {where}")
    rights = read_rights({key: value for key, value in table.items() if key != "token"}, where)
    return Account(rights, parse_token_hash(table["token"], where) if "token" in table else None)


def read_accounts(document: TomlDocument, at: Keys) -> dict[str, Account]:
    """Return the accounts in the `clients` table of a file, after noting its mistakes."""
    return document.table(at, read_account, "write a table [clients.NAME] for each client")


def _listed(names: Set[str]) -> str:
    return ", ".join(sorted(names)[:5])


# --- the policy of a router


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
    policy = SecurityPolicy(
        Access(clients, routers, tls is not None, read_signatures(values)), tls, values["client_certificates"]
    )
    if tls is None and policy.needs_client_certificates:
        raise InputError("client_certificates needs TLS", hint="set certificate, key and authority")
    policy.contexts()  # checks the files now
    check_public(policy, listen, values)
    return policy


def _accounts(clients: str | Mapping[str, Any] | None) -> dict[str, Account] | None:
    if isinstance(clients, str):
        return TomlDocument(Path(clients)).only_table("clients", read_accounts)
    return None if clients is None else {name: read_account(name, table) for name, table in clients.items()}


def _tls(values: Mapping[str, Any]) -> Tls | None:
    certificate, key, authority = (values[file] or None for file in SECURITY_FILES)
    if certificate is None and (key or authority):
        raise InputError(f"{'key' if key else 'authority'} without a certificate", hint="set certificate too")
    if certificate is None:
        return None
    if authority is None:
        raise InputError(
            "certificate without an authority", hint="set authority, which signs the routers' certificates"
        )
    return Tls(authority, certificate, key)


def check_public(policy: SecurityPolicy, address: Address, values: Mapping[str, Any], *, is_http: bool = False) -> None:
    """Raise an `InputError` if an address is publicly reachable, and its peers need not authenticate."""
    if address.is_loopback or values["insecure"] == INSECURE:
        return
    needed = {
        "TLS (certificate, key, authority)": policy.tls,
        "list of clients ([clients.NAME])": policy.access.clients,
        **({} if is_http else {"list of routers (routers)": values["routers"]}),
    }
    missing = [name for name, value in needed.items() if value is None]
    if missing:
        raise InputError(
            f"{address} is reachable from other machines, but has no " + ", no ".join(missing),
            hint=f'configure them, listen on 127.0.0.1, or set insecure = "{INSECURE}"',
        )
