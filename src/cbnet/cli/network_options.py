"""Network options: to which router does a command connect? The options that `sub`, `pub` and `trace` share."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from cbnet.network import Client

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


def connected(router: str | None, folder: Path | None, name: str) -> Client:
    """Return a client, connected to the router that is meant."""
    from cbnet.network import connect
    from cbnet.network.addresses import DEFAULT
    from cbnet.network.running import Running

    if folder is not None:
        running = Running.read(folder)
        return connect(running.addresses(router), network=running.network)
    said = router or os.environ.get("CBNET_ROUTER") or DEFAULT
    return connect([each.strip() for each in said.split(",")], network=name)
