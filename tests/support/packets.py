"""Packets of messages, of which a test names what matters."""

from cbnet.network.protocol.frames import Packet


def packet(**members):
    """Return a packet with these members; the others are small."""
    small = {"source": "a", "incarnation": 1, "number": 2, "hops": 3, "tree": 0, "side": 0, "tries": 0}
    return Packet(**{**small, "attributes": {}, "tags": [], "payload": b"", **members})
