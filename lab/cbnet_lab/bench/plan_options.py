"""Options of several plans, and the values of options that are texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from cbnet.cli.options import option
from cbnet.errors import InputError
from cbnet.network.protocol.fields import MAX_TREES

_PER_SOURCE = "pif"
ONE_EACH: Final = "F"  # one interface per filter or descriptor
MASTER: Final = "Spark master: local[*], spark://host:7077, yarn or k8s://…"
REMOTE: Final = "Spark Connect server, such as sc://host:15002."
_MAX_DIGITS = 18
_MAX_SECONDS = 3600


@dataclass(frozen=True)
class Routing:
    """The trees of a network."""

    trees: int | None  # None: one for each source

    def __str__(self) -> str:
        return _PER_SOURCE if self.trees is None else str(self.trees)

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of each router."""
        return {"scheme": _PER_SOURCE} if self.trees is None else {"scheme": "multitree", "trees": self.trees}

    @classmethod
    def of(cls, option: str, text: str) -> Routing:
        """Return the routing of an option such as 4 or pif; option: its name."""
        if text == _PER_SOURCE:
            return cls(None)
        if not (text.isascii() and text.isdigit() and 1 <= len(text) <= 3 and 1 <= int(text) <= MAX_TREES):
            hint = f"write numbers from 1 to {MAX_TREES}, or {_PER_SOURCE} for a tree of each source"
            raise InputError(f"{option}: {text!r} is not a number of trees", hint=hint)
        return cls(int(text))


def seed(help: str = "Seed of the random generator.") -> Any:
    """Return the field of `--seed`, a whole number of at least 0."""
    return option(0, "N", help, name="--seed", raw=int, parse=_checked_seed)


def seconds(default: float = 0.3, help: str = "Minimum time of a measurement, in seconds.") -> Any:
    """Return the field of `--seconds`, the time of a measurement."""
    return option(default, "S", help, name="--seconds", raw=float, parse=_checked_seconds)


def _checked_seed(option: str, value: int) -> int:
    if value < 0:
        raise InputError(f"{option} must be an integer of at least 0, not {value}")
    return value


def _checked_seconds(option: str, value: float) -> float:
    if not 0 <= value <= _MAX_SECONDS:
        raise InputError(f"{option} must be from 0 to {_MAX_SECONDS:,}, not {value:g}")
    return value


# --- values of text options


def names(_option: str, text: str) -> tuple[str, ...]:
    """Return the names of a comma-separated list."""
    return tuple(part.strip() for part in text.split(","))


def numbers(option: str, text: str) -> tuple[int, ...]:
    """Return the numbers of a comma-separated list."""
    return tuple(_whole_number(option, part, "write numbers separated by commas") for part in names(option, text))


def routings(option: str, text: str) -> tuple[Routing, ...]:
    """Return the routings of a list such as 1,2,pif."""
    return tuple(Routing.of(option, part) for part in names(option, text))


def interface_counts(option: str, text: str) -> tuple[int | None, ...]:
    """Return numbers of interfaces; None means one per filter."""
    return tuple(interface_count(option, part) for part in names(option, text))


def interface_count(option: str, text: str) -> int | None:
    """Return a number of interfaces; None means one per filter."""
    return None if text == ONE_EACH else _whole_number(option, text, "write a number, or F for one per filter")


def _whole_number(option: str, text: str, hint: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS):
        raise InputError(f"{option}: {text!r} is not a number", hint=hint)
    return int(text)
