"""The demo's network: does every node get just what it asked for? Routers that begin with what Spark found.

The folder that the pipeline wrote says what every node wants. Messages are published all over the network, and what
arrives is set against brute force: every message held against every filter in the folder.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from cbnet.errors import CbnetError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as Grid
    from rich.tree import Tree

    from cbnet.cli.console import StepReport
    from cbnet.language import Message, Predicate
    from cbnet.network import ProcessNetwork
    from cbnet.network.client.async_client import Traced
    from cbnet.network.client.delivery_probe import DeliveryCounts
    from cbnet.network.protocol.frames import Hop
    from cbnet.network.service.network_file import NetworkPlan

_MESSAGES = 400
_UNWANTED = "nobody asked for this"  # a tag
_SHOWN_RECEIVERS = range(3, 6)  # of the message whose way is shown
_FEW = 3  # neighbours that are named
_ELSEWHERE = (["it came from there"], ["nobody is reached by this way"])

Published = Sequence[tuple[str, "Message"]]  # where, and what


@dataclass(frozen=True)
class Verdict:
    """What arrived, set against brute force."""

    expected: int  # deliveries
    delivered: int
    missed: int
    spurious: int
    twice: int

    @property
    def is_good(self) -> bool:
        """Whether everybody got just what they asked for."""
        return self.delivered == self.expected and not (self.missed or self.spurious or self.twice)


@dataclass(frozen=True)
class NetworkStory:
    """A network that began with what the pipeline found, and what came of some messages."""

    plan: NetworkPlan
    filters: int
    seconds: float  # until all routers knew each other
    remarks: Sequence[str]  # what did not fit
    published: Published
    verdict: Verdict
    by_first_table: int  # matches
    shown: Message  # the message whose way is shown
    way: Traced

    @property
    def is_good(self) -> bool:
        """Whether all is as it should be."""
        return self.verdict.is_good and not self.remarks

    def members(self) -> dict[str, Any]:
        """Return the members of a JSON object."""
        verdict = self.verdict
        return {
            "routers": len(self.plan.graph), "links": self.plan.graph.edge_count, "filters": self.filters,
            "up_seconds": round(self.seconds, 1), "published": len(self.published),
            "expected": verdict.expected, "delivered": verdict.delivered, "missed": verdict.missed,
            "spurious": verdict.spurious, "twice": verdict.twice,
            "matched_by_first_tables": self.by_first_table, "remarks": list(self.remarks),
        }  # fmt: skip


def run_small_network(folder: Path, report: StepReport = lambda _: None, *, count: int = _MESSAGES) -> NetworkStory:
    """Start the network of a folder, publish messages, and say what came of them."""
    from cbnet.matching.reference import match
    from cbnet.network import ProcessNetwork, statuses
    from cbnet.network.client.delivery_probe import probe_deliveries
    from cbnet.network.link.counters import Event
    from cbnet.network.service.network_file import read_folder

    plan = read_folder(folder)
    predicates = written_predicates(folder)
    published = made_up(predicates, [str(name) for name in plan.graph.names], count)
    report(f"brute force: {len(published)} messages against every filter")
    wanted = [match(predicates, message) for _, message in published]
    report(f"starting {len(plan.graph)} routers")
    began = time.monotonic()
    with ProcessNetwork.of(plan.graph, ports=plan.ports, data=plan.data, **plan.settings) as network:
        network.wait(timeout=120)
        seconds = time.monotonic() - began
        number = _worth_showing(published, wanted)
        way = _traced(network, *published[number])
        report(f"publishing {len(published)} messages")
        received = probe_deliveries(network.addresses, published, sum(map(len, wanted)))
        found = statuses(network.addresses)
    used = sum(status.counters.get(Event.INITIAL_TABLE_MATCHES, 0) for status in found.values())
    filters = sum(map(len, predicates.values()))
    verdict, shown = judged(wanted, received), published[number][1]
    return NetworkStory(plan, filters, seconds, network.warnings, published, verdict, used, shown, way)


def written_predicates(folder: Path) -> dict[str, Predicate]:
    """Return what the pipeline wrote of each node, read as plainly as can be."""
    import pyarrow.parquet as pq

    from cbnet.language import Filter, Predicate

    tags: dict[tuple[str, int], list[str]] = {}
    for file in sorted((folder / "predicates.parquet").glob("*.parquet")):
        for row in pq.ParquetFile(file).read().to_pylist():
            tags.setdefault((row["interface"], row["filter"]), []).append(row["name"])
    filters: dict[str, list[Filter]] = {}
    for (node, _), names in tags.items():
        filters.setdefault(node, []).append(Filter((), names))
    return {node: Predicate(each) for node, each in filters.items()}


def made_up(predicates: Mapping[str, Predicate], routers: Sequence[str], count: int) -> list[tuple[str, Message]]:
    """Return messages with the tags of one to three filters of any nodes, each published at any router."""
    from cbnet.language import Message

    random = Random(1)
    filters = [filter for predicate in predicates.values() for filter in predicate.filters]
    if not filters:
        raise CbnetError("no node wants anything: there is nothing to show")
    published = []
    for number in range(count):
        chosen = random.choices(filters, k=random.randint(1, 3))
        tags = sorted({tag for filter in chosen for tag in filter.tags})
        tags = [*tags[:1], _UNWANTED] if number % 10 == 9 else tags  # most of these are for nobody
        published.append((random.choice(routers), Message({}, tags)))
    return published


def judged(wanted: Sequence[Sequence[str]], received: DeliveryCounts) -> Verdict:
    """Set what arrived against who wanted it, for each message."""
    expected = {(node, number) for number, nodes in enumerate(wanted) for node in nodes}
    delivered = expected & received.keys()
    return Verdict(
        len(expected),
        len(delivered),
        len(expected - received.keys()),
        sum(count for each, count in received.items() if each not in expected),
        sum(received[each] - 1 for each in delivered),
    )


def _worth_showing(published: Published, wanted: Sequence[Sequence[str]]) -> int:
    """Return the number of a message that goes to some nodes, not to very many, for reasons that differ."""
    tags = [message.tags for _, message in published]
    some = [number for number, nodes in enumerate(wanted) if len(nodes) in _SHOWN_RECEIVERS]
    return max(some, key=lambda number: (_UNWANTED not in tags[number], len(tags[number])), default=0)


def _traced(network: ProcessNetwork, router: str, message: Message) -> Traced:
    from cbnet.network import connect

    with connect(str(network.addresses[router])) as client:
        return client.trace(message.to_dict(), is_dry=True)


# --- shown


def show_small_network(story: NetworkStory, console: Console) -> None:
    """Tell what the network did, the way of one message, and the verdict."""
    from rich.text import Text

    graph, tables = story.plan.graph, story.plan.data.tables if story.plan.data else {}
    console.print(
        f"[bold]The same Internet, running[/]: {len(graph)} routers, each a process of its own, and {graph.edge_count}"
        f" links over TCP. They came up in {story.seconds:.1f} seconds. Each knew from the start what all nodes want,"
        f" {story.filters:,} filters in all; the {len(tables)} most central ones match by the tables that Spark"
        " compiled, checked against these filters.\n"
    )
    for remark in story.remarks:
        console.print(Text(remark, style="red"))
    console.print("[bold]The way of one message[/]:", Text(str(story.shown), style="cyan"))
    console.print(way_of(story.way), "")
    console.print(verdict_grid(story), "")
    if story.is_good:
        console.print("[bold green]Every node got just what it asked for.[/]")
    else:
        console.print("[bold red]This is not as it should be.[/]")
    console.print(
        "Run your own: [cyan]cbnet pipeline init[/], remove the # of \\[tables] and \\[live] in pipeline.toml,"
        " [cyan]cbnet pipeline run pipeline.toml[/], [cyan]cbnet up --fib run/live[/]\n"
    )


def verdict_grid(story: NetworkStory) -> Grid:
    """Return what came of all messages."""
    from rich.table import Table as Grid

    verdict = story.verdict
    grid = Grid(title="What arrived", title_style="bold", title_justify="left", show_header=False)
    grid.add_column()
    grid.add_column(justify="right")
    grid.add_column(style="dim")
    routers = len({router for router, _ in story.published})
    grid.add_row("published", f"{len(story.published):,}", f"messages, at {routers} routers")
    grid.add_row("wanted", f"{verdict.expected:,}", f"by brute force over all {story.filters:,} filters")
    grid.add_row("matched by first tables", f"{story.by_first_table:,}", "times, by what Spark compiled")
    good, bad = "bold green", "bold red"
    grid.add_row("delivered", f"{verdict.delivered:,}", style=good if verdict.is_good else "")
    for name, count in (("missed", verdict.missed), ("spurious", verdict.spurious), ("twice", verdict.twice)):
        grid.add_row(name, f"{count:,}", style=bad if count else good)
    return grid


def way_of(traced: Traced) -> Tree:
    """Return the tree of routers that a message passed, and who wanted it there."""
    from rich.tree import Tree

    first = traced.hops[0]
    tree = Tree(_at(first, "published at "))
    _grow(tree, first, traced)
    return tree


def _grow(tree: Tree, hop: Hop, traced: Traced) -> None:
    for branch in hop.branches:
        way = (hop.router, branch.neighbour)
        beyond = next((each for each in traced.hops if (each.came_from, each.router) == way), None)
        if branch.is_sent and beyond is not None:
            _grow(tree.add(_at(beyond)), beyond, traced)
    spared = [branch.neighbour for branch in hop.branches if not branch.is_sent and branch.why not in _ELSEWHERE]
    if spared:
        named = ", ".join(spared[:_FEW]) + (f" and {len(spared) - _FEW} more" if len(spared) > _FEW else "")
        tree.add(f"[dim]not to {named}: nobody wants it there[/]")


def _at(hop: Hop, before: str = "") -> str:
    from rich.markup import escape

    said = "; ".join(text.partition(": ")[2] for text in hop.delivered)
    return f"{before}router {hop.router}" + (f"  [green]wants {escape(said)}[/]" if said else "")
