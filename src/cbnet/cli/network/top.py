"""`cbnet top`: live view, or one snapshot, of the routers of a network."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from cbnet.cli.console import new_grid, plural, print_json, print_note, results_console
from cbnet.cli.network.connection_options import ConnectionOptions
from cbnet.cli.options import JSON, flag, option
from cbnet.errors import CbnetError

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table

    from cbnet.network import Status
    from cbnet.network.client.router_status import RouterRates

    KeyReader = Callable[[float], str]

_SNAPSHOT_INTERVAL = 0.5  # seconds between the two samples of a snapshot
_DASH = "–"
# Fits 80 columns. `--json` has more.
_HEADS = ("links", "reach", "clients", "subs", "filters", "in/s", "out/s", "deliv.", "queued", "drops")
_COUNTERS = 5  # of these heads, the last ones and the first need the right `watch`
_INTERFACE_HEADS = ("neighbour", "trees", "routers", "held", "announced", "covered", "state")


def top(
    once: bool = flag("Print one snapshot and exit."),
    interfaces: bool = flag("Show the filters of each interface of each router.", name="--interfaces -i"),
    every: float = option(1.0, "S", "Refresh interval, in seconds.", least=0.2),
    json: bool = JSON,
    *,
    connection: ConnectionOptions,
) -> None:
    """Show the routers of a network: links, clients, filters and message rates. Press q to quit.

    With --json, print one snapshot with an object for each router.

    Example: cbnet top --network here
    """
    monitor = RouterMonitor(connection, shows_interfaces=interfaces)
    monitor.sample()
    if not (once or json) and sys.stdout.isatty():
        _show_live(monitor, every)
        return
    time.sleep(_SNAPSHOT_INTERVAL)
    rows = monitor.sample()
    if not any(row.answers for row in rows):
        raise CbnetError(f"no router answers at {', '.join(row.address for row in rows)}: {monitor.first_problem}")
    if json:
        for row in rows:
            print_json(row.members())
        return

    results_console().print(monitor.view())
    silent = [row.router for row in rows if not row.answers]
    if silent:
        print_note(f"no answer from {', '.join(silent)}: {monitor.first_problem}")
    if not all(row.is_detailed for row in rows):
        print_note("– marks values that need the right `watch`")


def _show_live(monitor: RouterMonitor, every: float) -> None:
    from rich.live import Live

    with _key_reader() as read_key, Live(monitor.view(), auto_refresh=False, screen=True) as live:
        try:
            while read_key(every) not in ("q", "Q", "\x1b"):
                monitor.sample()
                live.update(monitor.view(), refresh=True)
        except KeyboardInterrupt:
            return


@contextmanager
def _key_reader() -> Iterator[KeyReader]:
    """Yield a function that returns the key pressed within some seconds, or an empty string."""
    if not sys.stdin.isatty() or sys.platform == "win32":
        yield _sleep
        return
    import select
    import termios
    import tty

    def read_key(seconds: float) -> str:
        ready, _, _ = select.select([sys.stdin], [], [], seconds)
        return sys.stdin.read(1) if ready else ""

    before = termios.tcgetattr(sys.stdin)
    tty.setcbreak(sys.stdin)
    try:
        yield read_key
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)


def _sleep(seconds: float) -> str:
    time.sleep(seconds)
    return ""


class RouterMonitor:
    """The status of some routers, sampled again and again."""

    def __init__(self, connection: ConnectionOptions, *, shows_interfaces: bool = False) -> None:
        self._shows_interfaces = shows_interfaces
        self._routers, self._network = connection.routers()
        self._tls, self._token = connection.tls, connection.client_token
        self._last: dict[str, Status] = {}
        self.rows: list[RouterRates] = []
        self.first_problem = ""  # of the routers that do not answer

    def sample(self) -> Sequence[RouterRates]:
        """Ask all routers for their status."""
        from cbnet.network import statuses
        from cbnet.network.client.router_status import router_rates

        problems: list[str] = []
        answers = statuses(
            self._routers,
            network=self._network,
            tls=self._tls,
            token=self._token,
            on_failure=lambda _, error: problems.append(str(error)),
        )
        self.first_problem = next(iter(problems), "")
        self.rows = [
            router_rates(name, address, self._last.get(name), answers.get(name))
            for name, address in self._routers.items()
        ]
        self._last = answers
        return self.rows

    def view(self) -> Group:
        """Return the last sample as tables with their totals."""
        from rich.console import Group
        from rich.text import Text

        alive = [row for row in self.rows if row.answers]
        grid = new_grid("", "router", *_HEADS, rows=[(row.router, *_cells(row)) for row in self.rows], tight=True)
        grid.padding = (0, 0)
        reachable = max((row.reachable for row in alive), default=0)
        title = f"network {self._network}: {len(alive)} of {plural(len(self.rows), 'router')} answer"
        notes = [f"dropped: {line}" for line in _drop_lines(alive)]
        if reachable > len(self.rows):
            more = plural(reachable - len(self.rows), "more router")
            notes.append(f"{more} reachable: list addresses in --router, or use --network FOLDER")
        lines = [Text(note, style="yellow") for note in notes]
        more_grids = [_interface_grid(alive)] if self._shows_interfaces else []
        return Group(Text(title, style="bold"), Text(_totals(alive)), Text(), grid, *more_grids, *lines)


def _interface_grid(rows: Sequence[RouterRates]) -> Table:
    """Return the interfaces of all routers: what each neighbour announces, and what is announced to it."""
    cells = []
    for row in rows:
        for interface in row.interfaces:
            trees = ",".join(map(str, interface["trees"][:3])) + (",…" if len(interface["trees"]) > 3 else "")
            sizes = (_short(interface[name]) for name in ("routers", "held", "announced", "covered"))
            cells.append((row.router, interface["neighbour"], trees, *sizes, _interface_state(interface)))
    return new_grid("", "router", *_INTERFACE_HEADS, rows=cells, tight=True)


def _interface_state(interface: Mapping[str, Any]) -> str:
    if not interface["is_up"]:
        return "down"
    if not interface["is_heard"]:
        return "not heard"
    return "complete" if interface["is_acknowledged"] else "unacknowledged"


def _cells(row: RouterRates) -> list[str]:
    if not row.answers:
        return ["no answer", *[_DASH] * (len(_HEADS) - 1)]
    sizes = (len(row.neighbours), row.reachable, row.clients, row.subscriptions, row.filters)
    if not row.is_detailed:
        return [_DASH, *map(_short, sizes[1:]), *[_DASH] * _COUNTERS]
    counts = (row.delivered, row.waiting, sum((row.dropped or {}).values()))
    return [*map(_short, sizes), *map(_short, (row.in_per_s, row.out_per_s)), *map(_short, counts)]


def _short(count: float | None) -> str:
    """Return a number in at most six characters."""
    if count is None:
        return _DASH
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if count >= 10 * size:
            return f"{count / size:,.0f}{unit}"
    return f"{count:,.0f}"


def _totals(rows: Sequence[RouterRates]) -> str:
    received, sent = sum(row.in_per_s or 0 for row in rows), sum(row.out_per_s or 0 for row in rows)
    clients, subscriptions = sum(row.clients for row in rows), sum(row.subscriptions for row in rows)
    initial, to_initial = sum(row.initial for row in rows), sum(row.delivered_to_initial for row in rows)
    more = f"; {plural(initial, 'initial filter')}, {plural(to_initial, 'delivery')} to them" if initial else ""
    waiting = [row.router for row in rows if not row.is_complete]
    more += f"; announcements not yet complete at {', '.join(waiting[:3])}" if waiting else ""
    return (
        f"{plural(clients, 'client')}, {plural(subscriptions, 'subscription')}; "
        f"{received:,.0f} messages/s in, {sent:,.0f} out{more}"
    )


def _drop_lines(rows: Sequence[RouterRates]) -> list[str]:
    """Return the drops by reason, each with the router that has the most."""
    from cbnet.network.link.counters import drop_text

    reasons: dict[str, dict[str, int]] = {}
    for row in rows:
        for reason, count in (row.dropped or {}).items():
            reasons.setdefault(reason, {})[row.router] = count
    return [
        f"{sum(counts.values()):,} {drop_text(reason)} (most at {max(counts, key=lambda name: counts[name])})"
        for reason, counts in sorted(reasons.items())
    ]
