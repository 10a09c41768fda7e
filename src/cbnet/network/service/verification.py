"""Comparison of a running network with the tables that `routing` computes for it.

    routers ─► topology, trees, own filters ─► routing ─► table of each router ─┐
            └► digests of their tables ─────────────────────────────────────────┴► differences

Only digests are compared; the filters of an interface are requested where they differ. The tables may also come from a
folder that the pipeline wrote.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, TypeAlias

from cbnet.errors import CbnetError
from cbnet.language.predicate import Predicate
from cbnet.language.syntax.byte_form import filter_from_bytes, filter_to_bytes, filters_digest
from cbnet.network.client.async_client import AsyncClient, connect_async
from cbnet.network.errors import NotConnected
from cbnet.network.protocol.addresses import Address
from cbnet.network.protocol.frames import FilterPage, FilterRequest, Status, TableRequest, TableSummary
from cbnet.network.security.tls import Tls
from cbnet.network.service.node_data import read_computed_tables
from cbnet.routing import Network
from cbnet.routing.multitree.multitree import MultiTree
from cbnet.routing.schemes.pif import Pif, PifRouter
from cbnet.topology import Graph

_MAX_EXAMPLES = 3
_AT_ONCE = 8  # routers queried at the same time
_TIMEOUT = 120.0  # seconds: a large table takes long
Interface: TypeAlias = tuple[str, str, bool]  # root of the tree, neighbour, whether of offers
Tables: TypeAlias = Mapping[Interface, Collection[bytes]]


class TableDifference(NamedTuple):
    """An interface whose filters differ from the computed ones."""

    router: str
    root: str
    neighbour: str
    are_offers: bool
    missing: list[str]  # some filters that the running router lacks
    extra: list[str]  # some filters that it has and that were not computed
    differing: int  # filters


@dataclass
class Verification:
    """The result of a comparison."""

    routers: int = 0
    interfaces: int = 0
    filters: int = 0  # compared
    unsettled: list[str] = field(default_factory=list)  # routers that are still adapting to a change
    differences: list[TableDifference] = field(default_factory=list)


class _Router(NamedTuple):
    status: Status
    summary: TableSummary
    subscriptions: Predicate  # its own
    offers: Predicate


async def verify(
    routers: Mapping[str, Address],
    *,
    network: str,
    tables: Mapping[str, Path] | None = None,
    tls: Tls | None = None,
    token: str | None = None,
    report: Callable[[], None] = lambda: None,
) -> Verification:
    """Compare a running network with its computed tables.

    tables: compiled tables of some routers, to compare with instead. report: called for each router that
    was read, and for each that was compared.
    """
    clients: dict[str, AsyncClient] = {}
    try:
        for name, address in routers.items():
            client = await _connected(name, address, network, tls, token)
            clients[client.router] = client
        read = await _read(clients, report)
        result = Verification(routers=len(read))
        result.unsettled = [name for name, each in read.items() if not each.summary.is_settled]
        compute = _computed(read) if tables is None else _compiled(read, tables)
        for name in read if tables is None else tables:
            computed = await asyncio.to_thread(compute, name)
            await _compare(result, name, clients[name], read[name].summary, computed)
            report()
        return result
    finally:
        await asyncio.gather(*(client.close() for client in clients.values()))


async def _connected(name: str, address: Address, network: str, tls: Tls | None, token: str | None) -> AsyncClient:
    try:
        return await connect_async(str(address), network=network, tls=tls, token=token)
    except NotConnected as error:
        router = f"router {name}" if name != str(address) else "a router"
        raise CbnetError(
            f"{router} does not answer, and the tables of all routers are compared: {error}; "
            "start it again, or list the addresses of the others in --router, without a folder as --network"
        ) from None


async def _read(clients: Mapping[str, AsyncClient], report: Callable[[], None]) -> dict[str, _Router]:
    """Read the status, the digests and the own filters of all routers."""
    limit = asyncio.Semaphore(_AT_ONCE)
    read: dict[str, _Router] = {}

    async def one(name: str, client: AsyncClient) -> None:
        async with limit:
            own = [await _filters(client, are_offers=offers) for offers in (False, True)]
            predicates = [Predicate(map(filter_from_bytes, filters)) for filters in own]
            read[name] = _Router(
                await client.status(_TIMEOUT), await client.query(TableRequest, timeout=_TIMEOUT), *predicates
            )
            report()

    await asyncio.gather(*(one(name, client) for name, client in clients.items()))
    return {name: read[name] for name in clients}


async def _filters(client: AsyncClient, root: str = "", neighbour: str = "", *, are_offers: bool) -> list[bytes]:
    """Return the filters of a router's interface to a neighbour on a tree, encoded; by default its own."""
    filters: list[bytes] = []
    while True:
        page: FilterPage = await client.query(
            FilterRequest, root, neighbour, are_offers, len(filters), timeout=_TIMEOUT
        )  # fmt: skip
        filters += page.filters
        if page.is_last:
            return filters


async def _compare(
    result: Verification, name: str, client: AsyncClient, summary: TableSummary, computed: Tables
) -> None:
    held = {
        (each.root, each.neighbour, are_offers): digest
        for each in summary.interfaces
        if each.neighbour
        for are_offers, digest in (
            (False, (each.filters, each.digest)),
            (True, (each.offers, each.offers_digest)),
        )
    }
    roots = {root for root, _, _ in computed}
    result.interfaces += sum(not offers and root in roots for root, _, offers in held)
    for interface in sorted(computed.keys() | {each for each in held if each[0] in roots}):
        expected = computed.get(interface, ())
        result.filters += len(expected)
        if held.get(interface, (0, filters_digest(()))) != (len(expected), filters_digest(expected)):
            root, neighbour, offers = interface
            actual = set(await _filters(client, root, neighbour, are_offers=offers))
            result.differences.append(_difference(name, interface, actual, set(expected)))


def _difference(router: str, interface: Interface, actual: set[bytes], expected: set[bytes]) -> TableDifference:
    missing, extra = (
        [str(filter_from_bytes(each)) for each in sorted(some)[:_MAX_EXAMPLES]]
        for some in (expected - actual, actual - expected)
    )
    return TableDifference(router, *interface, missing, extra, len(actual ^ expected))


def _computed(read: Mapping[str, _Router]) -> Callable[[str], Tables]:
    """Return a function that computes the tables of a router from the own filters of all routers."""
    graph = _graph(read)
    ids = {name: graph.id(name) for name in read}
    subscriptions = {ids[name]: each.subscriptions for name, each in read.items()}
    offers = {ids[name]: each.offers for name, each in read.items() if each.offers.filters}
    network = Network(graph, subscriptions)
    first = next(iter(read.values()))
    if first.status.scheme == "pif":
        pif = Pif(network)
        return lambda name: _pif_tables(pif, name, ids[name])
    roots = _roots(first)
    scheme = MultiTree(network, [graph.id(root) for root in roots] or None, offers=offers)
    return lambda name: _tree_tables(scheme, roots, ids[name])


def _roots(router: _Router) -> list[str]:
    """Return the roots of the trees in order."""
    return list(dict.fromkeys(each.root for each in router.summary.interfaces if each.root))


def _tree_tables(scheme: MultiTree, roots: list[str], u: int) -> Tables:
    router, names = scheme.router(u), scheme.network.graph.names
    return {
        (root, str(names[w]), are_offers): list(map(filter_to_bytes, predicate))
        for tree, root in enumerate(roots)
        for w, each in router.fib(tree).items()
        for are_offers, predicate in ((False, each.subscriptions), (True, each.offers))
    }


def _pif_tables(scheme: Pif, name: str, u: int) -> Tables:
    router = scheme.router(u)
    assert isinstance(router, PifRouter)
    names = scheme.network.graph.names
    return {(name, str(names[w]), False): list(map(filter_to_bytes, router.table[w])) for w in router.table}


def _compiled(read: Mapping[str, _Router], tables: Mapping[str, Path]) -> Callable[[str], Tables]:
    """Return a function that reads the table that was compiled for a router, for all trees."""
    names = [str(name) for name in _graph(read).names]
    roots = _roots(next(iter(read.values())))

    def compiled(name: str) -> Tables:
        if name not in read:
            raise CbnetError(f"there is no router {name} in the running network; start it with `cbnet up --fib`")
        by_tree = read_computed_tables(tables[name], names, len(roots))
        return {
            (root, neighbour, False): filters
            for root, table in zip(roots, by_tree, strict=True)
            for neighbour, filters in table.items()
        }

    return compiled


def _graph(read: Mapping[str, _Router]) -> Graph:
    """Return the topology, from the links that the routers report."""
    weights: dict[tuple[str, str], int] = {}
    for name, each in read.items():
        for neighbour, weight in each.status.neighbours.items():
            if name in read.get(neighbour, each).status.neighbours or neighbour not in read:
                ends = min(name, neighbour), max(name, neighbour)
                weights[ends] = max(weight, weights.get(ends, 0))
    unknown = sorted({end for ends in weights for end in ends} - read.keys())
    if unknown:
        raise CbnetError(
            f"router {unknown[0]} is part of the network, but its address is not known: give the folder of `cbnet up` "
            "as --network, or the addresses of all routers as --router; if it has just stopped, try again later"
        )
    return Graph.from_edges(((a, b, weight) for (a, b), weight in weights.items()), names=list(read))
