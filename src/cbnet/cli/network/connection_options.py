"""Options of commands that connect to a network: its routers, TLS, and the identity of the client.

Each option has an environment variable, so that a secured network is described once. `--network` is one of

    a folder       written by `cbnet up -o FOLDER`: its file lists the routers; `--router` is the name of one
    a name         the network that the router at `--router` must belong to

The file of a folder is `running.toml`:

    network = "cbnet"
    [routers]
    0 = "127.0.0.1:20117"
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from cbnet.cli.console import plural, print_error
from cbnet.cli.options import option
from cbnet.errors import InputError
from cbnet.toml_files import read_toml, toml, toml_key

if TYPE_CHECKING:
    from cbnet.network import Address, Client, Tls
    from cbnet.network.client.async_subscription import Confirmation

RUNNING = "running.toml"
_NETWORK_NAME = "cbnet"


def _option(name: str, metavar: str, help: str, shown: str | bool = True) -> Any:
    """Return an option with an environment variable: CBNET_ROUTER for --router."""
    variable = f"CBNET_{name.split()[0].removeprefix('--').upper()}"
    return option(None, metavar, help, name=name, shown=shown, panel="Connection", envvar=variable)


@dataclass(frozen=True)
class ConnectionOptions:
    """The connection options of a command."""

    router: str | None = _option(
        "--router -R", "ADDRESS",
        "Router to connect to, or several separated by commas; with a folder as --network, a router's name.",
        "127.0.0.1:4001",
    )  # fmt: skip
    network: str | None = _option(
        "--network -N", "FOLDER-OR-NAME",
        "Network to connect to: the folder given to `cbnet up -o`, or the network's name.", _NETWORK_NAME,
    )  # fmt: skip
    authority: str | None = _option(
        "--authority", "FILE", "Use TLS and trust the certificates in this file; `system` for those of the system.",
        "no TLS",
    )  # fmt: skip
    certificate: Path | None = _option("--certificate", "FILE", "Certificate of the client.")
    key: Path | None = _option("--key", "FILE", "Private key of the certificate.")
    token: str | None = _option("--token", "TEXT", "Token of the client; @FILE reads a file.")

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

    def with_each(self, call: Callable[[Client], None], json: bool) -> None:
        """Call a function with a client of each router; report the routers with which that failed, then exit 1."""
        from cbnet.network import connect
        from cbnet.network.errors import NetworkError

        failures = 0
        routers, network = self.routers()
        for name, address in routers.items():
            try:
                with connect(str(address), network=network, tls=self.tls, token=self.client_token) as client:
                    call(client)
            except NetworkError as error:
                failures += 1
                print_error(InputError(f"{name}: {error}"), json)
        if failures:
            raise typer.Exit(1)

    def routers(self) -> tuple[dict[str, Address], str]:
        """Return the routers by name or address, and the name of the network."""
        from cbnet.network.protocol.addresses import DEFAULT_ADDRESS, parse_address

        if self.network is not None and (os.sep in self.network or Path(self.network).is_dir()):
            running = NetworkAddresses.read(Path(self.network))
            is_of_environment = self.router not in running.routers and self.router == os.environ.get("CBNET_ROUTER")
            return running.select(None if is_of_environment else self.router), running.network
        addresses = [each.strip() for each in (self.router or DEFAULT_ADDRESS).split(",")]
        return {each: parse_address(each) for each in addresses}, self.network or _NETWORK_NAME


def confirmed_text(confirmation: Confirmation) -> str:
    """Return a note on the routers that have confirmed a subscription or offer, and those that did not."""
    _, routers, missing = confirmation
    unreachable = f"; unreachable: {', '.join(missing)}" if missing else ""
    return f"; confirmed for {plural(routers, 'router')}{unreachable}"


@dataclass(frozen=True)
class NetworkAddresses:
    """The name of a running network, and the addresses of its routers."""

    network: str
    routers: Mapping[str, Address]

    def write(self, folder: Path) -> Path:
        """Write the file into a folder, which is created if necessary; return its path."""
        folder.mkdir(parents=True, exist_ok=True)
        lines = [f"network = {toml(self.network)}", "", "[routers]"]
        lines += [f"{toml_key(name)} = {toml(str(address))}" for name, address in self.routers.items()]
        path = folder / RUNNING
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return path

    @classmethod
    def read(cls, folder: Path) -> NetworkAddresses:
        """Read the file of a folder."""
        from cbnet.network.protocol.addresses import parse_address

        path = folder / RUNNING
        if not path.exists():
            raise InputError(
                "no running network in this folder", hint="start one with `cbnet up -o FOLDER`", file=str(folder)
            )
        table = read_toml(path)
        routers = table.get("routers")
        if not isinstance(routers, dict) or not isinstance(table.get("network"), str):
            raise InputError("this file was not written by `cbnet up`", file=str(path))
        return cls(table["network"], {name: parse_address(str(text)) for name, text in routers.items()})

    def select(self, router: str | None) -> dict[str, Address]:
        """Return the addresses of some routers, with commas between their names, or of all."""
        if router is None:
            return dict(self.routers)
        names = [router] if router in self.routers else router.split(",")
        unknown = [name for name in names if name not in self.routers]
        if unknown:
            raise InputError(f"no router {unknown[0]!r} in this network", hint="use one of " + ", ".join(self.routers))
        return {name: self.routers[name] for name in names}
