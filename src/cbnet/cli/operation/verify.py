"""`cbnet verify`: compare the tables of a running network with those that are computed for it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from cbnet.cli.console import plural, print_json, print_note, progress_bar
from cbnet.cli.network.connection_options import ConnectionOptions
from cbnet.cli.options import JSON, option
from cbnet.errors import CbnetError

if TYPE_CHECKING:
    from cbnet.network.service.verification import TableDifference, Verification


def verify(
    fib: Path | None = option(
        None, "FOLDER", "Folder of a network built by the pipeline: compare with its compiled tables."
    ),
    json: bool = JSON,
    *,
    connection: ConnectionOptions,
) -> None:
    """Compare the table of every router of a running network with the computed one; fail (exit 1) if one differs.

    The tables are computed from the filters of all routers' own clients: give the addresses of all.

    Example: cbnet verify --network here
    """
    from cbnet.network.service.network_file import read_folder
    from cbnet.network.service.verification import verify as compare
    from cbnet.network.transport.event_loop import run

    routers, network = connection.routers()
    data = None if fib is None else read_folder(fib).data
    with progress_bar() as bar:
        task = bar.add_task("routers", total=2 * len(routers))
        comparing = compare(
            routers,
            network=network,
            tables=None if data is None else data.tables,
            tls=connection.tls,
            token=connection.client_token,
            report=lambda: bar.advance(task),
        )
        result = run(comparing)
    _print(result, as_json=json)
    if result.differences:
        raise CbnetError(f"{plural(len(result.differences), 'interface')} with another table than computed")


def _print(result: Verification, *, as_json: bool) -> None:
    if as_json:
        for each in result.differences:
            print_json(each._asdict())
        print_json(
            {
                "routers": result.routers,
                "interfaces": result.interfaces,
                "filters": result.filters,
                "unsettled": result.unsettled,
                "differences": len(result.differences),
            }
        )
        return
    for name in result.unsettled:
        print_note(f"router {name} is still adapting to a change: its table may differ")
    for each in result.differences:
        print(_text(each))
    print(
        f"{plural(result.routers, 'router')}, {plural(result.interfaces, 'interface')}, "
        f"{plural(result.filters, 'filter')} compared: {plural(len(result.differences), 'difference')}"
    )


def _text(each: TableDifference) -> str:
    kind = "offers" if each.are_offers else "subscriptions"
    examples = [f"lacks {text}" for text in each.missing] + [
        f"has {text}, which was not computed" for text in each.extra
    ]
    where = f"router {each.router}, tree of {each.root}, interface to {each.neighbour}"
    return f"{where}: {plural(each.differing, 'filter')} of {kind} differ: {'; '.join(examples)}"
