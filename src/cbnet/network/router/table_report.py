"""Answers to clients that inspect the tables of a router."""

from __future__ import annotations

from collections.abc import Iterable

from cbnet.language.syntax.byte_form import filters_digest
from cbnet.network.announce.subscriptions import OWN_SOURCES
from cbnet.network.forwarding.forwarding_table import ForwardingTable
from cbnet.network.link.context import RouterContext
from cbnet.network.linkstate.tree_view import TreeView
from cbnet.network.linkstate.versions import Versions
from cbnet.network.protocol.fields import MAX_FRAME_FILTERS
from cbnet.network.protocol.frames import FilterPage, FilterRequest, InterfaceTable, TableRequest, TableSummary

_MAX_PAGE_BYTES = 1 << 18


class TableReport:
    """The tables of one router."""

    def __init__(
        self, context: RouterContext, versions: Versions, fib: ForwardingTable, offer_fib: ForwardingTable
    ) -> None:
        self._context = context
        self._versions = versions
        self._fibs = fib, offer_fib

    def answer(self, request: TableRequest | FilterRequest) -> TableSummary | FilterPage:
        """Return the answer to a request."""
        return self._summary(request) if isinstance(request, TableRequest) else self._page(request)

    def _summary(self, request: TableRequest) -> TableSummary:
        """Return the digests of the router's own filters, and of the interfaces on each tree."""
        version = self._versions.newest
        interfaces = [self._interface("", ""), *self._interfaces()]
        is_settled = not self._versions.is_outdated and len(self._versions.kept) == 1 and version.complete is not None
        return TableSummary(request.number, self._context.name, is_settled, version.id, interfaces)

    def _page(self, request: FilterRequest) -> FilterPage:
        """Return some filters of an interface."""
        filters = sorted(self._filters(request.root, request.neighbour, int(request.are_offers)))
        page: list[bytes] = []
        size = 0
        for filter in filters[request.first : request.first + MAX_FRAME_FILTERS]:
            size += len(filter)
            if page and size > _MAX_PAGE_BYTES:
                break
            page.append(filter)
        return FilterPage(request.number, page, request.first + len(page) >= len(filters))

    def _trees(self) -> Iterable[TreeView]:
        """Yield the trees with tables of their own: the shared ones, or the tree of this router."""
        version = self._versions.newest
        numbers = range(len(version.trees)) if self._context.settings.scheme == "multitree" else range(1)
        return filter(None, (version.tree(number, self._context.name) for number in numbers))

    def _interfaces(self) -> Iterable[InterfaceTable]:
        for tree in self._trees():
            for interface in self._fibs[0].interfaces(tree):
                yield self._interface(tree.root, interface.to.neighbour)

    def _interface(self, root: str, neighbour: str) -> InterfaceTable:
        subscriptions, offers = (self._filters(root, neighbour, kind) for kind in (0, 1))
        return InterfaceTable(
            root, neighbour, len(subscriptions), filters_digest(subscriptions), len(offers), filters_digest(offers)
        )

    def _filters(self, root: str, neighbour: str, kind: int) -> set[bytes]:
        if not neighbour:
            own = self._fibs[kind].aggregation
            return set().union(*map(own.filters, OWN_SOURCES))
        for tree in self._trees():
            if tree.root == root and neighbour in tree.links:
                return self._fibs[kind].filters(tree.links[neighbour])
        return set()
