"""PSF, per-source forwarding: a message follows the shortest-path tree of its source [2006 §3.1].

The header is the source v. Router u has for each source v and neighbour w the disjunction of the predicates of all
receivers behind the edge (u, w) in the tree of v:

    F_u(v, w) = ⋁ pred(x), x in T_v/(u, w)
    fwd(v, m) = the neighbours w with m in F_u(v, w)

The paper calls PSF ideal. It is latency-minimal; it sends the fewest packets among the latency-minimal schemes if
shortest paths are unique, and may send more with ties (`docs/explanation/routing.md`).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from math import log2

from cbnet.language.message import Message
from cbnet.routing.forwarding_table import ForwardingTable
from cbnet.routing.network import Network
from cbnet.routing.router_state import WORD_BITS, RouterState, total
from cbnet.routing.scheme import Header, Scheme, SchemeRouter, SourceRouter


class PsfRouter(SourceRouter):
    """A router with a table for each source."""

    def __init__(self, network: Network, u: int) -> None:
        super().__init__(network, u)
        self._tables: dict[int, ForwardingTable] = {}

    def fwd(self, header: Header, message: Message) -> list[int]:
        """Return the neighbours with interested receivers behind them in the tree of the source."""
        return self.table(header).match(message)

    def table(self, v: int) -> ForwardingTable:
        """Return F_u(v, ·): the predicates of the neighbours for messages from v."""
        if v not in self._tables:
            self._tables[v] = ForwardingTable(self.network.interests, self.network.branches(v).behind(self.u))
        return self._tables[v]

    def state(self) -> RouterState:
        """Return the size of F_u, each source with its table, and of the router's own identifier at a sender."""
        sources = [v for v in self.network.senders if self.u in self.network.branches(v).at]
        own = int(self.network.is_sender(self.u))
        return RouterState(identifiers=own + len(sources)) + total(self.table(v).state() for v in sources)


class Psf(Scheme):
    """Per-source forwarding."""

    name = "psf"

    def __init__(self, network: Network) -> None:
        super().__init__(network)
        network.check_sender_trees()

    def _new_router(self, u: int) -> SchemeRouter:
        return PsfRouter(self.network, u)

    def state(self, sample: Sequence[int] | None = None) -> RouterState:
        """Return the state of all routers; given a sample, predicates are reduced only there."""
        if sample is None:
            return super().state()
        network = self.network
        branches = [network.branches(v) for v in network.senders]
        entries = sum(map(len, chain.from_iterable(each.at.values() for each in branches)))
        identifiers = len(network.senders) + sum(len(each.at) for each in branches) + entries
        hops = [network.hops(v) for v in network.senders]
        state = RouterState(
            identifiers=identifiers,
            unreduced_words=sum(int(row @ network.unreduced_words) for row in hops),
            unreduced_predicates=sum(int(row.sum()) for row in hops),
        )
        return state.with_words(self.state_at(sample))

    def formula(self) -> float:
        """Return s·log n + Σ M(pred(x))·dist(v, x), over the senders v and the receivers x.

        The paper uses a constant M_p for M(pred(x)), and does not count the identifiers in F_u.
        """
        network = self.network
        words = sum(int(network.hops(v) @ network.unreduced_words) for v in network.senders)
        return len(network.senders) * log2(len(network)) + words * WORD_BITS
