"""Network options: to which router does a command connect, and as whom? The options that commands share."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

if TYPE_CHECKING:
    from cbnet.network import Address, Client, Tls

AnyRouter = Annotated[
    str | None,
    typer.Option(
        "--router",
        help="The address of a router, several with commas; with --network, the name of one.",
        show_default="CBNET_ROUTER, or 127.0.0.1:4001",
    ),
]
Folder = Annotated[
    Path | None,
    typer.Option("--network", help="The folder of a network that `cbnet up --out` started.", show_default=False),
]
NetworkName = Annotated[str, typer.Option("--network-name", help="The name of the network; not with --network.")]
Authority = Annotated[
    str | None,
    typer.Option(
        "--tls-authority",
        help="Speak TLS, and trust this authority: a file of certificates, or `system`.",
        show_default="no TLS",
    ),
]
Certificate = Annotated[
    Path | None, typer.Option("--certificate", help="A file: the certificate to show.", show_default=False)
]
Key = Annotated[Path | None, typer.Option("--key", help="A file: the key of the certificate.", show_default=False)]
TokenOption = Annotated[
    str | None,
    typer.Option("--token", help="A token that shows who this is, or @FILE.", show_default="CBNET_TOKEN"),
]


class Identity(NamedTuple):
    """As whom a command connects, and whom it trusts."""

    authority: str | None = None
    certificate: Path | None = None
    key: Path | None = None
    said_token: str | None = None

    @property
    def tls(self) -> Tls | None:
        """What TLS needs; None: there is none."""
        from cbnet.network import Tls

        if self.authority is None and self.certificate is None and self.key is None:
            return None
        return Tls(None if self.authority == "system" else self.authority, self.certificate, self.key)

    @property
    def token(self) -> str | None:
        """The token, if there is one."""
        from cbnet.network.security.tokens import resolve_token

        return resolve_token(self.said_token)


NOBODY = Identity()


def connected(router: str | None, folder: Path | None, name: str, identity: Identity = NOBODY) -> Client:
    """Return a client, connected to the router that is meant."""
    from cbnet.network import connect

    routers, network = routers_meant(router, folder, name)
    return connect(map(str, routers.values()), network=network, tls=identity.tls, token=identity.token)


def routers_meant(router: str | None, folder: Path | None, name: str) -> tuple[dict[str, Address], str]:
    """Return the routers that are meant, by name or address, and the name of their network."""
    from cbnet.network.protocol.addresses import DEFAULT_ADDRESS, parse_address
    from cbnet.network.service.address_file import NetworkAddresses

    if folder is not None:
        running = NetworkAddresses.read(folder)
        return running.select(router), running.network
    said = router or os.environ.get("CBNET_ROUTER") or DEFAULT_ADDRESS
    return {each.strip(): parse_address(each.strip()) for each in said.split(",")}, name
