"""The Hello of a client, which identifies it to routers."""

from __future__ import annotations

import secrets

from cbnet.network.protocol.fields import check_name
from cbnet.network.protocol.frames import Hello
from cbnet.network.protocol.wire import VERSION


def client_hello(name: str, network: str, token: str) -> Hello:
    """Return the Hello of a client; a client without a name gets a random one."""
    name = name or f"client-{secrets.token_hex(3)}"
    check_name("client", name)
    check_name("network", network)
    return Hello(
        low=VERSION,
        high=VERSION,
        role="client",
        name=name,
        network=network,
        incarnation=0,
        link=0,
        scheme="",
        token=token,
    )
