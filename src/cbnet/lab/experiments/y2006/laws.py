"""[2006 §3]: are the schemes correct, and ideal? Every delivery on random networks, against the definitions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from cbnet.lab.experiments.claim import Finding
from cbnet.lab.experiments.curves import Row, as_table, where
from cbnet.lab.experiments.experiment import Experiment, ExperimentContext, Tables
from cbnet.lab.experiments.small_networks import MESSAGES, TIES, TRIANGLE, NamedNetwork, random_graph, random_network
from cbnet.lab.report.chart import Chart
from cbnet.routing import Network, deliver, judge, scheme
from cbnet.routing.schemes.drp import Drp
from cbnet.routing.schemes.header_rewriting import Rewriting
from cbnet.routing.schemes.ips import Ips
from cbnet.routing.schemes.source_classes import classes_at
from cbnet.routing.schemes.unicast import ReplacedHops, ShortestPaths
from cbnet.routing.simulate.ideal import is_ideal
from cbnet.topology import Graph, Tree, bridges

_CONSTANT = 2.5  # the edges of a tree count twice, and identifiers come on top
_SCHEMES = ("psf", "ips", "pif", "drp")


@dataclass(frozen=True)
class LawsParameters:
    """Random networks of each kind, and their nodes; nodes of the trees."""

    networks: int = 12
    nodes: int = 7
    extra: int = 4
    messages: int = 3
    tree_nodes: int = 25


def _run(parameters: LawsParameters, context: ExperimentContext) -> dict[str, pa.Table]:
    rng = np.random.default_rng(context.seed)
    deliveries: list[Row] = []
    apart: list[Row] = []
    trees: list[Row] = []
    for number in range(parameters.networks):
        context.progress(number, parameters.networks, "random networks")
        for unique in (True, False):
            graph = random_graph(rng, parameters.nodes, parameters.extra, unique=unique)
            chosen = [MESSAGES[place] for place in rng.permutation(len(MESSAGES))[: parameters.messages]]
            deliveries += _deliveries(random_network(rng, graph), chosen, {"network": number, "unique": unique})
            few = random_graph(rng, 2 * parameters.nodes, 2, unique=unique)  # few edges more: many bridges
            apart += [{"network": number, "unique": unique, **row} for row in _bridges(few)]
        trees.append({"network": number, **_on_tree(random_graph(rng, parameters.tree_nodes, 0, unique=True))})
    examples = [
        {"example": "ties", **_ideal_of(NamedNetwork(TIES), "v", ("b", "x", "y"))},
        *({"example": "triangle", **row} for row in _triangle()),
    ]
    return {
        "deliveries": as_table(deliveries), "bridges": as_table(apart), "trees": as_table(trees),
        "examples": as_table(examples),
    }  # fmt: skip


def _deliveries(network: Network, messages: Iterable[object], about: Row) -> Iterator[Row]:
    """Yield a row for each scheme, source and message."""
    schemes = {name: scheme(name)(network) for name in _SCHEMES}
    for source in range(len(network)):
        for message in messages:
            found = {name: deliver(each, source, message) for name, each in schemes.items()}  # type: ignore[arg-type]
            for name, delivery in found.items():
                verdict = judge(network, delivery)
                yield {
                    **about, "scheme": name, "correct": verdict.is_correct,
                    "minimal": verdict.is_latency_minimal, "ideal": is_ideal(network, delivery),
                    "packets": verdict.packets, "spurious": verdict.spurious,
                    "holds_psf": found["psf"].edges <= delivery.edges,
                }  # fmt: skip


def _below(tree: Tree, u: int) -> dict[int, frozenset[int]]:
    """Return the children of u, each with the nodes below it."""
    return {int(w): frozenset(tree.descendants(int(w)).tolist()) for w in tree.children(u)}


def _bridges(graph: Graph) -> Iterator[Row]:
    """Yield for each bridge and direction how many routers tell sources beyond it apart."""
    network = Network(graph, {})
    trees = [network.tree(v) for v in range(len(graph))]
    for a, b in bridges(graph):
        beyond = set(trees[a].descendants(b).tolist())  # the only way from a to there is the bridge
        for sources, routers in ((set(range(len(graph))) - beyond, beyond), (beyond, set(range(len(graph))) - beyond)):
            told = sum(any(_below(trees[v], u) != _below(trees[min(sources)], u) for v in sources) for u in routers)
            yield {"sources": len(sources), "routers": len(routers), "told_apart": told}


def _on_tree(graph: Graph) -> Row:
    """Return what iPS needs on a tree where all send and receive."""
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


def _ideal_of(drawn: NamedNetwork, source: str, wanted: tuple[str, ...]) -> Row:
    delivery = deliver(scheme("psf")(drawn.network), drawn.id(source), drawn.message(*wanted))
    verdict = judge(drawn.network, delivery)
    return {"correct": verdict.is_correct, "minimal": verdict.is_latency_minimal} | {
        "ideal": is_ideal(drawn.network, delivery), "scheme": "psf",
    }  # fmt: skip


def _triangle() -> Iterator[Row]:
    """Yield DRP's deliveries on a triangle with a tie, for all sources and all sets of receivers."""
    drawn = NamedNetwork(TRIANGLE)
    fewest_hops = ReplacedHops(ShortestPaths(drawn.network), {(drawn.id(3), drawn.id(1)): drawn.id(1)})
    drp = Drp(drawn.network, fewest_hops)
    for source in "123":
        for wanted in ("1", "2", "3", "12", "13", "23", "123"):
            delivery = deliver(drp, drawn.id(source), drawn.message(*wanted))
            verdict = judge(drawn.network, delivery)
            yield {"correct": verdict.is_correct, "minimal": verdict.is_latency_minimal} | {
                "ideal": is_ideal(drawn.network, delivery), "scheme": "drp",
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


def _share(rows: list[Row], name: str, **chosen: object) -> str:
    own = where(rows, **chosen)
    return f"{sum(bool(row[name]) for row in own):,} of {len(own):,}"


def _psf(rows: list[Row], ties: list[Row]) -> Finding:
    ours = (
        f"correct: {_share(rows, 'correct')} deliveries; ideal: {_share(rows, 'ideal', unique=True)} where shortest "
        f"paths are unique, {_share(rows, 'ideal', unique=False)} with ties"
    )
    right = all(row["correct"] and row["minimal"] for row in rows)
    if not (right and all(row["ideal"] for row in where(rows, unique=True))):
        return Finding(43, ours, "fails", "a delivery is not correct, or not ideal though its paths are unique")
    if all(row["ideal"] for row in (*rows, *ties)):
        return Finding(43, ours, "holds")
    reason = (
        "with ties PSF is latency-minimal but may need more packets than others that are: its tree is chosen before "
        "the receivers are known: v beside a and b, both beside x and y, and b, x and y want the message"
    )
    return Finding(43, ours, "differs", reason)


def _at_bridges(rows: list[Row]) -> Finding:
    told = sum(row["told_apart"] for row in rows)
    routers = sum(row["routers"] for row in rows)
    ours = f"{len(rows):,} sides of bridges: sources are told apart at {told} of {routers:,} routers"
    return Finding(46, ours, "fails" if told else "holds", "some routers tell them apart" if told else "")


def _ips(rows: list[Row]) -> Finding:
    extra = {row["classes"] - row["neighbours"] - row["nodes"] for row in rows}
    flags, kept = (sum(row[name] for row in rows) for name in ("flags", "not_rewritten"))
    shares = [row["counted"] / row["formula"] for row in rows]
    ours = (
        f"{len(rows)} trees: a class for each neighbour and one for the node's own messages; {kept} headers kept, "
        f"{flags} bits of R; {min(shares):.2f} to {max(shares):.2f} of the formula"
    )
    if extra != {0} or kept or flags:
        return Finding(47, ours, "fails", "there are other classes, or headers that are not rewritten")
    reason = (
        "one class more at each node than the paper says: that of its own messages; and the table of a class holds "
        "the predicates of all other neighbours, so that each stands there up to twice as often, within the paper's O()"
    )
    return Finding(47, ours, "differs" if max(shares) <= _CONSTANT else "fails", reason)


def _pif(rows: list[Row]) -> Finding:
    ours = (
        f"correct: {_share(rows, 'correct')} deliveries; all links of PSF: {_share(rows, 'holds_psf')}; "
        f"{sum(row['spurious'] for row in rows):,} of {sum(row['packets'] for row in rows):,} packets in vain"
    )
    if all(row["correct"] and row["holds_psf"] for row in rows):
        return Finding(52, ours, "holds")
    return Finding(52, ours, "fails", "a delivery is not correct, or lacks a link of PSF's")


def _drp(rows: list[Row], triangle: list[Row]) -> Finding:
    ours = (
        f"correct: {_share(rows, 'correct')} deliveries; ideal: {_share(rows, 'ideal', unique=True)} where shortest "
        f"paths are unique, {_share(rows, 'ideal', unique=False)} with ties, {_share(triangle, 'ideal')} on a triangle "
        "with a tie"
    )
    if not (all(row["correct"] for row in rows) and all(row["ideal"] for row in where(rows, unique=True))):
        return Finding(56, ours, "fails", "a delivery is not correct, or not ideal though its paths are unique")
    if all(row["ideal"] for row in triangle):
        reason = "“if” holds; “only if” does not: the triangle has a tie, and with fewest hops all are ideal"
        return Finding(56, ours, "differs", reason)
    return Finding(56, ours, "holds")


def _charts(_: Tables, __: LawsParameters) -> list[Chart]:
    return []


EXPERIMENT = Experiment(
    name="2006-laws",
    title="Correct and ideal? The schemes on random networks",
    paper="2006",
    section="§3",
    claims=(43, 46, 47, 52, 56),
    scales={
        "quick": LawsParameters(),
        "full": LawsParameters(60, 8, 5, 4, 50),
        "paper": LawsParameters(240, 9, 6, 6, 100),
    },
    run=_run,
    findings=_findings,
    charts=_charts,
    choices=(
        "Among equally long ways the parent with the smallest number is taken, everywhere.",
        "Ideal: latency-minimal, with the fewest packets of all that are; found by an exact search for a Steiner tree.",
        "The paper does not define R_u: 1 where no processor below could tell the difference.",
    ),
)
