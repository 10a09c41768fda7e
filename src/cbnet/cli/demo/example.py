"""The first part of the demo: fares and departures, highway and weather alerts, as in the papers' examples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cbnet.cli.console import new_grid

if TYPE_CHECKING:
    from rich.console import Console

    from cbnet.language import Message
    from cbnet.matching import Table

RECEIVERS = {
    "milan-deals": 'dest = "MXP" and price < 500',
    "ua-upgrades": 'airline = "UA" and upgradeable = true or airline = "UA" and #upgrade-sale',
    "denver-hub": 'orig = "DEN" or dest = "DEN" or airport = "DEN"',
    "red-eye": "departs >= 22 or departs < 5",
    "highway-control": 'alert = "congestion" and severity > 2 or alert = "accident"',
    "storm-watch": 'alert ^= "storm" and severity >= 4 or #red-alert',
    "press": '#public or headline *= "strike"',
    "fare-audit": "exists price",
}


def _flight(airline: str, orig: str, dest: str, price: float, departs: int, *tags: str, **more: Any) -> dict[str, Any]:
    flight = {"airline": airline, "orig": orig, "dest": dest, "price": price, "departs": departs, **more}
    return {**flight, "#": list(tags)} if tags else flight


def _alert(alert: str, severity: int, *tags: str, **more: Any) -> dict[str, Any]:
    return {"alert": alert, "severity": severity, **more, **({"#": list(tags)} if tags else {})}


# The first message is the one of [2002 §2]; its price of 600 does not match milan-deals.
MESSAGES: list[dict[str, Any]] = [
    _flight("UA", "DEN", "MXP", 600, 17, upgradeable=True),
    _flight("UA", "DEN", "MXP", 480, 22, upgradeable=False),
    _flight("AZ", "FCO", "MXP", 89.5, 7),
    _flight("LH", "FRA", "DEN", 710, 13),
    _flight("UA", "ORD", "SFO", 199, 6, "upgrade-sale", "public"),
    _flight("BA", "LHR", "JFK", 540, 18),
    _flight("UA", "SFO", "DEN", 150, 23, upgradeable=True),
    _flight("AF", "CDG", "MXP", 500, 9),
    _flight("DL", "ATL", "DEN", 230, 4),
    _flight("IB", "MAD", "EZE", 820, 23, "public"),
    _flight("UA", "DEN", "EWR", 310, 12, upgradeable=True),
    _flight("LX", "ZRH", "MXP", 120, 6),
    {"airline": "UA", "airport": "DEN", "gate": "B42", "status": "boarding"},
    {"airline": "LH", "airport": "FRA", "gate": "A7", "status": "delayed"},
    {"airport": "DEN", "headline": "de-icing slows departures", "#": ["public"]},
    {"airport": "MXP", "headline": "ground staff strike on Friday"},
    _alert("congestion", 3, location="highway1"),
    _alert("congestion", 2, location="highway7"),
    _alert("accident", 1, location="highway1"),
    _alert("accident", 5, "red-alert", "public", location="tunnel 4"),
    _alert("storm", 3, region="Lombardy"),
    _alert("storm-surge", 4, region="Liguria"),
    _alert("storm", 5, "public", region="Colorado", airport="DEN"),
    _alert("ice", 4, "red-alert", location="highway7"),
    _alert("congestion", 4, location="highway1", airport="DEN"),
    _alert("roadworks", 2, location="highway9"),
    {"alert": "congestion", "severity": "high", "location": "highway2"},
    {"price": 12, "item": "sandwich"},
    {"note": "no rule matches this one"},
    {"note": "all hands: network test tonight", "departs": 23, "#": ["red-alert"]},
]

# Messages, counted from 1, and receivers whose result the demo explains.
EXPLAINED = [(1, "milan-deals"), (2, "milan-deals"), (27, "highway-control"), (22, "storm-watch")]


def show_example(table: Table[str], messages: list[Message], console: Console) -> None:
    """Print the receivers, the messages, and why some are received."""
    console.print("\n[bold]cbnet[/]: receivers state rules, senders publish, and the content decides who receives.\n")
    show_receivers(table, messages, console)
    show_messages(table, messages, console)
    show_reasons(table, messages, console)
    deliveries = sum(len(table.match(message)) for message in messages)
    console.print(
        f"[bold]{len(messages)}[/] messages, [bold]{len(table)}[/] receivers, "
        f"[bold]{deliveries}[/] deliveries. "
        "Try your own: [cyan]cbnet check --help[/], [cyan]cbnet match --help[/]\n"
    )


def show_receivers(table: Table[str], messages: list[Message], console: Console) -> None:
    """Print the receivers and their predicates."""
    counts = {receiver: sum(receiver in table.match(message) for message in messages) for receiver in table}
    rows = [(receiver, table[receiver], count) for receiver, count in counts.items()]
    heads = ("receiver", "rule (predicate)", "received")
    console.print(new_grid("Receivers", *heads, rows=rows, text=heads[1:2]))


def show_messages(table: Table[str], messages: list[Message], console: Console) -> None:
    """Print the messages and their receivers."""
    rows = [
        (number, message, ", ".join(map(str, table.match(message))) or "none")
        for number, message in enumerate(messages, 1)
    ]
    heads = ("", "message", "receivers")
    console.print(new_grid("Messages", *heads, rows=rows, text=heads))


def show_reasons(table: Table[str], messages: list[Message], console: Console) -> None:
    """Explain some results."""
    from rich.padding import Padding
    from rich.text import Text

    console.print("[bold]Explanations[/]")
    for number, receiver in EXPLAINED:
        explanation = table.explain(messages[number - 1], receiver)
        style = "green" if explanation.matched else "yellow"
        console.print(Padding(Text(f"message {number}, {explanation}", style=style), (0, 2)))
    console.print()
