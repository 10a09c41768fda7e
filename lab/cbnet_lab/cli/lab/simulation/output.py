"""Output of `cbnet lab simulate`: a row for each scheme, classes of senders, drawings."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cbnet.cli.console import plural
from cbnet.errors import InputError
from cbnet.files import unwritable
from cbnet_lab.bench.result_table import Cell, ResultTable
from cbnet_lab.cli.bench.plan_command import print_results

if TYPE_CHECKING:
    from cbnet.language import Message
    from cbnet.routing import Network, Scheme, Totals
    from cbnet_lab.cli.lab.simulation.pull_totals import PullTotals


@dataclass(frozen=True)
class SchemeRow:
    """The results of one scheme."""

    scheme: str
    totals: Totals
    state_bits: int
    state_bits_formula: float | None
    is_estimated: bool  # whether the state is extrapolated from a sample of routers

    def members(self) -> dict[str, Any]:
        """Return the members of the JSON object."""
        totals = self.totals
        counts = ("messages", "delivered", "missed", "spurious", "duplicates", "packets")
        return {
            "scheme": self.scheme,
            **{name: getattr(totals, name) for name in counts},
            "stretch_mean": round(totals.stretch_mean, 6) if totals.delivered else None,
            "stretch_max": round(totals.stretch_max, 6) if totals.delivered else None,
            **({"ideal": totals.ideal, "ideal_checked": totals.ideal_checked} if totals.ideal_checked else {}),
            "header_bytes": totals.header_bytes,
            "state_bits": self.state_bits,
            "state_bits_formula": None if self.state_bits_formula is None else round(self.state_bits_formula),
            "state_bits_estimated": self.is_estimated,
        }


def show_rows(rows: Sequence[SchemeRow], network: Network, topology: str, *, as_json: bool) -> None:
    """Print a row for each scheme, for people in tables under a line about the network."""
    print_results([row.members() for row in rows], _shown(rows, network, topology), as_json=as_json, tight=True)


def _shown(rows: Sequence[SchemeRow], network: Network, topology: str) -> Iterator[str | ResultTable[SchemeRow]]:
    filters = sum(map(len, network.predicates.values()))
    counts = (
        (len(network), "node"), (network.graph.edge_count, "edge"), (len(network.senders), "sender"),
        (len(network.receivers), "receiver"), (filters, "filter"), (rows[0].totals.messages, "message"),
    )  # fmt: skip
    yield f"{topology}: {', '.join(plural(*count) for count in counts)}\n"
    yield from _tables(rows)


def _tables(rows: Sequence[SchemeRow]) -> Iterator[ResultTable[SchemeRow]]:
    counts = ("delivered", "missed", "spurious", "duplicates", "packets")
    yield ResultTable(
        "Deliveries", rows,
        {"scheme": "scheme"}
        | {name: lambda row, name=name: getattr(row.totals, name) for name in counts}
        | {
            "stretch": lambda row: f"{row.totals.stretch_mean:.3f}" if row.totals.delivered else "-",
            "max": lambda row: f"{row.totals.stretch_max:.3f}" if row.totals.delivered else "-",
        },
    )  # fmt: skip
    yield ResultTable(
        "Headers and state", rows,
        {
            "scheme": "scheme",
            "header bytes": lambda row: row.totals.header_bytes,
            "per packet": lambda row: _quotient(row.totals.header_bytes, row.totals.packets),
            "state bits": "state_bits",
            "by formula": lambda row: "-" if row.state_bits_formula is None else f"{row.state_bits_formula:,.0f}",
        },
    )  # fmt: skip
    if any(row.totals.ideal_checked for row in rows):
        yield ResultTable(
            "Ideal deliveries: latency-minimal with the fewest packets", rows,
            {
                "scheme": "scheme",
                "ideal": lambda row: row.totals.ideal,
                "checked": lambda row: row.totals.ideal_checked,
                "share": lambda row: f"{row.totals.ideal / max(1, row.totals.ideal_checked):.1%}",
            },
        )  # fmt: skip


def _quotient(part: int, whole: int) -> str:
    return f"{part / whole:.2f}" if whole else "-"


def show_pulls(totals: Mapping[str, PullTotals], topology: str, *, as_json: bool) -> None:
    """Print a row for each choice of a holder."""
    members = ("requests", "answered", "unmatched", "missed", "request_packets", "reply_packets")
    rows = [
        {"choice": choice, **{name: getattr(each, name) for name in members}}
        | {"holders": len(each.holders), "busiest": round(each.busiest, 6)}
        | {"extra_length": round(each.extra / max(1, each.answered), 6)}
        for choice, each in totals.items()
    ]
    columns: dict[str, Cell[dict[str, Any]]] = {
        "choice": "choice", "answered": "answered", "unmatched": "unmatched", "missed": "missed",
        "packets": "request_packets", "replies": "reply_packets", "extra": lambda row: f"{row['extra_length']:.2f}",
        "holders": "holders", "busiest": lambda row: f"{row['busiest']:.1%}",
    }  # fmt: skip
    title = "Requests by choice of a holder; extra: length beyond the distance to the nearest holder"
    shown: list[str | ResultTable[dict[str, Any]]] = [
        f"{topology}: {rows[0]['requests']:,} requests\n",
        ResultTable(title, rows, columns),
    ]
    print_results(rows, shown, as_json=as_json, tight=True)


def show_classes(network: Network, count: int, seed: int, *, as_json: bool) -> None:
    """Print the number of classes of senders at random routers and at the one with the most neighbours."""
    from cbnet.routing.schemes.source_classes import classes_at

    names, degrees, senders = network.graph.names, network.graph.degrees.tolist(), len(network.senders)
    chosen = random.Random(f"classes {seed}").sample(range(len(network)), min(count, len(network)))
    classes_by_router = classes_at(network.graph, sorted({*chosen, degrees.index(max(degrees))}), network.senders)
    rows = [
        {"router": names[u], "neighbours": degrees[u], "senders": senders, "classes": len(classes)}
        for u, classes in classes_by_router.items()
    ]
    title = "Classes of senders that a router cannot distinguish"
    print_results(rows, [ResultTable(title, rows, {name: name for name in rows[0]})], as_json=as_json, tight=True)


def check_drawing(path: Path, network: Network) -> None:
    """Check before a long run that the drawing can be written."""
    from cbnet_lab.report import check_drawable

    check_drawable(network.graph)
    problem = None
    if path.is_dir():
        problem = "Is a directory"
    elif not path.parent.is_dir():
        problem = "there is no such folder"
    elif not os.access(path if path.exists() else path.parent, os.W_OK):
        problem = "Permission denied"
    if problem:
        raise InputError(f"cannot write: {problem}", file=str(path))
    if path.suffix != ".svg":
        raise InputError("drawings are SVG files", hint=f"name it {path.with_suffix('.svg').name}", file=str(path))


def draw_delivery(path: Path, scheme: Scheme, traffic: Sequence[tuple[int, Message]]) -> None:
    """Draw the delivery of the first message with an interested node other than its sender."""
    from cbnet.routing import deliver
    from cbnet.routing.simulate.verdict import spurious_nodes
    from cbnet_lab.report import draw_graph

    network = scheme.network
    received = (each for each in traffic if set(network.interested(each[1])) - {each[0]})
    source, message = next(received, traffic[0])
    delivery = deliver(scheme, source, message)
    drawing = draw_graph(
        network.graph,
        title=f"{scheme.name}: {message} from {network.graph.name(source)}",
        source=source,
        interested=network.interested(message),
        hops=delivery.edges,
        spurious=spurious_nodes(network, delivery),
    )
    try:
        path.write_text(drawing, encoding="utf-8")
    except OSError as error:
        raise unwritable(path, error) from None
