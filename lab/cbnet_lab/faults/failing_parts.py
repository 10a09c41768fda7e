"""Links and routers that fail under load: which ones, and the failures and repairs in turn.

link, silent-link   the link between the best-connected routers, through a relay that cuts or silences it
router, routers     one or several of the best-connected routers, killed and restarted in turn
random              up to half of the routers, the best-connected first, killed and restarted in random bursts

What fails never partitions the other routers. The death of a process is noticed at once; so with `random`, where many
routers share a busy machine, no link counts as dead only because its routers wait for a processor.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np

from cbnet.errors import InputError
from cbnet.network import ProcessNetwork
from cbnet.topology import Graph, bridges
from cbnet_lab.bench.network.throughput import PATIENT
from cbnet_lab.faults.relay import Relay

if TYPE_CHECKING:
    from cbnet_lab.bench.network.throughput import ThroughputPlan

KINDS = ("link", "silent-link", "router", "routers", "random")
START_S = 4.0  # seconds from the first message to the first failure
PAUSE_S = 7.0  # seconds from an event to the next
ROUTERS = 5  # that fail in turn
_BURST = 4  # kills and restarts in a random event, at most
_MAX_STEP_S = 1.0  # seconds between two of them
_TIMEOUT = 60.0  # seconds for the network to start


@dataclass(frozen=True)
class FailureAct:
    """Failures and repairs that happen at once, or before the network has converged."""

    pause: float  # seconds from the last act
    failures: int
    run: Callable[[], object]


def choose_victims(graph: Graph, kind: str) -> list[str]:
    """Return the routers that fail, or the name of the link."""
    if "link" in kind:
        return ["–".join(_link(graph))]
    order = np.argsort(-graph.degrees, kind="stable").tolist()
    if kind == "random":
        chosen = _removable_together(graph, order)
    else:
        chosen = [node for node in order if _is_connected_without(graph, {node})][: ROUTERS if kind == "routers" else 1]
    if not chosen or len(chosen) == len(graph):
        hint = "use a ring, or powerlaw:20"
        raise InputError("no router of this network can fail without partitioning it", hint=hint)
    return _names(graph, chosen)


@contextmanager
def failing_network(
    graph: Graph, plan: ThroughputPlan, kind: str, victims: Sequence[str], seconds: float
) -> Iterator[tuple[ProcessNetwork, Iterable[FailureAct]]]:
    """Start the routers; yield them, and what happens to the victims; seconds: until the last random failure."""
    patience: dict[str, Any] = {"dead": PATIENT, "silence": 2 * PATIENT} if kind == "random" else {}
    network = ProcessNetwork.of(graph, **patience, **plan.routing.settings)
    with ExitStack() as stack:
        stack.callback(network.close)
        if "link" not in kind:
            network.start(*network.settings)
            network.wait(_TIMEOUT)
            if kind == "random":
                yield network, _random_acts(network, victims, seconds, plan.seed)
            else:
                yield network, _acts([act for name in victims for act in _router_acts(network, name)])
            return
        near, far = _link(graph)  # the first dials the other
        relay = Relay(network.addresses[far])
        stack.callback(relay.close)
        network.relays[near, far] = relay.address
        network.start(*network.settings)
        network.wait(_TIMEOUT)
        yield network, _acts(_link_acts(network, relay, (near, far), is_silent=kind == "silent-link"))


# --- Acts


def _acts(functions: Sequence[Callable[[], object]]) -> list[FailureAct]:
    """Return the acts of functions that fail and repair something, in turn."""
    return [
        FailureAct(PAUSE_S if index else START_S, failures=1 - index % 2, run=run)
        for index, run in enumerate(functions)
    ]  # fmt: skip


def _router_acts(network: ProcessNetwork, name: str) -> list[Callable[[], object]]:
    return [lambda: network.kill(name), lambda: network.start(name)]


def _link_acts(
    network: ProcessNetwork, relay: Relay, link: tuple[str, str], *, is_silent: bool
) -> list[Callable[[], object]]:
    """Return the functions that fail and repair a link; meanwhile the network converges without it."""

    def fail() -> None:
        network.links.remove(link)
        (relay.silence if is_silent else relay.cut)()

    def repair() -> None:
        network.links.append(link)
        relay.repair()

    return [fail, repair]


def _random_acts(network: ProcessNetwork, victims: Sequence[str], seconds: float, seed: int) -> Iterator[FailureAct]:
    """Yield bursts of kills and restarts for some time, then the restart of those that do not run."""
    random = Random(f"kills {seed}")
    end = time.monotonic() + seconds
    running, killed = list(victims), list[str]()
    pause = START_S
    while time.monotonic() < end:
        steps: list[tuple[str, bool, float]] = []
        for _ in range(random.randint(1, _BURST)):
            is_kill = len(killed) * 2 < len(victims) and (not killed or random.random() < 0.5)
            source, target = (running, killed) if is_kill else (killed, running)
            target.append(source.pop(random.randrange(len(source))))
            steps.append((target[-1], is_kill, random.uniform(0.0, _MAX_STEP_S)))
        yield FailureAct(pause, sum(is_kill for _, is_kill, _ in steps), partial(_burst, network, steps))
        pause = random.uniform(0.0, PAUSE_S)
    if killed:
        yield FailureAct(pause, 0, partial(network.start, *killed))


def _burst(network: ProcessNetwork, steps: Sequence[tuple[str, bool, float]]) -> None:
    for name, is_kill, seconds in steps:
        (network.kill if is_kill else network.start)(name)
        time.sleep(seconds)


# --- What may fail


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
    """Return the first nodes, at most half, whose removal, all at once, leaves the others connected."""
    chosen: list[int] = []
    for node in order:
        if 2 * (len(chosen) + 1) <= len(graph) and _is_connected_without(graph, {*chosen, node}):
            chosen.append(node)
    return chosen


def _names(graph: Graph, nodes: Iterable[int]) -> list[str]:
    return [str(graph.name(node)) for node in nodes]


def _is_connected_without(graph: Graph, removed: set[int]) -> bool:
    left = [node for node in range(len(graph.names)) if node not in removed]
    reached = set(left[:1])
    for node in (waiting := left[:1]):  # grows during the loop
        for other in graph.neighbours(node).tolist():
            if other not in removed and other not in reached:
                reached.add(other)
                waiting.append(other)
    return len(left) > 1 and len(reached) == len(left)
