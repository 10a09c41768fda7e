"""Output of `cbnet lab simulate`: a row for each scheme, classes of senders, drawings."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from cbnet.cli.console import plural
from cbnet.errors import InputError
from cbnet.files import unwritable
from cbnet_lab.bench.result_table import Cell, ResultTable
from cbnet_lab.cli.bench.plan_command import print_results

if TYPE_CHECKING:
    from cbnet.language import Message
    from cbnet.routing import Network, Scheme

Row: TypeAlias = dict[str, Any]


def _decimals(name: str, digits: int) -> Cell[Row]:
    return lambda row: "-" if row[name] is None else f"{row[name]:,.{digits}f}"


_DELIVERIES: dict[str, Cell[Row]] = {
    **{name: name for name in ("scheme", "delivered", "missed", "spurious", "duplicates", "packets")},
    "stretch": _decimals("stretch_mean", 3),
    "max": _decimals("stretch_max", 3),
}
_STATE: dict[str, Cell[Row]] = {
    "scheme": "scheme",
    "header bytes": "header_bytes",
    "per packet": lambda row: f"{row['header_bytes'] / row['packets']:.2f}" if row["packets"] else "-",
    "state bits": "state_bits",
    "by formula": _decimals("state_bits_formula", 0),
}
_IDEAL: dict[str, Cell[Row]] = {
    "scheme": "scheme",
    "ideal": "ideal",
    "checked": "ideal_checked",
    "share": lambda row: f"{row['ideal'] / row['ideal_checked']:.1%}",
}
_PULLS: dict[str, Cell[Row]] = {
    **{name: name for name in ("choice", "answered", "unmatched", "missed")},
    "packets": "request_packets",
    "replies": "reply_packets",
    "extra": _decimals("extra_length", 2),
    "holders": "holders",
    "busiest": lambda row: f"{row['busiest']:.1%}",
}


def show_rows(rows: Sequence[Row], network: Network, topology: str, as_json: bool) -> None:
    """Print a row for each scheme, for people in tables under a line about the network."""
    filters = sum(map(len, network.predicates.values()))
    counts = (
        (len(network), "node"), (network.graph.edge_count, "edge"), (len(network.senders), "sender"),
        (len(network.receivers), "receiver"), (filters, "filter"), (rows[0]["messages"], "message"),
    )  # fmt: skip
    shown: list[str | ResultTable[Row]] = [f"{topology}: {', '.join(plural(*count) for count in counts)}\n"]
    shown += [ResultTable("Deliveries", rows, _DELIVERIES), ResultTable("Headers and state", rows, _STATE)]
    checked = [row for row in rows if "ideal" in row]
    if checked:
        shown.append(ResultTable("Ideal deliveries: latency-minimal with the fewest packets", checked, _IDEAL))
    print_results(rows, shown, as_json=as_json, tight=True)


def show_pulls(rows: Sequence[Row], topology: str, as_json: bool) -> None:
    """Print a row for each choice of a holder."""
    title = "Requests by choice of a holder; extra: length beyond the distance to the nearest holder"
    first = f"{topology}: {rows[0]['requests']:,} requests\n"
    print_results(rows, [first, ResultTable(title, rows, _PULLS)], as_json=as_json, tight=True)


def show_classes(network: Network, count: int, seed: int, as_json: bool) -> None:
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


def draw_delivery(path: Path, scheme: Scheme, traffic: Sequence[tuple[int, Message]]) -> None:
    """Draw the delivery of the first message with an interested node other than its sender."""
    from cbnet.routing import deliver
    from cbnet.routing.simulate.verdict import spurious_nodes
    from cbnet_lab.report.graph_drawing import draw_graph

    if path.suffix != ".svg":
        raise InputError("drawings are SVG files", hint=f"name it {path.stem}.svg", file=str(path))
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
