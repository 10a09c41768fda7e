"""`cbnet token`: make a token for a client, and the hash by which a router knows it."""

from __future__ import annotations

from typing import Annotated

import typer

from cbnet.cli.console import AsJson, print_json, print_remark


def token(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Of the client.", show_default=False)],
    json: AsJson = False,
) -> None:
    """Print a new token, which is for the client, and its table for the file of the router. It is kept nowhere.

    Example: cbnet token ticker
    """
    from cbnet.files import toml, toml_key
    from cbnet.network.security.tokens import new_token

    made = new_token(name)
    if json:
        print_json({"client": name, "token": made.token, "hash": made.hash})
        return
    print(made.token)
    print_remark(
        "the line above is for the client: CBNET_TOKEN, --token @FILE, or token=...; keep it secret\n"
        "the table below is for the file of the router; what it does not allow is denied\n\n"
        f"[clients.{toml_key(name)}]\n"
        f"token = {toml(made.hash)}\n"
        'publish = "false"\n'
        'subscribe = "false"'
    )
