"""Blocks of IP addresses in CIDR notation, as in `10.0.0.0/8` or `2001:db8::/32`.

An address is the text that Python's `ipaddress` reads: IPv4 in four decimal numbers without leading zeros, IPv6 in any
of its spellings, but without a zone (`%eth0`).
"""

from __future__ import annotations

from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import TypeAlias

from cbnet.errors import ValueDomainError

Block: TypeAlias = IPv4Network | IPv6Network


@lru_cache(maxsize=1024)
def block_of(text: str) -> Block:
    """Return the block of a text, without the bits after its prefix; raise an error if it is not valid."""
    address, slash, length = text.partition("/")
    if not slash or not (length.isascii() and length.isdigit()) or "%" in address:
        raise ValueDomainError(f'"{text[:60]}" is not a block of addresses', hint=_HINT)
    try:
        return ip_network(text, strict=False)
    except ValueError:
        raise ValueDomainError(f'"{text[:60]}" is not a block of addresses', hint=_HINT) from None


_HINT = 'write an address and the length of its prefix, as in "10.0.0.0/8" or "2001:db8::/32"'


def block_text(block: Block) -> str:
    """Return the one spelling of a block, in every version of Python: since 3.13, `str` writes ::ffff:10.0.0.1."""
    mapped = block.network_address.ipv4_mapped if isinstance(block, IPv6Network) else None
    if mapped is None:
        return str(block)
    high, low = divmod(int(mapped), 1 << 16)
    return f"::ffff:{high:x}:{low:x}/{block.prefixlen}"


def block_contains(block: Block, text: str) -> bool | None:
    """Return whether a text is an address of the block; None if it is not an address."""
    if "%" in text:
        return None
    try:
        return ip_address(text) in block
    except ValueError:
        return None


def common_prefix(block: Block) -> str:
    """Return a text that every address of the block starts with: whole numbers of IPv4, nothing of IPv6."""
    if block.version == 6:
        return ""
    numbers = str(block.network_address).split(".")[: block.prefixlen // 8]
    return ".".join(numbers) + ("." if 0 < len(numbers) < 4 else "")
