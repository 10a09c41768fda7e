"""Selection and schedule of the links and routers that fail under load.

link, silent-link   the link between the best-connected routers, through a relay that cuts or silences it
router, routers     one or several of the best-connected routers, killed and restarted in turn
random              up to half of the routers, the best-connected first, killed and restarted at random times

Failures never partition the other routers. The death of a process is noticed at once, without a timeout; so with
`random`, where many routers share a busy machine, no link is declared dead just because its routers wait for a
processor.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random

import numpy as np

from cbnet.errors import InputError
from cbnet.topology import Graph, bridges, components
from cbnet_lab.faults.driver.driver import Fault, FaultRate, random_schedule

KINDS = {"link": "cut", "silent-link": "silent cut", "router": "kill", "routers": "kill", "random": "kill"}
START_S = 4.0  # seconds from the first message to the first failure
PAUSE_S = 7.0  # seconds from a failure to the repair, and from there to the next failure
ROUTERS = 5  # routers that fail in turn
_KILLS = 0.3  # random kills per second


def failure_schedule(kind: str, victims: Sequence[str], seconds: float, seed: int) -> list[Fault]:
    """Return the failures of the victims; seconds: time until which random failures begin."""
    if kind == "random":
        rates = [FaultRate("kill", victims, _KILLS, PAUSE_S / 2)]
        return random_schedule(Random(f"kills {seed}"), rates, START_S, max(seconds, START_S + 1 / _KILLS))
    return [Fault(START_S + 2 * PAUSE_S * n, KINDS[kind], of, PAUSE_S) for n, of in enumerate(victims)]


def choose_victims(graph: Graph, kind: str) -> list[str]:
    """Return the routers that fail, or the name of the link that fails."""
    if kind not in KINDS:
        raise InputError(f"unknown failure {kind!r}", hint=f"use one of {', '.join(KINDS)}")
    if "link" in kind:
        return ["-".join(_link(graph))]
    order = np.argsort(-graph.degrees, kind="stable").tolist()
    if kind == "random":
        chosen = _removable_together(graph, order)
    else:
        chosen = [node for node in order if _is_connected_without(graph, [node])][: ROUTERS if kind == "routers" else 1]
    if not chosen or len(chosen) == len(graph):
        hint = "use a ring, or powerlaw:20"
        raise InputError("no router of this network can fail without partitioning it", hint=hint)
    return _names(graph, chosen)


def _link(graph: Graph) -> tuple[str, str]:
    """Return the link between the best-connected nodes whose removal leaves the network connected."""
    alone = {frozenset(pair) for pair in bridges(graph)}
    degrees = graph.degrees
    links = [(degrees[u] + degrees[v], u, v) for u, v, _ in graph.edges() if frozenset((u, v)) not in alone]
    if not links:
        raise InputError("every link of this network is a bridge", hint="use a ring, or powerlaw:20")
    _, u, v = max(links)
    a, b = sorted(_names(graph, (u, v)))
    return a, b


def _removable_together(graph: Graph, order: Sequence[int]) -> list[int]:
    """Return the first nodes, at most half, that can all be removed while the others stay connected."""
    chosen: list[int] = []
    for node in order:
        if 2 * (len(chosen) + 1) <= len(graph) and _is_connected_without(graph, [*chosen, node]):
            chosen.append(node)
    return chosen


def _names(graph: Graph, nodes: Iterable[int]) -> list[str]:
    return [str(graph.name(node)) for node in nodes]


def _is_connected_without(graph: Graph, removed: Iterable[int]) -> bool:
    left = np.ones(len(graph), dtype=bool)
    left[[*removed]] = False
    return left.sum() > 1 and len(components(graph.part(left))) == 1
