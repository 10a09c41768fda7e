"""HeaderCodec: how does a scheme's header travel between routers that number the nodes each for itself?

With names in the place of ids. A name that a router does not know, because a change has not reached it yet, cannot be
routed to: what is left of the header may still be of use.

    psf, ips, pif    7            "r7"               a node
    drp              (2, 3)       ["r2", "r3"]       destinations
    multitree        (0, 2)       ["r9", "r2"]       the root of the tree, the last hop
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
    """The headers of one scheme on one graph."""

    def __init__(self, names: Sequence[str], ids: Mapping[str, int]) -> None:
        self.names = names
        self.ids = ids

    @abstractmethod
    def write(self, header: Header) -> WireHeader:
        """Return a header as it travels."""

    @abstractmethod
    def read(self, written: WireHeader) -> Header | None:
        """Return a header as the scheme wants it; None if it says nothing to this router."""

    def toward(self, header: Header, node: int, *, at_source: bool) -> Header:  # noqa: ARG002
        """Return the header that a packet would have if it were for one node alone, as far as that is possible."""
        return header

    def lasting(self, written: WireHeader, source: str, me: str) -> WireHeader:  # noqa: ARG002
        """Return a header that says the same to routers that see the network differently; `me` sends it."""
        return written

    def common(self, written: WireHeader, others: Sequence[HeaderCodec]) -> WireHeader:  # noqa: ARG002
        """Return a header for a new message that others, of other views, can read too, if there is one."""
        return written


class NodeHeaderCodec(HeaderCodec):
    """HeaderCodec that are a node."""

    def write(self, header: Header) -> WireHeader:
        """Return the name of the node."""
        return self.names[header]

    def read(self, written: WireHeader) -> Header | None:
        """Return the id of the node."""
        if not isinstance(written, str):
            raise WireError("the header of a packet must be the name of a node")
        return self.ids.get(written)

    def lasting(self, written: WireHeader, source: str, me: str) -> WireHeader:  # noqa: ARG002
        """Return the source: only those who see the same network may write another node in its place."""
        return source


class DestinationHeaderCodec(HeaderCodec):
    """HeaderCodec that are sets of nodes."""

    def write(self, header: Header) -> WireHeader:
        """Return the names of the nodes."""
        return [self.names[id] for id in header]

    def read(self, written: WireHeader) -> Header | None:
        """Return the ids of the nodes that are known."""
        if isinstance(written, str):
            raise WireError("the header of a packet must be a list of names")
        return tuple(sorted({self.ids[name] for name in written if name in self.ids})) or None

    def toward(self, header: Header, node: int, *, at_source: bool) -> Header:
        """Return the header with this destination alone; later than at the source, only if it is one already."""
        return (node,) if at_source or node in header else ()


class TreeHeaderCodec(HeaderCodec):
    """HeaderCodec that are a tree and the last hop."""

    def __init__(self, names: Sequence[str], ids: Mapping[str, int], roots: Sequence[int]) -> None:
        super().__init__(names, ids)
        self._roots = list(roots)

    def write(self, header: Header) -> WireHeader:
        """Return the names of the tree's root and of the last hop."""
        return [self.names[self._roots[header.tree]], self.names[header.last_hop]]

    def read(self, written: WireHeader) -> Header | None:
        """Return the number of the tree and the id of the last hop."""
        if isinstance(written, str) or len(written) != 2:
            raise WireError("the header of a packet must be the root of a tree and the last hop")
        root, last_hop = (self.ids.get(name) for name in written)
        if root not in self._roots or last_hop is None:
            return None
        return NotificationHeader(self._roots.index(root), last_hop)

    def lasting(self, written: WireHeader, source: str, me: str) -> WireHeader:  # noqa: ARG002
        """Return the same tree, with this router as the last hop."""
        return [written[0], me]

    def common(self, written: WireHeader, others: Sequence[HeaderCodec]) -> WireHeader:
        """Return a tree whose root is one in all views: that may change with the topology."""
        roots = [written[0], *(self.names[root] for root in self._roots)]
        choices = ([root, written[1]] for root in roots)
        return next((each for each in choices if all(other.read(each) is not None for other in others)), written)


def header_codec(scheme: Scheme, names: Sequence[str], ids: Mapping[str, int]) -> HeaderCodec:
    """Return how the headers of a scheme travel."""
    if isinstance(scheme, MultiTree):
        return TreeHeaderCodec(names, ids, scheme.roots)
    return DestinationHeaderCodec(names, ids) if isinstance(scheme, Drp) else NodeHeaderCodec(names, ids)
