"""Correct and ideal schemes [2006 §3]: every delivery on random networks, checked against the definitions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from cbnet.routing import Network, deliver, judge, scheme
from cbnet.routing.schemes.drp import Drp
from cbnet.routing.schemes.header_rewriting import Rewriting
from cbnet.routing.schemes.ips import Ips
from cbnet.routing.schemes.source_classes import classes_at
from cbnet.routing.schemes.unicast import ReplacedHops, ShortestPaths
from cbnet.routing.simulate.ideal import is_ideal
from cbnet.topology import Graph, Tree, bridges
from cbnet_lab.experiments.claim import ClaimRule, Finding
from cbnet_lab.experiments.curves import Row, as_table, grouped, slope, where
from cbnet_lab.experiments.experiment import Experiment, ExperimentContext, Tables
from cbnet_lab.experiments.small_networks import MESSAGES, TIES, TRIANGLE, NamedNetwork, random_graph, random_network

_CONSTANT = 2.5  # the edges of a tree count twice, plus identifiers
_GROWS = 0.1  # exponent of n by which the share of the formula may grow
_SCHEMES = ("psf", "ips", "pif", "drp")
_PSF = ClaimRule(43, "every delivery of PSF is correct and latency-minimal, and ideal where shortest paths are unique")
_BRIDGES = ClaimRule(46, "no router distinguishes sources beyond a bridge")
_IPS = ClaimRule(
    47,
    "on every tree a node has one class per neighbour and one of its own, no header is kept and no bit of R stored; "
    f"and the state is at most {_CONSTANT} times the formula and grows by at most n^{_GROWS} more than it",
)
_PIF = ClaimRule(52, "every delivery of PIF is correct and uses all links of PSF's")
_DRP = ClaimRule(
    56, "every delivery of DRP is correct, and ideal where shortest paths are unique; with ties some are not"
)


@dataclass(frozen=True)
class LawsParameters:
    """Random networks of each kind, their nodes, extra edges and messages, and nodes of the trees."""

    networks: int = 12
    nodes: int = 7
    extra: int = 4
    messages: int = 3
    tree_nodes: tuple[int, ...] = (20, 40, 80)


def _run(parameters: LawsParameters, context: ExperimentContext) -> dict[str, pa.Table]:
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
    examples = [
        {"example": "ties", **_ideal_of(NamedNetwork(TIES), "v", ("b", "x", "y"))},
        *({"example": "triangle", **row} for row in _triangle()),
    ]
    return {
        "deliveries": as_table(deliveries), "bridges": as_table(bridge_rows), "trees": as_table(trees),
        "examples": as_table(examples),
    }  # fmt: skip


def _deliveries(network: Network, messages: Iterable[object], labels: Row) -> Iterator[Row]:
    """Yield a row for each scheme, source and message."""
    schemes = {name: scheme(name)(network) for name in _SCHEMES}
    for source in range(len(network)):
        for message in messages:
            results = {name: deliver(each, source, message) for name, each in schemes.items()}  # type: ignore[arg-type]
            for name, delivery in results.items():
                verdict = judge(network, delivery)
                yield {
                    **labels, "scheme": name, "correct": verdict.is_correct,
                    "minimal": verdict.is_latency_minimal, "ideal": is_ideal(network, delivery),
                    "packets": verdict.packets, "spurious": verdict.spurious,
                    "contains_psf": results["psf"].edges <= delivery.edges,
                }  # fmt: skip


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


def _ideal_of(named: NamedNetwork, source: str, receivers: tuple[str, ...]) -> Row:
    delivery = deliver(scheme("psf")(named.network), named.id(source), named.message(*receivers))
    verdict = judge(named.network, delivery)
    return {"correct": verdict.is_correct, "minimal": verdict.is_latency_minimal} | {
        "ideal": is_ideal(named.network, delivery), "scheme": "psf",
    }  # fmt: skip


def _triangle() -> Iterator[Row]:
    """Yield DRP's deliveries on a triangle with a tie, for all sources and all sets of receivers."""
    named = NamedNetwork(TRIANGLE)
    fewest_hops = ReplacedHops(ShortestPaths(named.network), {(named.id(3), named.id(1)): named.id(1)})
    drp = Drp(named.network, fewest_hops)
    for source in "123":
        for receivers in ("1", "2", "3", "12", "13", "23", "123"):
            delivery = deliver(drp, named.id(source), named.message(*receivers))
            verdict = judge(named.network, delivery)
            yield {"correct": verdict.is_correct, "minimal": verdict.is_latency_minimal} | {
                "ideal": is_ideal(named.network, delivery), "scheme": "drp",
            }  # fmt: skip


def _findings(tables: Tables, _: LawsParameters) -> list[Finding]:
    rows = {name: table.to_pylist() for name, table in tables.items()}
    ties, triangle = (where(rows["examples"], example=example) for example in ("ties", "triangle"))
    return [
        _psf(where(rows["deliveries"], scheme="psf"), ties),
        _at_bridges(rows["bridges"]),
        _ips(rows["trees"]),
        _pif(where(rows["deliveries"], scheme="pif")),
        _drp(where(rows["deliveries"], scheme="drp"), triangle),
    ]


def _share(rows: list[Row], name: str, **values: object) -> str:
    selected = where(rows, **values)
    return f"{sum(bool(row[name]) for row in selected):,} of {len(selected):,}"


def _psf(rows: list[Row], ties: list[Row]) -> Finding:
    ours = (
        f"correct: {_share(rows, 'correct')} deliveries; ideal: {_share(rows, 'ideal', unique=True)} where shortest "
        f"paths are unique, {_share(rows, 'ideal', unique=False)} with ties"
    )
    is_minimal = all(row["correct"] and row["minimal"] for row in rows)
    if not (is_minimal and all(row["ideal"] for row in where(rows, unique=True))):
        return _PSF.fails(ours, "a delivery is not correct, or not ideal although its paths are unique")
    if all(row["ideal"] for row in (*rows, *ties)):
        return _PSF.holds(ours)
    reason = (
        "with ties PSF is latency-minimal but may need more packets than necessary, as its tree is chosen before the "
        "receivers are known: if v is next to a and b, both are next to x and y, and b, x and y are the receivers"
    )
    return _PSF.differs(ours, reason)


def _at_bridges(rows: list[Row]) -> Finding:
    count = sum(row["distinguishing"] for row in rows)
    routers = sum(row["routers"] for row in rows)
    ours = f"{len(rows):,} sides of bridges: {count} of {routers:,} routers distinguish sources"
    return _BRIDGES.decide(ours, not count, "some routers distinguish them")


def _ips(rows: list[Row]) -> Finding:
    extra = {row["classes"] - row["neighbours"] - row["nodes"] for row in rows}
    flags, kept = (sum(row[name] for row in rows) for name in ("flags", "not_rewritten"))
    shares = {
        nodes: float(np.mean([row["counted"] / row["formula"] for row in group]))
        for (nodes,), group in sorted(grouped(rows, "nodes").items())
    }
    growth = slope(shares) if len(shares) > 1 else 0.0
    ours = (
        f"{len(rows)} trees: one class per neighbour and one for the node's own messages; {kept} headers kept, "
        f"{flags} bits of R; {min(shares.values()):.2f} to {max(shares.values()):.2f} of the formula, growing with "
        f"n^{growth:.2f} for {min(shares)} to {max(shares)} nodes"
    )
    if extra != {0} or kept or flags:
        return _IPS.fails(ours, "there are other classes, or headers that are not rewritten")
    if max(shares.values()) > _CONSTANT or growth > _GROWS:
        return _IPS.fails(ours, "the state is larger than the formula, or grows faster")
    reason = (
        "one class more per node than in the paper, that of its own messages; and the table of a class holds the "
        "predicates of all other neighbours, so each is stored up to twice as often, within the paper's O()"
    )
    return _IPS.differs(ours, reason)


def _pif(rows: list[Row]) -> Finding:
    ours = (
        f"correct: {_share(rows, 'correct')} deliveries; all links of PSF: {_share(rows, 'contains_psf')}; "
        f"{sum(row['spurious'] for row in rows):,} of {sum(row['packets'] for row in rows):,} packets spurious"
    )
    is_inside = all(row["correct"] and row["contains_psf"] for row in rows)
    return _PIF.decide(ours, is_inside, "a delivery is not correct, or lacks a link of PSF")


def _drp(rows: list[Row], triangle: list[Row]) -> Finding:
    ours = (
        f"correct: {_share(rows, 'correct')} deliveries; ideal: {_share(rows, 'ideal', unique=True)} where shortest "
        f"paths are unique, {_share(rows, 'ideal', unique=False)} with ties, {_share(triangle, 'ideal')} on a triangle "
        "with a tie"
    )
    if not (all(row["correct"] for row in rows) and all(row["ideal"] for row in where(rows, unique=True))):
        return _DRP.fails(ours, "a delivery is not correct, or not ideal although its paths are unique")
    if all(row["ideal"] for row in triangle):
        reason = "“if” holds; “only if” does not: the triangle has a tie, and with fewest hops all are ideal"
        return _DRP.differs(ours, reason)
    return _DRP.holds(ours)


EXPERIMENT = Experiment(
    name="2006-laws",
    title="Correctness and ideality of the schemes on random networks",
    paper="2006",
    section="§3",
    claims=(43, 46, 47, 52, 56),
    scales={
        "quick": LawsParameters(),
        "full": LawsParameters(60, 8, 5, 4, (25, 50, 100, 200)),
        "paper": LawsParameters(240, 9, 6, 6, (25, 50, 100, 200)),
    },
    run=_run,
    findings=_findings,
    choices=(
        "Among equally long paths the parent with the smallest number is always taken.",
        "Ideal: latency-minimal, with the fewest packets; found by an exact search for a Steiner tree.",
        "R_u is not defined in the paper: here it is 1 where no processor below could notice the difference.",
    ),
)
