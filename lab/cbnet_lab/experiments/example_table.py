"""The example forwarding table of the papers [2001 Figure 4, 2002 Figure 2, 2003 Figure 3]."""

from __future__ import annotations

from cbnet.language import Predicate, parse

_TEXTS = {
    "I1": 'dest = "Milano" and price < 500 or stock = "DYS" and quantity > 1000 and price < 500',
    "I2": 'airline = "UA" and orig = "Denver" and dest = "Milano" or dest = "New York" and price < 200 '
    'or orig = "Denver" or airline = "UA" and upgradeable = true',
    "I3": 'stock = "MSFT" and price < 200',
}


def example_table() -> dict[str, Predicate]:
    """Return the predicate of each interface."""
    return {interface: parse(text) for interface, text in _TEXTS.items()}
