"""`cbnet token`: make a token for a client, and the hash that its router stores."""

from __future__ import annotations

from cbnet.cli.console import print_json, print_note
from cbnet.cli.options import JSON, argument


def token(
    name: str = argument(..., "NAME", "Name of the client."),
    json: bool = JSON,
) -> None:
    """Print a new token for a client, and the table for the router's configuration file. Nothing is stored.

    Example: cbnet token ticker
    """
    from cbnet.network.security.tokens import new_token
    from cbnet.toml_files import toml, toml_key

    new = new_token(name)
    if json:
        print_json({"client": name, "token": new.token, "hash": new.hash})
        return
    print(new.token)
    print_note(
        "the line above is for the client: CBNET_TOKEN, --token @FILE, or token=...; keep it secret\n"
        "the table below is for the router's configuration; rights that are not listed are denied\n\n"
        f"[clients.{toml_key(name)}]\n"
        f"token = {toml(new.hash)}\n"
        'publish = "false"\n'
        'subscribe = "false"'
    )
