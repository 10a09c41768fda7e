"""State of each scheme in growing networks, counted and by the formulas of [2006 §3]."""

from __future__ import annotations

from collections.abc import Iterator
from math import log2

import numpy as np

from cbnet.language import Predicate
from cbnet.matching.storage.arrow_filters import columns_from_arrow
from cbnet.routing import Network, scheme
from cbnet.routing.multitree.tree_sides import lengths_on_tree
from cbnet.routing.router_state import WORD_BITS, alpha
from cbnet.routing.schemes.unicast import OneTree, ShortestPaths
from cbnet.topology import Graph, distances, topology
from cbnet_lab.experiments.curves import Metrics, Row, grouped, slope, where
from cbnet_lab.experiments.experiment import ExperimentContext, Parameters, Results, Rows, experiment
from cbnet_lab.workload import Disjunction2006, predicates

_SCHEMES = ("psf", "ips", "pif", "drp")
_LABELS = {"psf": "PSF", "ips": "iPS", "pif": "PIF", "drp": "DRP"}
_INTERNET = "--topology"
_TOO = {
    "ips": "iPS too, as the best connected routers, which hold most state, distinguish nearly all sources",
    "pif": "PIF too",
    "drp": "DRP too, as every sender holds the predicate of every receiver: s·r·M_p, though not at each hop",
}


def _run(parameters: Parameters, context: ExperimentContext) -> Results:
    grown = [(nodes, 1.0, 1.0) for nodes in parameters.nodes]
    varied = [(parameters.varied, share, 1.0) for share in parameters.shares]
    varied += [(parameters.varied, 1.0, share) for share in parameters.shares[:-1]]
    states: list[Row] = []
    hops: list[Row] = []
    unicasts: list[Row] = []
    cases = [("n", case) for case in grown] + [("s and r", case) for case in varied]
    for what, (nodes, senders, receivers) in context.track(cases, lambda case: f"{case[1][0]} nodes"):
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
    return {"states": states, "hops": hops, "unicasts": unicasts}


def _network(
    graph: Graph, parameters: Parameters, senders: float, receivers: float, context: ExperimentContext
) -> Network:
    """Return a network with predicates of [§4.2]; the first nodes of a random order send and receive."""
    order = np.random.default_rng(context.seed).permutation(len(graph)).tolist()
    mix = Disjunction2006(
        parameters.filters * len(graph), parameters.names, terms=context.news_terms, seed=context.seed
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
    """Return the receivers in PSF's tables and their words, by source, compared with distances found without trees."""
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


def _metrics(rows: Rows, _: Parameters) -> Metrics:
    schemes = [_exponents(name, rows["states"]) for name in _SCHEMES]
    return {
        "hops": rows["hops"],
        "wrong_sources": sum(row["wrong_sources"] for row in rows["hops"]),
        "pif": _shares(rows["states"], "pif"),
        "printed": _shares(rows["states"], "pif, as printed"),
        "drp": _shares(rows["states"], "drp"),
        "trades": [_trade(group) for group in grouped(rows["unicasts"], "graph").values()],
        "schemes": schemes,
        "psf": where(schemes, scheme="PSF")[0],
        "others": [row for row in schemes if row["scheme"] != "PSF"],
        "by_bits": sorted(schemes, key=lambda row: -row["bits"]),
        "nodes": max(row["nodes"] for row in where(rows["states"], grown="n")),
    }


def _shares(rows: list[Row], name: str) -> Row:
    """Return counted state divided by the formula, over all numbers of nodes, and the exponent of n in it."""
    shares = {row["nodes"]: row["counted"] / row["formula"] for row in where(rows, scheme=name, grown="n")}
    return {"least": min(shares.values()), "most": max(shares.values()), "growth": slope(shares)}


def _trade(rows: list[Row]) -> Row:
    """Return the identifiers and the stretch of next hops along one tree, in the largest network."""
    last = {row["unicast"]: row for row in where(rows, nodes=max(row["nodes"] for row in rows))}
    tree = last["tree"]
    return {
        "graph": tree["graph"], "nodes": tree["nodes"], "stretch": tree["stretch"],
        "identifiers": tree["identifiers"] / last["shortest"]["identifiers"],
    }  # fmt: skip


def _exponents(name: str, rows: list[Row]) -> Row:
    """Return the exponents of senders and receivers in the state of a scheme, and its bits in the largest network."""
    varied, grown = where(rows, scheme=name, grown="s and r"), where(rows, scheme=name, grown="n")
    senders = slope({row["senders"]: row["counted"] for row in varied if row["receivers"] == row["nodes"]})
    receivers = slope({row["receivers"]: row["counted"] for row in varied if row["senders"] == row["nodes"]})
    return {
        "scheme": _LABELS[name], "senders": senders, "receivers": receivers, "both": min(senders, receivers),
        "bits": max(grown, key=lambda row: int(row["nodes"]))["counted"], "too": _TOO.get(name, ""),
    }  # fmt: skip


def _charts(rows: Rows, _: Parameters) -> dict[str, list[Row]]:
    states = [{**row, "scheme": _LABELS[row["scheme"]]} for row in rows["states"] if row["scheme"] in _SCHEMES]
    varied = [
        {**row, "of": f"growing {what}", "count": row[what]}
        for row in where(states, grown="s and r")
        for what, other in (("senders", "receivers"), ("receivers", "senders"))
        if row[other] == row["nodes"]
    ]
    order = [row for _, group in sorted(grouped(varied, "of", "scheme", "count").items()) for row in group[:1]]
    return {"memory": where(states, grown="n"), "senders-receivers": order}


EXPERIMENT = experiment("2006-memory", _run, _metrics, _charts)
