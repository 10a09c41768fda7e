"""Encoding of scheme headers between routers, each of which numbers the nodes for itself.

On the wire, names replace ids. A router may not know a name yet, because a change has not reached it: it cannot route
to that node, but the rest of the header may still be usable.

    psf, ips, pif    7            "r7"               a node
    drp              (2, 3)       ["r2", "r3"]       destinations
    multitree        (0, 2)       ["r9", "r2"]       root of the tree, last hop
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from cbnet.network.protocol.fields import WireHeader
from cbnet.network.protocol.wire import WireError
from cbnet.routing.header import Header
from cbnet.routing.multitree.multitree import MultiTree, NotificationHeader
from cbnet.routing.scheme import Scheme
from cbnet.routing.schemes.drp import Drp


class HeaderCodec(ABC):
    """Codec of the headers of one scheme on one graph."""

    def __init__(self, names: Sequence[str], ids: Mapping[str, int]) -> None:
        self.names = names
        self.ids = ids

    @abstractmethod
    def write(self, header: Header) -> WireHeader:
        """Encode a header."""

    @abstractmethod
    def read(self, encoded: WireHeader) -> Header | None:
        """Decode a header; None if this router knows none of its nodes."""

    def toward(self, header: Header, node: int, *, at_source: bool) -> Header:  # noqa: ARG002
        """Return the header of a packet for one node only, as far as that is possible."""
        return header

    def portable(self, encoded: WireHeader, source: str, me: str) -> WireHeader:  # noqa: ARG002
        """Return a header that routers with another view of the network understand; `me` is the sender."""
        return encoded

    def common(self, encoded: WireHeader, others: Sequence[HeaderCodec]) -> WireHeader:  # noqa: ARG002
        """Return a header of a new message that the codecs of other views can decode too, if there is one."""
        return encoded


class NodeHeaderCodec(HeaderCodec):
    """Codec of headers that are a node."""

    def write(self, header: Header) -> WireHeader:
        """Return the name of the node."""
        return self.names[header]

    def read(self, encoded: WireHeader) -> Header | None:
        """Return the id of the node."""
        if not isinstance(encoded, str):
            raise WireError("the header of a packet must be the name of a node")
        return self.ids.get(encoded)

    def portable(self, encoded: WireHeader, source: str, me: str) -> WireHeader:  # noqa: ARG002
        """Return the source: only routers with the same view may use another node."""
        return source


class DestinationHeaderCodec(HeaderCodec):
    """Codec of headers that are sets of nodes."""

    def write(self, header: Header) -> WireHeader:
        """Return the names of the nodes."""
        return [self.names[id] for id in header]

    def read(self, encoded: WireHeader) -> Header | None:
        """Return the ids of the known nodes."""
        if isinstance(encoded, str):
            raise WireError("the header of a packet must be a list of names")
        return tuple(sorted({self.ids[name] for name in encoded if name in self.ids})) or None

    def toward(self, header: Header, node: int, *, at_source: bool) -> Header:
        """Return the header with this destination only; after the source, only if it has it already."""
        return (node,) if at_source or node in header else ()


class TreeHeaderCodec(HeaderCodec):
    """Codec of headers that are a tree and the last hop."""

    def __init__(self, names: Sequence[str], ids: Mapping[str, int], roots: Sequence[int]) -> None:
        super().__init__(names, ids)
        self._roots = list(roots)

    def write(self, header: Header) -> WireHeader:
        """Return the names of the tree's root and of the last hop."""
        return [self.names[self._roots[header.tree]], self.names[header.last_hop]]

    def read(self, encoded: WireHeader) -> Header | None:
        """Return the number of the tree and the id of the last hop."""
        if isinstance(encoded, str) or len(encoded) != 2:
            raise WireError("the header of a packet must be the root of a tree and the last hop")
        root, last_hop = (self.ids.get(name) for name in encoded)
        if root not in self._roots or last_hop is None:
            return None
        return NotificationHeader(self._roots.index(root), last_hop)

    def portable(self, encoded: WireHeader, source: str, me: str) -> WireHeader:  # noqa: ARG002
        """Return the same tree, with this router as the last hop."""
        return [encoded[0], me]

    def common(self, encoded: WireHeader, others: Sequence[HeaderCodec]) -> WireHeader:
        """Return a tree whose root is a root in all views: roots may change with the topology."""
        roots = [encoded[0], *(self.names[root] for root in self._roots)]
        choices = ([root, encoded[1]] for root in roots)
        return next((each for each in choices if all(other.read(each) is not None for other in others)), encoded)


def header_codec(scheme: Scheme, names: Sequence[str], ids: Mapping[str, int]) -> HeaderCodec:
    """Return the codec of a scheme's headers."""
    if isinstance(scheme, MultiTree):
        return TreeHeaderCodec(names, ids, scheme.roots)
    return DestinationHeaderCodec(names, ids) if isinstance(scheme, Drp) else NodeHeaderCodec(names, ids)
