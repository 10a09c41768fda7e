"""Options of commands that connect to a network: its routers, TLS, and the identity of the client.

Each option has an environment variable, so that a secured network is described once. `--network` is one of

    a folder       written by `cbnet up -o FOLDER`: its file lists the routers; `--router` is the name of one
    a name         the network that the router at `--router` must belong to
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from inspect import Parameter, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from cbnet.network import Address, Client, Tls

_ROUTER = "CBNET_ROUTER"
_NETWORK_NAME = "cbnet"


def _option(*names: str, variable: str, metavar: str, help: str, default: str | bool = False) -> Any:
    return typer.Option(
        *names, envvar=variable, metavar=metavar, help=help, show_default=default, rich_help_panel="Connection"
    )


_OPTIONS: dict[str, Any] = {
    "router": Annotated[
        str | None,
        _option(
            "--router",
            "-R",
            variable=_ROUTER,
            metavar="ADDRESS",
            help="Router to connect to, or several separated by commas; with a folder as --network, a router's name.",
            default="127.0.0.1:4001",
        ),
    ],
    "network": Annotated[
        str | None,
        _option(
            "--network",
            "-N",
            variable="CBNET_NETWORK",
            metavar="FOLDER-OR-NAME",
            help="Network to connect to: the folder given to `cbnet up -o`, or the network's name.",
            default=_NETWORK_NAME,
        ),
    ],
    "authority": Annotated[
        str | None,
        _option(
            "--authority",
            variable="CBNET_AUTHORITY",
            metavar="FILE",
            help="Use TLS and trust the certificates in this file; `system` for those of the system.",
            default="no TLS",
        ),
    ],
    "certificate": Annotated[
        Path | None,
        _option("--certificate", variable="CBNET_CERTIFICATE", metavar="FILE", help="Certificate of the client."),
    ],
    "key": Annotated[
        Path | None,
        _option("--key", variable="CBNET_KEY", metavar="FILE", help="Private key of the certificate."),
    ],
    "token": Annotated[
        str | None,
        _option("--token", variable="CBNET_TOKEN", metavar="TEXT", help="Token of the client; @FILE reads a file."),
    ],
}


@dataclass(frozen=True)
class ConnectionOptions:
    """The values of the connection options of a command."""

    router: str | None = None
    network: str | None = None
    authority: str | None = None
    certificate: Path | None = None
    key: Path | None = None
    token: str | None = None

    @property
    def tls(self) -> Tls | None:
        """The TLS settings; None for a connection without TLS."""
        from cbnet.network import Tls

        if self.authority is None and self.certificate is None and self.key is None:
            return None
        return Tls(None if self.authority == "system" else self.authority, self.certificate, self.key)

    @property
    def client_token(self) -> str | None:
        """The token of the client, read from a file if it is `@FILE`."""
        from cbnet.network.security.tokens import resolve_token

        return resolve_token(self.token)

    def connect(self) -> Client:
        """Return a client that is connected to one of the routers."""
        from cbnet.network import connect

        routers, network = self.routers()
        return connect(map(str, routers.values()), network=network, tls=self.tls, token=self.client_token)

    def routers(self) -> tuple[dict[str, Address], str]:
        """Return the routers by name or address, and the name of the network."""
        from cbnet.cli.network.address_file import NetworkAddresses
        from cbnet.network.protocol.addresses import DEFAULT_ADDRESS, parse_address

        if self.network is not None and (os.sep in self.network or Path(self.network).is_dir()):
            running = NetworkAddresses.read(Path(self.network))
            is_of_environment = self.router not in running.routers and self.router == os.environ.get(_ROUTER)
            return running.select(None if is_of_environment else self.router), running.network
        addresses = [each.strip() for each in (self.router or DEFAULT_ADDRESS).split(",")]
        return {each: parse_address(each) for each in addresses}, self.network or _NETWORK_NAME


def with_connection(command: Callable[..., None]) -> Callable[..., None]:
    """Add the connection options to a command, which gets them as its keyword argument `connection`."""

    @wraps(command)
    def run(**arguments: Any) -> None:
        options = {name: arguments.pop(name) for name in _OPTIONS}
        command(**arguments, connection=ConnectionOptions(**options))

    own = [each for each in signature(command, eval_str=True).parameters.values() if each.name != "connection"]
    added = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
        for name, annotation in _OPTIONS.items()
    ]
    run.__signature__ = signature(command).replace(  # type: ignore[attr-defined]
        parameters=[*(each.replace(kind=Parameter.KEYWORD_ONLY) for each in own), *added]
    )
    run.__annotations__ = {each.name: each.annotation for each in (*own, *added)}
    return run
