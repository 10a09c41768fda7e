"""Text templates over metrics, for findings and charts.

    {gain:.0%}                          a number, formatted as by `str.format`
    {us:duration}, {postings:number}    a duration in µs, ms or s; a number such as 1,000 or 0.123
    {times:excess}                      the part of a factor beyond 1, such as 10% of 1.1
    {best.gain:.0%}                     a column of a row
    {gains:{gain:.0%} at {filters:,}}   rows, each by the template after the colon

Rows and lists are separated by commas, or by semicolons if one of them contains a comma.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from string import Formatter
from typing import Any

from cbnet_lab.experiments.curves import duration, format_number

_FORMS: Mapping[str, Callable[[float], str]] = {
    "duration": duration,
    "number": format_number,
    "excess": lambda factor: f"{factor - 1:.0%}",
}


class MissingValueError(LookupError):
    """A template has a field whose value is None: this run has no such number."""


def render(template: str, values: Mapping[str, Any], missing: str | None = None) -> str:
    """Return the text of a template; missing: the text of a field without a value, or None to raise an error."""
    parts = []
    for text, field, form, _ in Formatter().parse(template):
        value = None if field is None else look_up(field, values)
        parts.append(text)
        if field is not None:
            parts.append(missing if value is None and missing is not None else _format(value, form or ""))
    return "".join(parts)


def look_up(path: str, values: Any) -> Any:
    """Return the value at a path such as `best.gain` or `range.0`; of a list of rows, that of each row."""
    for name in path.split("."):
        if values is None:
            return None
        if isinstance(values, Mapping):
            values = values[name]
        elif name.isdecimal():
            values = values[int(name)]
        else:
            values = [row[name] for row in values]
    return values


def _format(value: Any, form: str) -> str:
    if value is None:
        raise MissingValueError
    if isinstance(value, list | tuple):
        texts = [render(form, each) if isinstance(each, Mapping) else _format(each, form) for each in value]
        return ("; " if any(", " in text for text in texts) else ", ").join(texts)
    return _FORMS[form](value) if form in _FORMS else format(value, form)
