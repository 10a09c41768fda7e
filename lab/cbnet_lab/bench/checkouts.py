"""A benchmark of two checkouts in turn, to measure the cost of a change.

    this  other  this  other  …        each a process of its own, so that noise affects both alike

The ratio of a figure is the ratio of the medians of both checkouts. Its *spread* is the greatest ratio between two runs
of the same checkout: a ratio within the spread may be noise. Rows and figures come from the JSON Lines of any
benchmark: numbers that differ between runs are figures; members that are the same in all runs name the row.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any

from cbnet.errors import CbnetError, InputError
from cbnet_lab.bench.plans import ComparePlan, Report
from cbnet_lab.bench.result_table import ResultTable, shown, shown_columns

JsonRow = Mapping[str, Any]


@dataclass(frozen=True)
class Figure:
    """A figure of one row, in both checkouts."""

    row: str = shown("row")
    figure: str = shown("figure")
    this: float = shown("this")  # median of all runs
    other: float = shown("other")
    ratio: float = shown("this / other")
    spread_this: float = shown("spread, this")  # greatest ratio between two runs of this checkout
    spread_other: float = shown("spread, other")
    is_within: bool = shown("within")  # whether the ratio is within the greater spread


def run(plan: ComparePlan, report: Report) -> Iterator[Figure]:
    """Run the benchmark of both checkouts in turn, and compare all figures."""
    sides = {"this": sys.executable, "other": _interpreter(Path(plan.checkout))}
    runs: dict[str, list[list[JsonRow]]] = {name: [] for name in sides}
    for number in range(plan.rounds):
        for name, python in sides.items():
            report(f"round {number + 1} of {plan.rounds}, {name} checkout")
            runs[name].append(_rows(python, plan.command))
    yield from figures(runs["this"], runs["other"], plan.figures)


def _interpreter(checkout: Path) -> str:
    python = checkout / ".venv" / "bin" / "python" if checkout.is_dir() else checkout
    if not python.is_file():
        raise InputError(f"no Python interpreter {python}", hint="give a checkout with a .venv, or an interpreter")
    return str(python.absolute())


def _rows(python: str, command: Sequence[str]) -> list[JsonRow]:
    ran = subprocess.run(
        [python, "-m", "cbnet", "bench", *command, "--json"],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )  # fmt: skip
    rows: list[JsonRow] = [json.loads(line) for line in ran.stdout.splitlines()]
    if ran.returncode:
        reason = next((row["error"] for row in rows if "error" in row), ran.stderr.strip() or "no reason given")
        raise CbnetError(f"{python} -m cbnet bench {' '.join(command)} failed: {reason}")
    return rows


def figures(
    this: Sequence[Sequence[JsonRow]], other: Sequence[Sequence[JsonRow]], chosen: Sequence[str] | None = None
) -> Iterator[Figure]:
    """Yield the figures of all rows; this, other: the rows of each run. chosen: names of figures; None: all."""
    if len({len(rows) for rows in (*this, *other)}) != 1:
        raise CbnetError("the runs have different numbers of rows")
    places = range(len(this[0]))
    fixed = [_fixed([rows[place] for rows in (*this, *other)]) for place in places]
    names = _naming(fixed)
    for place in places:
        label = ", ".join(f"{key} {fixed[place][key]}" for key in names if key in fixed[place])
        for key in this[0][place]:
            if key in fixed[place] or (chosen is not None and key not in chosen):
                continue
            ours, theirs = ([rows[place].get(key, 0) for rows in side] for side in (this, other))
            if all(map(_is_positive, ours + theirs)) and len({*ours, *theirs}) > 1:
                yield _figure(label, key, ours, theirs)


def _fixed(rows: Sequence[JsonRow]) -> dict[str, Any]:
    """Return the members that are the same in all runs and name a row."""
    first = rows[0]
    return {
        key: value
        for key, value in first.items()
        if isinstance(value, str | int) and all(key in row and row[key] == value for row in rows)
    }


def _naming(rows: Sequence[JsonRow]) -> list[str]:
    """Return the first members that together distinguish all rows, or as many rows as possible."""
    names: list[str] = []
    for key in dict.fromkeys(key for row in rows for key in row):
        if _distinct(rows, [*names, key]) > _distinct(rows, names):
            names.append(key)
    return names


def _distinct(rows: Sequence[JsonRow], names: Sequence[str]) -> int:
    return len({tuple(row.get(name) for name in names) for row in rows})


def _is_positive(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0


def _figure(row: str, name: str, this: Sequence[float], other: Sequence[float]) -> Figure:
    ratio = median(this) / median(other)
    spreads = [max(side) / min(side) for side in (this, other)]
    is_within = 1 / max(spreads) <= ratio <= max(spreads)
    return Figure(row, name, median(this), median(other), ratio, spreads[0], spreads[1], is_within)


def tables(plan: ComparePlan, rows: Sequence[Figure]) -> Iterator[str | ResultTable[Any]]:
    """Yield the ratio of each figure of each row, and a summary of each figure."""
    yield f"this checkout over {plan.checkout}, {plan.rounds} runs of each in turn: {' '.join(plan.command)}\n"
    title = "Medians; spread: the greatest ratio between two runs of the same checkout"
    yield ResultTable(title, rows, shown_columns(Figure))
    names = dict.fromkeys(row.figure for row in rows)
    yield ResultTable("Over all rows", [[row for row in rows if row.figure == name] for name in names], {
        "figure": lambda rows: rows[0].figure,
        "rows": len,
        "geometric mean": lambda rows: geometric_mean(row.ratio for row in rows),
        "least": lambda rows: min(row.ratio for row in rows),
        "greatest": lambda rows: max(row.ratio for row in rows),
        "greatest spread": lambda rows: max(max(row.spread_this, row.spread_other) for row in rows),
        "rows outside of their spread": lambda rows: sum(not row.is_within for row in rows),
    })  # fmt: skip
