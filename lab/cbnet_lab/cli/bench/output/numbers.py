"""Parsing of size options, and formatting of measurements."""

from __future__ import annotations

from typing import Annotated

import typer

from cbnet.errors import InputError

ONE_EACH = "F"  # one interface per filter or descriptor
_MAX_DIGITS = 18
_MAX_SECONDS = 3600


def parse_numbers(option: str, text: str) -> list[int]:
    """Return the numbers of a comma-separated option."""
    return [_whole_number(option, part.strip(), "write numbers separated by commas") for part in text.split(",")]


def parse_interface_counts(text: str) -> list[int | None]:
    """Return the numbers of `--interfaces`; None means one per filter."""
    return [parse_interface_count(part.strip(), "write numbers or F, separated by commas") for part in text.split(",")]


def parse_interface_count(text: str, hint: str = "write a number, or F for one per filter") -> int | None:
    """Return one number of `--interfaces`; None means one per filter."""
    return None if text == ONE_EACH else _whole_number("--interfaces", text, hint)


def _whole_number(option: str, text: str, hint: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS):
        raise InputError(f"{option}: {text!r} is not a number", hint=hint)
    return int(text)


def checked_seconds(seconds: float) -> float:
    """Return the minimum time of a measurement, checked."""
    if not 0 <= seconds <= _MAX_SECONDS:
        raise InputError(f"--seconds must be from 0 to {_MAX_SECONDS:,}, not {seconds:g}")
    return seconds


MeasurementSeconds = Annotated[
    float,
    typer.Option("--seconds", callback=checked_seconds, metavar="S", help="Minimum time of a measurement, in seconds."),
]


def ratio(one: float | None, other: float | None) -> float | None:
    """Return the quotient of two measurements; None if one is missing."""
    return None if one is None or not other else one / other


def number(value: float | None) -> str:
    """Return a number with three significant digits, or all digits of the whole part."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
