"""Options of a plan: each field carries the metadata of its command-line option.

    @dataclass(frozen=True)
    class RouterPlan:
        rounds: int = option(3, "N", "Rounds; the best one counts.", least=1)

`cli.bench.plan_command` makes the options of a command from such fields.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from cbnet.errors import InputError
from cbnet.network.protocol.fields import MAX_TREES

_PER_SOURCE = "pif"
OPTION: Final = "option"  # key of the metadata of a field
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


@dataclass(frozen=True)
class PlanOption:
    """An option of a command, for one field of its plan."""

    default: Any  # as it is written on a command line; `...`: required
    metavar: str
    help: str
    name: str | None = None  # several are separated by spaces; empty: an argument; None: from the name of the field
    raw: Any = None  # type on the command line; None: a text if it is parsed, else the type of the field
    parse: Callable[[str, Any], Any] | None = None  # called with the name of the option and its raw value
    shown: str | bool = True  # default in the help; a bool: whether to show the default
    least: float | None = None
    most: float | None = None


def option(default: Any, metavar: str, help: str, **more: Any) -> Any:
    """Return a field of a plan; more: the other attributes of its `PlanOption`."""
    about = PlanOption(default, metavar, help, **more)
    if default is ...:
        return field(metadata={OPTION: about})
    parse = about.parse
    if parse is None or default is None:
        return field(default=default, metadata={OPTION: about})
    return field(default_factory=lambda: parse(about.name or "", default), metadata={OPTION: about})


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
