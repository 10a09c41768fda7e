"""`cbnet reload`: have routers read their configuration again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cbnet.cli.console import print_json
from cbnet.cli.network.connection_options import ConnectionOptions
from cbnet.cli.options import CONFIRM, JSON, confirm, timeout_option

if TYPE_CHECKING:
    from cbnet.network import Client


def reload(
    timeout: float = timeout_option(30.0, "Timeout for each router, in seconds."),
    confirmed: list[str] | None = CONFIRM,
    json: bool = JSON,
    *,
    connection: ConnectionOptions,
) -> None:
    """Have routers read their configuration again, without a restart, and print what has changed.

    Tokens, rights, certificates, limits and neighbours are replaced; peers that are still allowed stay connected. A
    router that finds a mistake, or a change that needs a restart, changes nothing. Needs the right `manage`, and the
    name of each router as a confirmation.

    Example: cbnet reload --router 127.0.0.1:4001 --confirm a
    """

    def reload_one(client: Client) -> None:
        confirm(client.router, f"router {client.router} will read its configuration again", confirmed)
        changes = client.reload(client.router, timeout=timeout)
        if json:
            print_json({"router": client.router, "changes": changes})
        else:
            print(f"{client.router}: " + ("; ".join(changes) if changes else "nothing has changed"))

    connection.with_each(reload_one, json)
