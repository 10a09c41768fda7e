"""Names of networks, routers, gateways and clients."""

from __future__ import annotations

from cbnet.errors import InputError

_MAX_NAME = 64


def check_name(what: str, name: str) -> None:
    """Refuse a name that cannot be written in a frame or read by people."""
    if not 1 <= len(name) <= _MAX_NAME or not name.isprintable():
        raise InputError(f"{name!r} is not the name of a {what}", hint=f"use 1 to {_MAX_NAME} printable characters")
