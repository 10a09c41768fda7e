"""`cbnet reload`: have routers read their configuration again."""

from __future__ import annotations

from typing import Annotated

import typer

from cbnet.cli.console import print_error, print_json
from cbnet.cli.network.connection_options import ConnectionOptions
from cbnet.cli.options import Json, timeout_option, with_options


@with_options
def reload(
    timeout: Annotated[float, timeout_option("Timeout for each router, in seconds.")] = 30.0,
    json: Json = False,
    *,
    connection: ConnectionOptions,
) -> None:
    """Have routers read their configuration again, without a restart, and print what has changed.

    Tokens, rights, certificates, limits and neighbours are replaced; peers that are still allowed stay connected. A
    router that finds a mistake, or a change that needs a restart, changes nothing. Needs the right `manage`.

    Example: cbnet reload --router 127.0.0.1:4001
    """
    from cbnet.errors import InputError
    from cbnet.network.client.blocking_client import connect
    from cbnet.network.errors import NetworkError

    failures = 0
    routers, network = connection.routers()
    for name, address in routers.items():
        try:
            with connect(str(address), network=network, tls=connection.tls, token=connection.client_token) as client:
                changes = client.reload(timeout)
        except NetworkError as error:
            failures += 1
            print_error(InputError(f"{name}: {error}"), json)
            continue
        if json:
            print_json({"router": client.router, "changes": changes})
        else:
            print(f"{client.router}: " + ("; ".join(changes) if changes else "nothing has changed"))
    if failures:
        raise typer.Exit(1)
