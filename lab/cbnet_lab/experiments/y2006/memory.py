"""State of each scheme in growing networks, counted and by the formulas of [2006 §3]."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import log2

import numpy as np
import pyarrow as pa

from cbnet.language import Predicate
from cbnet.matching.storage.arrow_filters import columns_from_arrow
from cbnet.routing import Network, scheme
from cbnet.routing.multitree.tree_sides import lengths_on_tree
from cbnet.routing.router_state import WORD_BITS, alpha
from cbnet.routing.schemes.unicast import OneTree, ShortestPaths
from cbnet.topology import Graph, distances, topology
from cbnet_lab.experiments.claim import ClaimRule, Finding
from cbnet_lab.experiments.curves import Row, as_table, grouped, slope, where
from cbnet_lab.experiments.experiment import Experiment, ExperimentContext, Tables
from cbnet_lab.experiments.inputs import news_terms
from cbnet_lab.report.chart import Chart
from cbnet_lab.workload import Disjunction2006, predicates

_SCHEMES = ("psf", "ips", "pif", "drp")
_LABELS = {"psf": "PSF", "ips": "iPS", "pif": "PIF", "drp": "DRP"}
_GROWS = 0.15  # exponent by which the share of the formula may grow with the network
_CONSTANT = 2  # of O(): the largest share of the formula
_PRODUCT = 0.75  # exponent of both from which state counts as growing with senders times receivers
_INTERNET = "--topology"
_WITHIN = f"state is at most {_CONSTANT} times the formula, and grows by at most n^{_GROWS} more than it"
_ABOUT = 0.1  # the formula with means against the sum over all pairs
_ONCE_PER_HOP = ClaimRule(
    44,
    "for every source, the tables hold each receiver once per hop of its distance, exactly, in predicates and words; "
    f"and s log n + s r M_p d, with means of M_p and d, is within {_ABOUT:.0%} of the sum",
)
_PIF = ClaimRule(54, f"{_WITHIN}, without the n that is one too many")
_DRP = ClaimRule(58, f"{_WITHIN}; and next hops along one tree take fewer identifiers but lengthen paths")
_ORDER = ClaimRule(
    59, f"PSF's state, and no other, grows with senders and with receivers, each by at least n^{_PRODUCT}"
)


@dataclass(frozen=True)
class MemoryParameters2006:
    """Networks, the nodes of the one with growing senders and receivers, names, and filters per receiver."""

    kind: str
    nodes: tuple[int, ...]
    varied: int
    shares: tuple[float, ...] = (0.125, 0.25, 0.5, 1.0)
    names: int = 50
    filters: int = 3
    sources: int = 50  # of paths in the Internet graph of --topology
    receivers: int = 1000  # there, for the tables of PSF


def _run(parameters: MemoryParameters2006, context: ExperimentContext) -> dict[str, pa.Table]:
    grown = [(nodes, 1.0, 1.0) for nodes in parameters.nodes]
    varied = [(parameters.varied, share, 1.0) for share in parameters.shares]
    varied += [(parameters.varied, 1.0, share) for share in parameters.shares[:-1]]
    states: list[Row] = []
    hops: list[Row] = []
    unicasts: list[Row] = []
    cases = [("n", case) for case in grown] + [("s and r", case) for case in varied]
    for done, (what, (nodes, senders, receivers)) in enumerate(cases):
        context.progress(done, len(cases), f"{nodes} nodes")
        network = _network(
            topology(f"{parameters.kind}:{nodes}", context.seed), parameters, senders, receivers, context
        )
        states += [{"grown": what, **_sizes(network), **row} for row in _states(network)]
        if what == "n":
            hops.append({"graph": parameters.kind, **_sizes(network), **_placed(network)})
            unicasts += [{"graph": parameters.kind, **_sizes(network), **row} for row in _unicasts(network)]
    if context.topology is not None:
        network = _internet(context, parameters.sources)
        fewer = np.random.default_rng(context.seed + 1).permutation(len(network))[: parameters.receivers].tolist()
        sampled = Network(network.graph, {u: f"k = {u}" for u in fewer}, network.senders)
        hops.append({"graph": _INTERNET, **_sizes(sampled), **_placed(sampled)})
        unicasts += [{"graph": _INTERNET, **_sizes(network), **row} for row in _unicasts(network)]
    return {"states": as_table(states), "hops": as_table(hops), "unicasts": as_table(unicasts)}


def _network(
    graph: Graph, parameters: MemoryParameters2006, senders: float, receivers: float, context: ExperimentContext
) -> Network:
    """Return a network with predicates of [§4.2]; the first nodes of a random order send and receive."""
    order = np.random.default_rng(context.seed).permutation(len(graph)).tolist()
    mix = Disjunction2006(
        parameters.filters * len(graph), parameters.names, terms=news_terms(context), seed=context.seed
    )
    columns = columns_from_arrow(predicates(mix))
    receiving = order[: max(1, round(receivers * len(graph)))]
    predicate_of = {
        u: Predicate(columns.filter(parameters.filters * number + turn) for turn in range(parameters.filters))
        for number, u in enumerate(receiving)
    }
    return Network(graph, predicate_of, order[: max(1, round(senders * len(graph)))])


def _internet(context: ExperimentContext, sources: int) -> Network:
    """Return the network of --topology, in which all nodes receive and some send; predicates do not matter here."""
    graph = topology(str(context.topology), largest=True)
    senders = np.random.default_rng(context.seed).permutation(len(graph))[:sources].tolist()
    return Network(graph, dict.fromkeys(range(len(graph)), Predicate()), senders)


def _sizes(network: Network) -> Row:
    return {"nodes": len(network), "senders": len(network.senders), "receivers": len(network.receivers)}


def _states(network: Network) -> Iterator[Row]:
    for name in _SCHEMES:
        each = scheme(name)(network)
        yield {"scheme": name, "counted": each.state().bits(len(network)), "formula": each.formula()}
    yield {
        "scheme": "pif, as printed",
        "counted": scheme("pif")(network).state().bits(len(network)),
        "formula": _printed(network),
    }


def _printed(network: Network) -> float:
    """Return M(PIF) as printed in the paper, with one n too many."""
    n, largest = len(network), int(network.graph.degrees.max())
    predicate_bits = n * int(network.unreduced_words.sum()) * WORD_BITS * alpha(network)
    return n * (len(network.senders) * largest * log2(n) + predicate_bits)


def _placed(network: Network) -> Row:
    """Return the receivers in PSF's tables and their words, source by source, against distances found without trees."""
    lengths = distances(network.graph, network.senders)[:, network.receivers]  # all edges have length 1
    words = network.unreduced_words
    row = {"placed": 0, "hops": int(lengths.sum()), "words": 0, "words_by_hops": int((lengths @ words).sum())}
    row["wrong_sources"] = 0
    for v, hops in zip(network.senders, lengths, strict=True):
        branches = network.branches(v)
        behind = [network.rank[x] for u in branches.at for each in branches.behind(u).values() for x in each]
        row["placed"] += len(behind)
        row["words"] += int(words[behind].sum())
        row["wrong_sources"] += len(behind) != hops.sum() or words[behind].sum() != hops @ words
    pairs = lengths.size
    bits = len(network.senders) * log2(len(network))
    by_means = bits + pairs * float(words.mean()) * float(lengths.mean()) * WORD_BITS
    return row | {"by_means": by_means / (bits + row["words"] * WORD_BITS)}


def _unicasts(network: Network) -> Iterator[Row]:
    """Yield the next-hop identifiers of DRP, by shortest paths and along one tree, and the stretch of its paths."""
    tree = OneTree(network)
    shortest = np.concatenate([network.distances(v) for v in network.senders])
    along = np.concatenate([lengths_on_tree(tree.tree, v, network.receivers) for v in network.senders])
    is_remote = shortest > 0
    for unicast, lengths in ((ShortestPaths(network), shortest), (tree, along)):
        identifiers = sum(unicast.identifiers(u) for u in range(len(network)))
        stretch = float((lengths[is_remote] / shortest[is_remote]).mean())
        yield {"unicast": unicast.name, "identifiers": identifiers, "stretch": stretch}


def _findings(tables: Tables, _: MemoryParameters2006) -> list[Finding]:
    states, hops, unicasts = (tables[name].to_pylist() for name in ("states", "hops", "unicasts"))
    return [_once_per_hop(hops), _pif(states), _drp(states, unicasts), _product(states)]


def _once_per_hop(rows: list[Row]) -> Finding:
    ours = ", ".join(
        f"{row['placed']:,} in the tables, {row['hops']:,} hops ({row['graph']}, {row['senders']:,} sources of "
        f"{row['nodes']:,}); s log n + s r M_p d is {row['by_means']:.1%}"
        for row in rows
    )
    wrong = sum(row["wrong_sources"] for row in rows)
    is_close = all(abs(row["by_means"] - 1) <= _ABOUT for row in rows)
    reason = f"{wrong} sources have other tables" if wrong else "the formula with means is not close to the sum"
    return _ONCE_PER_HOP.decide(ours, not wrong and is_close, reason)


def _shares(rows: list[Row], name: str) -> dict[float, float]:
    """Return counted state divided by the formula, by number of nodes."""
    return {row["nodes"]: row["counted"] / row["formula"] for row in where(rows, scheme=name, grown="n")}


def _pif(rows: list[Row]) -> Finding:
    shares, printed = _shares(rows, "pif"), _shares(rows, "pif, as printed")
    ours = (
        f"{_range(shares)} of it, growing with n^{slope(shares):.2f}; of the formula as printed {_range(printed)}, "
        f"n^{slope(printed):.2f}"
    )
    if not _is_within(shares):
        return _PIF.fails(ours, "the state grows faster than the formula, or is more than a constant above it")
    reason = "the paper prints one n too many, before r: its derivation for one router already sums over neighbours"
    return _PIF.differs(ours, reason)


def _is_within(shares: dict[float, float]) -> bool:
    """Return whether state is within the O() of its formula."""
    return slope(shares) <= _GROWS and max(shares.values()) <= _CONSTANT


def _range(shares: dict[float, float]) -> str:
    return f"{min(shares.values()):.2g} to {max(shares.values()):.2g}"


def _drp(rows: list[Row], unicasts: list[Row]) -> Finding:
    shares = _shares(rows, "drp")
    graphs = grouped(unicasts, "graph")
    largest = [where(group, nodes=max(row["nodes"] for row in group)) for group in graphs.values()]
    trades = [{row["unicast"]: row for row in group} for group in largest]
    texts = [
        f"{each['tree']['identifiers'] / each['shortest']['identifiers']:.2%} of the identifiers and paths "
        f"{each['tree']['stretch']:.2f} times as long ({each['tree']['graph']}, {each['tree']['nodes']:,} nodes)"
        for each in trades
    ]
    ours = f"{_range(shares)} of the formula, growing with n^{slope(shares):.2f}; along one tree {', '.join(texts)}"
    if not _is_within(shares):
        return _DRP.fails(ours, "the state grows faster than the formula, or is more than a constant above it")
    saves = all(
        each["tree"]["identifiers"] < each["shortest"]["identifiers"] and each["tree"]["stretch"] > 1 for each in trades
    )
    return _DRP.decide(ours, saves, "one tree saves no identifiers, or does not lengthen paths")


def _product(rows: list[Row]) -> Finding:
    varied = where(rows, grown="s and r")
    exponents = {
        name: (_exponent(where(varied, scheme=name), "senders"), _exponent(where(varied, scheme=name), "receivers"))
        for name in _SCHEMES
    }
    ours = "exponents of senders and receivers: " + ", ".join(
        f"{_LABELS[name]} {s:.2f} and {r:.2f}" for name, (s, r) in exponents.items()
    )
    grown = where(rows, grown="n")
    last = max(row["nodes"] for row in grown)
    sizes = {row["scheme"]: row["counted"] for row in where(grown, nodes=last)}
    order = sorted(_SCHEMES, key=lambda name: -sizes[name])
    ours += f"; with {last:,} nodes: " + ", ".join(f"{_LABELS[name]} {sizes[name]:,} bits" for name in order)
    grows = [name for name, both in exponents.items() if min(both) >= _PRODUCT]
    if "psf" not in grows:
        return _ORDER.fails(ours, "PSF does not grow with both")
    reasons = {
        "ips": "iPS too, as the best connected routers, which hold most state, distinguish nearly all sources",
        "pif": "PIF too",
        "drp": "DRP too, as every sender holds the predicate of every receiver: s·r·M_p, though not at each hop",
    }
    return _ORDER.decide(ours, grows == ["psf"], "; ".join(reasons[name] for name in grows if name != "psf"))


def _exponent(rows: list[Row], what: str) -> float:
    """Return the exponent of the senders, or receivers, while the other number equals the nodes."""
    other = {"senders": "receivers", "receivers": "senders"}[what]
    return slope({row[what]: row["counted"] for row in rows if row[other] == row["nodes"]})


def _charts(tables: Tables, _: MemoryParameters2006) -> list[Chart]:
    points = [
        {"scheme": _LABELS[row["scheme"]], "nodes": row["nodes"], "what": what, "bits": row[what]}
        for row in where(tables["states"].to_pylist(), grown="n")
        for what in ("counted", "formula")
        if row[what] is not None and row["scheme"] in _SCHEMES
    ]
    varied = [
        {**row, "scheme": _LABELS[row["scheme"]], "of": f"growing {what}", "count": row[what]}
        for row in where(tables["states"].to_pylist(), grown="s and r")
        for what, other in (("senders", "receivers"), ("receivers", "senders"))
        if row[other] == row["nodes"] and row["scheme"] in _SCHEMES
    ]
    order = [row for _, group in sorted(grouped(varied, "of", "scheme", "count").items()) for row in group[:1]]
    return [
        Chart(
            "memory", "State of all routers, counted and by the formula", as_table(points), "nodes", "bits",
            series="what", facet="scheme", x_log=True, y_log=True, x_title="nodes", y_title="bits",
            description="State by number of nodes, counted and by the paper's formula, for the scheme",
        ),
        Chart(
            "senders-receivers", "State as senders or receivers grow", as_table(order), "count", "counted",
            series="scheme", facet="of", x_log=True, y_log=True, x_title="senders or receivers", y_title="bits",
            description="State of each scheme by number of senders, and of receivers, in one network;",
        ),
    ]  # fmt: skip


EXPERIMENT = Experiment(
    name="2006-memory",
    title="The state of the schemes",
    paper="2006",
    section="§3",
    claims=(44, 54, 58, 59),
    scales={
        "quick": MemoryParameters2006("powerlaw", (20, 40, 80), 40),
        "full": MemoryParameters2006("powerlaw", (25, 50, 100, 200), 100),
        "paper": MemoryParameters2006("powerlaw", (25, 50, 100, 200, 400), 200),
    },
    run=_run,
    findings=_findings,
    charts=_charts,
    choices=(
        "O() is evaluated with constant 1, log2, and distances in hops; M_p is each predicate's own size.",
        "The paper has a formula of iPS for trees only, so none is shown.",
        "Each receiver has three filters of [2006 §4.2], from 50 uniform names; a constraint is one word of 64 bits.",
    ),
    inputs=("topology", "traces"),
)
