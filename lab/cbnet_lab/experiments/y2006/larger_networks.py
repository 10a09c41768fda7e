"""Larger networks on which the statements behind the examples of [2006 §3] are checked.

The networks of 4 and of 12 nodes were built to fit the text, so they cannot contradict it. Each row here counts, over a
generated network, the cases in which the statement behind an example is true. A claim whose example agrees and whose
statement is true there holds with a difference; otherwise it does not hold.

    42    sources and links (v, u, w) at which T_v/(u, w) has exactly the nodes whose path from v crosses (u, w)
    48    sources v and routers u: v's class at u is that of equal T_v/(u, ·), and R_u(v) is 1 exactly if u and the
          class are one class at all nodes below u
    50    links (u, w) at which F*_u(w) equals the union of T_v/(u, w) over all sources v
    53    packets of PIF that lead to no interested processor
    55    routers that split the destinations of a message by next hop, each destination once; bytes of headers
    57    messages of DRP that reach some processor twice, if each next hop is one of several shortest ones
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from cbnet.language.message import Message
from cbnet.routing import Network, deliver, judge
from cbnet.routing.schemes.drp import Drp, DrpRouter
from cbnet.routing.schemes.header_rewriting import Rewriting
from cbnet.routing.schemes.pif import Pif, PifRouter
from cbnet.routing.schemes.source_classes import classes_at
from cbnet.routing.schemes.unicast import ReplacedHops, ShortestPaths
from cbnet.topology import Graph, Tree, distances, shortest_path_tree, topology
from cbnet_lab.experiments.claim import ClaimRule, Finding
from cbnet_lab.experiments.curves import Row

_SOURCES = 40  # of which trees are checked link by link, at most
_RECEIVERS = 10  # interested processors of a message
_SPURIOUS = 0.01  # share of the packets
_RULES: Mapping[int, ClaimRule] = {
    rule.claim: rule
    for rule in (
        ClaimRule(
            42,
            "both sets are the paper's, and at every link of larger networks, with random lengths, T_v/(u, w) has the "
            "nodes whose shortest path from v crosses it",
        ),
        ClaimRule(
            48,
            "the classes and R_6 are the paper's, and at every router of larger networks classes and R follow their "
            "definitions",
        ),
        ClaimRule(50, "F*_6(9) is the paper's, and at every link of larger networks F* is the union over all sources"),
        ClaimRule(
            53,
            "only processor 3 gets a spurious packet on the ring, and on every larger network at least "
            f"{_SPURIOUS:.0%} of PIF's packets are spurious",
        ),
        ClaimRule(
            55,
            "both groups are the paper's, every router of larger networks puts each destination into the group of its "
            "next hop, and headers per next hop take fewer bytes than common ones",
        ),
        ClaimRule(57, "7 gets at least 2 packets, and on every larger network some message reaches a processor twice"),
    )
}
FITTED = tuple(_RULES)
_BUILT = (
    "the figure is not in the text, so the small network was built to fit what the text states and cannot contradict "
    "it; the larger networks are generated"
)


def larger_network_rows(name: str, messages: int, seed: int) -> Iterator[Row]:
    """Yield a row of counts for each claim, on a generated network whose processors have distinct predicates."""
    graph = topology(name, seed, largest=True)
    network = Network(graph, {u: f'#"{graph.name(u)}"' for u in range(len(graph))})
    rng = np.random.default_rng(seed)
    sent = [_message(rng, graph) for _ in range(messages)]
    for claim, counts in (
        (42, _crossed(graph, rng)),
        (48, _classes(network, rng)),
        (50, _unions(network)),
        (53, _spurious(network, sent)),
        (55, _split(network, sent)),
        (57, _twice(network, sent, rng)),
    ):
        yield {"claim": claim, "network": name, "nodes": len(graph), **counts}


def fitted_finding(claim: int, example: str, is_equal: bool, rows: Sequence[Row]) -> Finding:
    """Return the finding for an example on a network built to fit the text; rows: those of the larger networks."""
    rule = _RULES[claim]
    ours = f"network built to fit the text: {example}; larger networks: {'; '.join(map(_text, rows))}"
    if not is_equal:
        return rule.fails(ours, "the example differs from the paper's")
    wrong = [row["network"] for row in rows if not _is_true(row)]
    if wrong:
        return rule.fails(ours, f"the statement behind the example is not true on {', '.join(wrong)}")
    return rule.differs(ours, _BUILT)


def _is_true(row: Row) -> bool:
    """Return whether the statement behind an example is true on a larger network."""
    if row["claim"] == 53:
        return bool(row["true"] >= _SPURIOUS * row["cases"])
    if row["claim"] == 57:
        return bool(row["true"] > 0)
    return bool(row["true"] == row["cases"]) and (row["bytes"] is None or row["bytes"] < row["bytes_common"])


def _text(row: Row) -> str:
    true, cases = row["true"], row["cases"]
    texts = {
        42: f"right nodes behind {true:,} of {cases:,} links of trees",
        48: f"right class and R at {true:,} of {cases:,} sources and routers",
        50: f"the union at {true:,} of {cases:,} links",
        53: f"{true / max(1, cases):.0%} of {cases:,} packets spurious",
        55: f"{true:,} of {cases:,} routers split by next hop",
        57: f"{true:,} of {cases:,} messages reach a processor twice",
    }
    size = f", headers {row['bytes'] / max(1, row['bytes_common']):.0%} of the common ones" if row["bytes"] else ""
    return f"{texts[row['claim']]}{size} ({row['network']})"


def _message(rng: Generator, graph: Graph) -> tuple[int, Message]:
    """Return a random source, and a message that some random processors match."""
    source, *receivers = rng.permutation(len(graph))[: 1 + _RECEIVERS].tolist()
    return source, Message(tags=[str(graph.name(u)) for u in receivers])


def _counts(true: int, cases: int, **more: int) -> Row:
    return {"true": true, "cases": cases, "bytes": None, "bytes_common": None, **more}


def _crossed(graph: Graph, rng: Generator) -> Row:
    """Count the sources and links behind which the tree has the nodes that distances alone tell.

    Lengths are random and large, so shortest paths are unique.
    """
    edges = [(u, int(w)) for u in range(len(graph)) for w in graph.neighbours(u) if u < w]
    drawn = Graph.from_edges((u, w, int(rng.integers(1, 1 << 40))) for u, w in edges)
    lengths = distances(drawn, range(len(drawn)))
    true = cases = 0
    for v in rng.permutation(len(drawn))[:_SOURCES].tolist():
        below = _below(shortest_path_tree(drawn, v))
        for u in range(len(drawn)):
            for w in drawn.neighbours(u).tolist():
                crosses = lengths[v, u] + drawn.weight(u, w) + lengths[w] == lengths[v]
                cases += 1
                true += below.get((u, w), 0) == sum(1 << int(x) for x in np.flatnonzero(crosses))
    return _counts(true, cases)


def _classes(network: Network, rng: Generator) -> Row:
    """Count the sources and routers whose class and R are those of the definitions, taken from the trees."""
    nodes = range(len(network))
    signatures = np.array([_signatures(network, v) for v in nodes]).T  # [router, source]
    classes = classes_at(network.graph, nodes, nodes)
    rewriting = Rewriting(network)
    sources = rng.permutation(len(network))[:_SOURCES].tolist()
    true = cases = 0
    for u in nodes:
        class_of = {v: sorted(each) for each in classes[u] for v in each}
        for v in sources:
            own = np.flatnonzero(signatures[u] == signatures[u, v])
            below = [x for x in network.tree(v).descendants(u).tolist() if x != u]
            seen = signatures[np.ix_(below, [*own, u])]
            is_one = bool((seen == seen[:, :1]).all())
            cases += 1
            true += class_of[v] == own.tolist() and rewriting.rewrites(v, u) == is_one
    return _counts(true, cases)


def _signatures(network: Network, v: int) -> list[int]:
    """Return a number for each router u that stands for all T_v/(u, w)."""
    sets: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for (u, w), below in _below(network.tree(v)).items():
        sets[u].append((w, below))
    return [hash(tuple(sorted(sets[u]))) for u in range(len(network))]


def _unions(network: Network) -> Row:
    """Count the links at which F* is the union over all sources, taken from the trees themselves."""
    unions: dict[tuple[int, int], int] = defaultdict(int)
    for v in range(len(network)):
        for (u, w), below in _below(network.tree(v)).items():
            unions[u, w] |= below
    true = cases = 0
    for u in range(len(network)):
        receivers = PifRouter(network, u).table.receivers
        for w in network.graph.neighbours(u).tolist():
            cases += 1
            true += unions[u, w] == sum(1 << int(x) for x in receivers.get(w, ()))
    return _counts(true, cases)


def _below(tree: Tree) -> dict[tuple[int, int], int]:
    """Return T_v/(u, w) for each edge (u, w) of a tree, as a mask of nodes."""
    masks = {int(w): 1 << int(w) for w in tree.preorder}
    edges: dict[tuple[int, int], int] = {}
    for w in reversed(tree.preorder.tolist()):  # children before their parents
        if (u := int(tree.parents[w])) >= 0:
            edges[u, w] = masks[w]
            masks[u] |= masks[w]
    return edges


def _spurious(network: Network, sent: list[tuple[int, Message]]) -> Row:
    verdicts = [judge(network, deliver(Pif(network), source, message)) for source, message in sent]
    return _counts(sum(each.spurious for each in verdicts), sum(each.packets for each in verdicts))


def _split(network: Network, sent: list[tuple[int, Message]]) -> Row:
    """Count the routers whose groups have every destination once, at its own next hop; and the bytes of headers."""
    drp, unicast = Drp(network), ShortestPaths(network)
    true = cases = own = common = 0
    for source, message in sent:
        delivery = deliver(drp, source, message)
        own += delivery.header_bytes
        common += deliver(Drp(network, partition=True), source, message).header_bytes
        for u, destinations in ((packet.receiver, packet.header) for packet in delivery.packets):
            router = drp.router(u)
            assert isinstance(router, DrpRouter)
            pairs = Counter((w, x) for w, group in router.groups(destinations).items() for x in group)
            cases += 1
            true += pairs == Counter((unicast.next_hop(u, x), x) for x in destinations if x != u)
    return _counts(true, cases, bytes=own, bytes_common=common)


def _twice(network: Network, sent: list[tuple[int, Message]], rng: Generator) -> Row:
    """Count the messages of which a processor gets two packets, if every next hop is a random shortest one."""
    graph = network.graph
    lengths = distances(graph, range(len(graph)))
    hops = {(u, x): int(rng.choice(_shortest_hops(graph, lengths, u, x))) for u, x in _pairs(len(graph))}
    drp = Drp(network, ReplacedHops(ShortestPaths(network), hops))
    duplicates = [judge(network, deliver(drp, source, message)).duplicates for source, message in sent]
    return _counts(sum(count > 0 for count in duplicates), len(duplicates))


def _pairs(nodes: int) -> Iterator[tuple[int, int]]:
    return ((u, x) for u in range(nodes) for x in range(nodes) if u != x)


def _shortest_hops(graph: Graph, lengths: NDArray[np.int64], u: int, x: int) -> list[int]:
    """Return the neighbours of u on a shortest path to x."""
    return [w for w in graph.neighbours(u).tolist() if graph.weight(u, w) + lengths[w, x] == lengths[u, x]]
