"""Correct and ideal schemes [2006 §3]: every delivery on random networks, checked against the definitions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.random import Generator

from cbnet.language.message import Message
from cbnet.routing import DeliveryTree, Network, deliver, judge, scheme
from cbnet.routing.schemes.drp import Drp
from cbnet.routing.schemes.ips import Ips, Rewriting, classes_at
from cbnet.routing.schemes.unicast import ReplacedHops, ShortestPaths
from cbnet.routing.simulate.verdict import is_ideal
from cbnet.topology import Graph, Tree, bridges
from cbnet_lab.experiments.curves import Metrics, Row, grouped, slope, where
from cbnet_lab.experiments.experiment import ExperimentContext, Parameters, Results, Rows, experiment

_SCHEMES = ("psf", "ips", "pif", "drp")
_TRIANGLE = "1-2:1 2-3:1 1-3:2"  # two shortest paths from 1 to 3
_TIES = "v-a:1 v-b:1 a-x:1 a-y:1 b-x:1 b-y:1"  # two shortest paths from v to x and to y

# Predicates of receivers in random networks, and messages that distinguish all of them.
PREDICATES = ("k = 0", "k = 1", "k = 2", "k < 2", "k > 1", "k != 1", "k = 0 or k = 3", "k = 1 or j = 1", "true")
MESSAGES = (*(Message({"k": k}) for k in range(4)), Message({"k": 2, "j": 1}), Message({"j": 1}))


def _run(parameters: Parameters, context: ExperimentContext) -> Results:
    rng = np.random.default_rng(context.seed)
    deliveries: list[Row] = []
    bridge_rows: list[Row] = []
    trees: list[Row] = []
    for number in range(parameters.networks):
        context.progress(number, parameters.networks, "random networks")
        for unique in (True, False):
            graph = random_graph(rng, parameters.nodes, parameters.extra, unique=unique)
            chosen = [MESSAGES[number] for number in rng.permutation(len(MESSAGES))[: parameters.messages]]
            deliveries += _deliveries(random_network(rng, graph), chosen, {"network": number, "unique": unique})
            few = random_graph(rng, 2 * parameters.nodes, 2, unique=unique)  # few extra edges: many bridges
            bridge_rows += [{"network": number, "unique": unique, **row} for row in _bridges(few)]
        size = parameters.tree_nodes[number % len(parameters.tree_nodes)]
        trees.append({"network": number, **_on_tree(random_graph(rng, size, 0, unique=False))})
    examples = [*_ties(), *_triangle()]
    return {"deliveries": deliveries, "bridges": bridge_rows, "trees": trees, "examples": examples}


def named_network(text: str) -> Network:
    """Return the network of a text such as 1-5:1 1-6:4, in which the predicate of each node is a tag, its name."""
    edges = (edge.replace(":", "-").split("-") for edge in text.split())
    graph = Graph.from_edges((u, v, weight) for u, v, weight in edges)
    return Network(graph, {u: f'#"{graph.name(u)}"' for u in range(len(graph))})


def random_graph(rng: Generator, nodes: int, extra: int, *, unique: bool) -> Graph:
    """Return a random connected graph: a tree and some extra edges.

    unique: lengths are distinct powers of two, so no two paths are equally long. Otherwise they are 1 and 2, so ties
    are common.
    """
    edges = {(int(rng.integers(child)), child) for child in range(1, nodes)}
    others = [(u, v) for u in range(nodes) for v in range(u + 1, nodes) if (u, v) not in edges]
    chosen = rng.permutation(len(others))[:extra]
    every = [*sorted(edges), *(others[number] for number in chosen)]
    lengths = 1 << rng.permutation(len(every)) if unique else rng.integers(1, 3, size=len(every))
    return Graph.from_edges((u, v, int(length)) for (u, v), length in zip(every, lengths, strict=True))


def random_network(rng: Generator, graph: Graph) -> Network:
    """Return a network in which about two thirds of the nodes are receivers."""
    receivers = [u for u in range(len(graph)) if rng.random() < 2 / 3]
    return Network(graph, {u: str(rng.choice(PREDICATES)) for u in receivers})


def _deliveries(network: Network, messages: Iterable[Message], labels: Row) -> Iterator[Row]:
    """Yield a row for each scheme, source and message."""
    schemes = {name: scheme(name)(network) for name in _SCHEMES}
    for source in range(len(network)):
        for message in messages:
            results = {name: deliver(each, source, message) for name, each in schemes.items()}
            for name, delivery in results.items():
                contains_psf = results["psf"].edges <= delivery.edges
                yield {**labels, "scheme": name, **_judged(network, delivery), "contains_psf": contains_psf}


def _below(tree: Tree, u: int) -> dict[int, frozenset[int]]:
    """Return the children of u, each with the nodes below it."""
    return {int(w): frozenset(tree.descendants(int(w)).tolist()) for w in tree.children(u)}


def _bridges(graph: Graph) -> Iterator[Row]:
    """Yield, for each bridge and direction, the routers that distinguish sources beyond it."""
    network = Network(graph, {})
    trees = [network.tree(v) for v in range(len(graph))]
    for a, b in bridges(graph):
        beyond = set(trees[a].descendants(b).tolist())  # reachable from a only over the bridge
        for sources, routers in ((set(range(len(graph))) - beyond, beyond), (beyond, set(range(len(graph))) - beyond)):
            count = sum(any(_below(trees[v], u) != _below(trees[min(sources)], u) for v in sources) for u in routers)
            yield {"sources": len(sources), "routers": len(routers), "distinguishing": count}


def _on_tree(graph: Graph) -> Row:
    """Return the classes and state of iPS on a tree where all nodes send and receive."""
    network = Network(graph, {u: f"k = {u}" for u in range(len(graph))})
    classes = classes_at(graph, range(len(graph)), range(len(graph)))
    rewriting = Rewriting(network)
    ips = Ips(network)
    state = ips.state()
    formula = ips.formula()
    assert formula is not None
    nodes = range(len(graph))
    return {
        "nodes": len(graph),
        "classes": sum(len(each) for each in classes.values()),
        "neighbours": int(graph.degrees.sum()),
        "not_rewritten": sum(not rewriting.rewrites(v, u) for v in nodes for u in nodes),
        "flags": state.flags,
        "counted": state.bits(len(graph)),
        "formula": formula,
    }


def _judged(network: Network, delivery: DeliveryTree) -> Row:
    verdict = judge(network, delivery)
    return {
        "correct": verdict.is_correct, "minimal": verdict.is_latency_minimal, "ideal": is_ideal(network, delivery),
        "packets": verdict.packets, "spurious": verdict.spurious,
    }  # fmt: skip


def _ties() -> Iterator[Row]:
    """Yield PSF's delivery in a network with ties."""
    network = named_network(_TIES)
    delivery = deliver(scheme("psf")(network), network.graph.id("v"), Message(tags=["b", "x", "y"]))
    yield {"example": "ties", **_judged(network, delivery)}


def _triangle() -> Iterator[Row]:
    """Yield DRP's deliveries on a triangle with a tie, for all sources and all sets of receivers."""
    network = named_network(_TRIANGLE)
    one, three = network.graph.id("1"), network.graph.id("3")
    drp = Drp(network, ReplacedHops(ShortestPaths(network), {(three, one): one}))  # fewest hops
    for source in "123":
        for receivers in ("1", "2", "3", "12", "13", "23", "123"):
            delivery = deliver(drp, network.graph.id(source), Message(tags=[*receivers]))
            yield {"example": "triangle", **_judged(network, delivery)}


def _metrics(rows: Rows, _: Parameters) -> Metrics:
    psf, pif, drp = (where(rows["deliveries"], scheme=name) for name in ("psf", "pif", "drp"))
    ties, triangle = (where(rows["examples"], example=name) for name in ("ties", "triangle"))
    bridges, trees = rows["bridges"], rows["trees"]
    shares = {
        nodes: float(np.mean([row["counted"] / row["formula"] for row in group]))
        for (nodes,), group in sorted(grouped(trees, "nodes").items())
    }
    return {
        **_counts("psf", psf), **_counts("drp", drp), **_counts("pif", pif),
        "psf_not_minimal": sum(not row["minimal"] for row in psf),
        "psf_not_ideal": sum(not row["ideal"] for row in (*psf, *ties)),
        "bridges": len(bridges), "bridge_routers": sum(row["routers"] for row in bridges),
        "distinguishing": sum(row["distinguishing"] for row in bridges),
        "trees": len(trees), "other_classes": [
            row["network"] for row in trees if row["classes"] != row["neighbours"] + row["nodes"]
        ],
        "kept_headers": sum(row["not_rewritten"] for row in trees), "flags": sum(row["flags"] for row in trees),
        "least_share": min(shares.values()), "most_share": max(shares.values()),
        "least_nodes": min(shares), "most_nodes": max(shares), "growth": slope(shares) if len(shares) > 1 else 0.0,
        "lacking_psf": sum(not row["contains_psf"] for row in pif),
        "spurious": sum(row["spurious"] for row in pif), "packets": sum(row["packets"] for row in pif),
        "triangle": len(triangle), "triangle_ideal": sum(row["ideal"] for row in triangle),
        "triangle_not_ideal": sum(not row["ideal"] for row in triangle),
    }  # fmt: skip


def _counts(name: str, rows: list[Row]) -> Metrics:
    """Return how many deliveries of a scheme are correct, and ideal where shortest paths are unique and with ties."""
    unique, tied = (where(rows, unique=is_unique) for is_unique in (True, False))
    counts = {
        "all": len(rows), "wrong": sum(not row["correct"] for row in rows),
        "unique": len(unique), "unique_not_ideal": sum(not row["ideal"] for row in unique),
        "tied": len(tied), "tied_ideal": sum(row["ideal"] for row in tied),
    }  # fmt: skip
    counts |= {"correct": counts["all"] - counts["wrong"], "unique_ideal": len(unique) - counts["unique_not_ideal"]}
    return {f"{name}_{key}": count for key, count in counts.items()}


EXPERIMENT = experiment("2006-laws", _run, _metrics)
