"""Bench numbers: which sizes may be asked for, and how are measurements written and compared?"""

from __future__ import annotations

from cbnet.errors import InputError

OWN = "F"  # as many interfaces as there are filters, or descriptors
_LONGEST = 18  # digits
_LONGEST_RUN = 3600  # seconds


def listed(option: str, said: str) -> list[int]:
    """Return the numbers that an option lists."""
    return [_whole(option, part.strip(), "write numbers with commas between them") for part in said.split(",")]


def listed_interfaces(said: str) -> list[int | None]:
    """Return the numbers of interfaces that `--interfaces` lists; None is one for each filter."""
    return [interface_count(part.strip(), "write numbers, or F, with commas between them") for part in said.split(",")]


def interface_count(said: str, hint: str = "write a number, or F: one for each filter") -> int | None:
    """Return the number of interfaces that `--interfaces` says; None is one for each filter."""
    return None if said == OWN else _whole("--interfaces", said, hint)


def _whole(option: str, said: str, hint: str) -> int:
    if not (said.isascii() and said.isdigit() and len(said) <= _LONGEST):
        raise InputError(f"{option}: {said!r} is not a number", hint=hint)
    return int(said)


def checked_seconds(seconds: float) -> float:
    """Return how long a measurement lasts at least, or say why it cannot."""
    if not 0 <= seconds <= _LONGEST_RUN:
        raise InputError(f"--seconds must be from 0 to {_LONGEST_RUN:,}, not {seconds:g}")
    return seconds


def over(one: float | None, other: float | None) -> float | None:
    """Return one measurement over another; None where one of them is not there."""
    return None if one is None or not other else one / other


def number(value: float | None) -> str:
    """Return a number with the digits that mean something."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
