"""Headers of packets and their size. A header is a plain value: an identifier, or nested tuples of identifiers.

    PSF, iPS, PIF     7                        the source, or a router in its place
    DRP               (2, 3)                   the destinations
    DRP, partition    ((2, (2, 3)), (7, (4, 8)))   the destinations of each next hop

On the wire a header is MessagePack: an identifier takes 1 byte below 128, 2 below 256, 3 below 65,536 and 5 above;
a tuple adds a byte, and 3 if it has 16 members or more.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

Header: TypeAlias = Any  # an int, or tuples of ints, nested

_encoded = msgspec.msgpack.Encoder().encode


def header_bytes(header: Header) -> int:
    """Return the bytes of a header on the wire."""
    return len(_encoded(header))
