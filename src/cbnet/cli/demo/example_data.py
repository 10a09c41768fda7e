"""Receivers and messages of the demo: fares and departures, highway and weather alerts, as in the papers' examples."""

from __future__ import annotations

from typing import Any

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
EXPLAINED = [
    (1, "milan-deals"),
    (2, "milan-deals"),
    (27, "highway-control"),
    (22, "storm-watch"),
]
