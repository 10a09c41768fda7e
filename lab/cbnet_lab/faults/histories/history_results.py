"""Results of many histories: one line of JSON for each, written as it ends, so that a run can be continued later."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from cbnet.errors import InputError
from cbnet_lab.faults.histories.history_findings import HistoryFindings

_MAX_EXAMPLES = 3  # of each kind of violation
COUNTS = ("published", "stored", "silent", "refused", "due", "replayed", "received", "repeated")


class HistoryResult(msgspec.Struct, frozen=True):
    """The check of one history."""

    kind: str  # simulated, or processes
    seed: int
    trees: str
    seconds: float  # of this machine
    counts: dict[str, int]
    faults: dict[str, int]
    violations: dict[str, list[str]]  # the first ones of each kind

    @classmethod
    def of(cls, kind: str, seed: int, trees: str, seconds: float, check: HistoryFindings) -> HistoryResult:
        """Return the result of a check."""
        values = {"published": check.published, "due": check.due, "received": check.received}
        values |= {"replayed": check.replayed, "repeated": check.repeated, **check.outcomes}
        examples = {name: found[:_MAX_EXAMPLES] for name, found in check.violations.items()}
        counts = {name: values.get(name, 0) for name in COUNTS}
        return cls(kind, seed, trees, round(seconds, 2), counts, dict(check.faults), examples)

    def members(self) -> dict[str, Any]:
        """Return the members of a JSON object."""
        return dict(msgspec.to_builtins(self))


@dataclass
class HistoryTotals:
    """The sum of results."""

    histories: int = 0
    seconds: float = 0.0
    counts: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    broken: list[HistoryResult] = field(default_factory=list)

    def add(self, result: HistoryResult) -> None:
        """Add a result."""
        self.histories += 1
        self.seconds += result.seconds
        self.counts.update(result.counts)
        self.faults.update(result.faults)
        if result.violations:
            self.broken.append(result)


class ResultFile:
    """The file of results; without a path, results are only kept in memory."""

    def __init__(self, path: Path | None) -> None:
        """Read the results that the file has."""
        self._path = path
        self.results: list[HistoryResult] = []
        self._done: set[tuple[str, int, str]] = set()
        for result in _read(path) if path is not None and path.exists() else ():
            self._keep(result)

    def _keep(self, result: HistoryResult) -> None:
        self.results.append(result)
        self._done.add((result.kind, result.seed, result.trees))

    def has(self, kind: str, seed: int, trees: str) -> bool:
        """Return whether a history has a result."""
        return (kind, seed, trees) in self._done

    def add(self, result: HistoryResult) -> None:
        """Add a result, and write it."""
        self._keep(result)
        if self._path is not None:
            with self._path.open("ab") as file:
                file.write(msgspec.json.encode(result) + b"\n")

    def totals(self, kind: str) -> HistoryTotals:
        """Return the sum of all results of a kind."""
        totals = HistoryTotals()
        for result in self.results:
            if result.kind == kind:
                totals.add(result)
        return totals


def _read(path: Path) -> Iterator[HistoryResult]:
    *lines, torn = path.read_bytes().split(b"\n")
    if torn:  # the run was killed while it wrote
        path.write_bytes(b"".join(line + b"\n" for line in lines))
    for number, line in enumerate(lines, 1):
        try:
            yield msgspec.json.decode(line, type=HistoryResult)
        except msgspec.DecodeError as error:
            raise InputError(f"line {number} is no result of a history: {error}", file=str(path)) from None
