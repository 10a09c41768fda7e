"""Output of `cbnet lab simulate`: a row for each scheme, classes of senders, drawings."""

from __future__ import annotations

import os
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cbnet.cli.console import add_cells, new_grid, plural, print_json, results_console
from cbnet.errors import InputError
from cbnet.files import unwritable

if TYPE_CHECKING:
    from rich.table import Table as Grid

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
    """Print a row for each scheme, for people in two tables under a line about the network."""
    if as_json:
        for row in rows:
            print_json(row.members())
        return
    filters = sum(map(len, network.predicates.values()))
    counts = (
        (len(network), "node"), (network.graph.edge_count, "edge"), (len(network.senders), "sender"),
        (len(network.receivers), "receiver"), (filters, "filter"), (rows[0].totals.messages, "message"),
    )  # fmt: skip
    print(f"{topology}: {', '.join(plural(*count) for count in counts)}\n")
    _print("Deliveries", _deliveries(rows))
    _print("Headers and state", _sizes(rows))
    if any(row.totals.ideal_checked for row in rows):
        _print("Ideal deliveries: latency-minimal with the fewest packets", _ideal(rows))


def _deliveries(rows: Sequence[SchemeRow]) -> Grid:
    grid = new_grid(
        "", "scheme", "delivered", "missed", "spurious", "duplicates", "packets", "stretch", "max", tight=True
    )
    for row in rows:
        totals = row.totals
        counts = (totals.delivered, totals.missed, totals.spurious, totals.duplicates, totals.packets)
        stretches = (totals.stretch_mean, totals.stretch_max)
        shown = (f"{stretch:.3f}" if totals.delivered else "-" for stretch in stretches)
        add_cells(grid, row.scheme, *(f"{count:,}" for count in counts), *shown)
    return grid


def _sizes(rows: Sequence[SchemeRow]) -> Grid:
    grid = new_grid("", "scheme", "header bytes", "per packet", "state bits", "by formula", tight=True)
    for row in rows:
        header_bytes, packets = row.totals.header_bytes, row.totals.packets
        add_cells(
            grid,
            row.scheme,
            f"{header_bytes:,}",
            f"{header_bytes / packets:.2f}" if packets else "-",
            f"{row.state_bits:,}",
            "-" if row.state_bits_formula is None else f"{row.state_bits_formula:,.0f}",
        )
    return grid


def _ideal(rows: Sequence[SchemeRow]) -> Grid:
    grid = new_grid("", "scheme", "ideal", "checked", "share", tight=True)
    for row in rows:
        ideal, checked = row.totals.ideal, row.totals.ideal_checked
        add_cells(grid, row.scheme, f"{ideal:,}", f"{checked:,}", f"{ideal / max(1, checked):.1%}")
    return grid


def show_pulls(totals: Mapping[str, PullTotals], topology: str, *, as_json: bool) -> None:
    """Print a row for each choice of a holder."""
    columns = ("requests", "answered", "unmatched", "missed", "request_packets", "reply_packets")
    rows = {
        choice: {name: getattr(each, name) for name in columns}
        | {"holders": len(each.holders), "busiest": round(each.busiest, 6)}
        | {"extra_length": round(each.extra / max(1, each.answered), 6)}
        for choice, each in totals.items()
    }
    if as_json:
        for choice, row in rows.items():
            print_json({"choice": choice, **row})
        return
    grid = new_grid(
        "", "choice", "answered", "unmatched", "missed", "packets", "replies", "extra", "holders", "busiest", tight=True
    )
    for choice, row in rows.items():
        counts = [f"{row[name]:,}" for name in columns[1:]]
        add_cells(grid, choice, *counts, f"{row['extra_length']:.2f}", f"{row['holders']:,}", f"{row['busiest']:.1%}")
    print(f"{topology}: {next(iter(rows.values()))['requests']:,} requests\n")
    _print("Requests by choice of a holder; extra: length beyond the distance to the nearest holder", grid)


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
    if as_json:
        for row in rows:
            print_json(row)
        return
    grid = new_grid("", *rows[0], tight=True)
    for row in rows:
        add_cells(grid, *row.values())
    _print("Classes of senders that a router cannot distinguish", grid)


def _print(title: str, grid: Grid) -> None:

    results_console().print(f"[bold]{title}[/]", grid, "")


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
