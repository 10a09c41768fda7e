"""Addresses of routers: host and port, as in 127.0.0.1:4001 or [::1]:4001."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from typing import NamedTuple

from cbnet.errors import InputError

DEFAULT_ADDRESS = "127.0.0.1:4001"
_MAX_PORT = 65_535


class Address(NamedTuple):
    """A host and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        """Whether the address is reachable from this machine only."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:  # a host name, which may resolve to any address
            return False


def parse_address(text: str) -> Address:
    """Parse an address; raise an `InputError` if it is invalid."""
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not host or not port.isascii() or not port.isdigit() or int(port) > _MAX_PORT:
        raise InputError(f"{text!r} is not an address", hint=f"write host:port, such as {DEFAULT_ADDRESS}")
    return Address(host, int(port))


def parse_addresses(texts: str | Iterable[str]) -> list[Address]:
    """Parse addresses, in a list or separated by commas; raise an `InputError` if one is invalid or there is none."""
    addresses = [parse_address(text) for text in (texts.split(",") if isinstance(texts, str) else texts)]
    if not addresses:
        raise InputError("no router address given", hint=f"give an address such as {DEFAULT_ADDRESS}")
    return addresses
