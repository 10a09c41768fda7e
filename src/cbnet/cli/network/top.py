"""`cbnet top`: how are the routers of a network now? A live view, or one snapshot."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from cbnet.cli.console import AsJson, counted, print_json, print_remark
from cbnet.cli.network.connection_options import (
    NOBODY,
    AnyRouter,
    Authority,
    Certificate,
    Folder,
    Identity,
    Key,
    NetworkName,
    TokenOption,
    routers_meant,
)
from cbnet.errors import CbnetError

if TYPE_CHECKING:
    from rich.console import Group

    from cbnet.network import Address, Status
    from cbnet.network.client.status_rates import RouterRates

_BETWEEN = 0.5  # seconds between the two looks of a snapshot
_DASH = "–"


def top(
    router: AnyRouter = None,
    network: Folder = None,
    once: Annotated[bool, typer.Option("--once", help="Print one snapshot and end.")] = False,
    every: Annotated[float, typer.Option("--every", min=0.2, help="Seconds between two looks.")] = 1.0,
    network_name: NetworkName = "cbnet",
    tls_authority: Authority = None,
    certificate: Certificate = None,
    key: Key = None,
    token: TokenOption = None,
    json: AsJson = False,
) -> None:
    """Show all routers of a network: who is there, what they hold, what they do in a second. Ctrl-C ends it.

    With --json, one snapshot is printed, an object for each router.

    Example: cbnet top --network here
    """
    identity = Identity(tls_authority, certificate, key, token)
    watch = Watch(*routers_meant(router, network, network_name), identity)
    watch.look()
    if not (once or json) and sys.stdout.isatty():
        _show_live(watch, every)
        return
    time.sleep(_BETWEEN)
    rows = watch.look()
    if not any(row.answers for row in rows):
        raise CbnetError(f"no router answers at {', '.join(row.address for row in rows)}")
    if json:
        for row in rows:
            print_json(row.members())
        return
    from rich.console import Console

    Console(highlight=False).print(watch.view())
    silent = [row.router for row in rows if not row.answers]
    if silent:
        print_remark(f"no answer from {', '.join(silent)}: ended, stopped, or too busy to answer in 2 s")
    if not all(row.is_detailed for row in rows):
        print_remark("a dash is what is not told to this client: it needs the right `watch`")


def _show_live(watch: Watch, every: float) -> None:
    from rich.live import Live

    with Live(watch.view(), auto_refresh=False, screen=True) as live:
        try:
            while True:
                time.sleep(every)
                watch.look()
                live.update(watch.view(), refresh=True)
        except KeyboardInterrupt:
            return


class Watch:
    """Routers that are looked at again and again."""

    def __init__(self, routers: dict[str, Address], network: str, identity: Identity = NOBODY) -> None:
        self._routers = routers
        self._network = network
        self._tls, self._token = identity.tls, identity.token
        self._before: dict[str, Status] = {}
        self.rows: list[RouterRates] = []

    def look(self) -> Sequence[RouterRates]:
        """Ask all routers how they are."""
        from cbnet.network import statuses
        from cbnet.network.client.status_rates import router_rates

        found = statuses(self._routers, network=self._network, tls=self._tls, token=self._token)
        self.rows = [
            router_rates(name, where, self._before.get(name), found.get(name)) for name, where in self._routers.items()
        ]  # fmt: skip
        self._before = found
        return self.rows

    def view(self) -> Group:
        """Return what was seen last, as it is shown."""
        from rich.console import Group
        from rich.text import Text

        from cbnet.cli.grids import add_cells, new_grid

        here = [row for row in self.rows if row.answers]
        heads = ("neigh.", "reach", "clients", "subs", "records", "filters", "in/s", "out/s", "matched", "delivered")
        grid = new_grid("", "router", *heads, "waiting", "dropped", tight=True)
        for row in self.rows:
            add_cells(grid, row.router, *_cells(row))
        title = f"network {self._network}: {len(here)} of {counted(len(self.rows), 'router')} answer"
        reasons = [Text(f"dropped: {line}", style="yellow") for line in _reasons(here)]
        return Group(Text(title, style="bold"), Text(_sums(here)), Text(), grid, *reasons)


def _cells(row: RouterRates) -> list[str]:
    if not row.answers:
        return ["no answer", *[_DASH] * 11]
    sizes = (len(row.neighbours), row.reachable, row.clients, row.subscriptions, row.records, row.filters)
    told = [f"{each:,}" for each in sizes]
    if not row.is_detailed:
        return [*told, *[_DASH] * 6]
    speed = [_DASH if each is None else f"{each:,.0f}" for each in (row.in_per_s, row.out_per_s)]
    counts = (row.matched, row.delivered, row.waiting, sum((row.dropped or {}).values()))
    return [*told, *speed, *(f"{each:,}" for each in counts)]


def _sums(rows: Sequence[RouterRates]) -> str:
    into, out = sum(row.in_per_s or 0 for row in rows), sum(row.out_per_s or 0 for row in rows)
    clients, subscriptions = sum(row.clients for row in rows), sum(row.subscriptions for row in rows)
    loaded, to_loaded = sum(row.loaded for row in rows), sum(row.delivered_to_loaded for row in rows)
    begun = f"; {counted(loaded, 'filter')} loaded, {counted(to_loaded, 'delivery')} to them" if loaded else ""
    return (
        f"{counted(clients, 'client')}, {counted(subscriptions, 'subscription')}; "
        f"{into:,.0f} messages/s in, {out:,.0f} out{begun}"
    )  # fmt: skip


def _reasons(rows: Sequence[RouterRates]) -> list[str]:
    """Return what was dropped for which reason, and where."""
    from cbnet.network.link.counters import drop_text

    where: dict[str, dict[str, int]] = {}
    for row in rows:
        for reason, count in (row.dropped or {}).items():
            where.setdefault(reason, {})[row.router] = count
    return [
        f"{sum(counts.values()):,} {drop_text(reason)} (most at {max(counts, key=lambda name: counts[name])})"
        for reason, counts in sorted(where.items())
    ]
