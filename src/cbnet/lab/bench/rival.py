"""Rival: how does one engine do on what is given, and are its answers right by every path?"""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import TYPE_CHECKING, Any

from cbnet.lab.bench.answer import Answer, differences
from cbnet.lab.bench.parallel_matching import ONE, TWO, matching_processes
from cbnet.lab.bench.result import Result
from cbnet.lab.bench.timing import Passes, best_of_rounds, passes
from cbnet.matching.compiled_table import Compiled
from cbnet.matching.storage.arrow_messages import encode_batch
from cbnet.matching.table import Table

if TYPE_CHECKING:
    from cbnet.lab.bench.expected import Expected
    from cbnet.lab.bench.inputs import Given, Report

_SINGLE, _BATCH, _THREADS, _JSON = "single", "batch", "two threads", "json.loads"


class Rival:
    """An engine, built on what all engines of a run are given."""

    def __init__(self, engine: str, given: Given, report: Report) -> None:
        self._given = given
        start = perf_counter()
        self._compiled = Compiled.build(given.columns, engine, lambda step: report(f"{engine}: {step}"))
        self._build_s = given.read_s + perf_counter() - start
        self._batch, self._kept = encode_batch(given.messages, self._compiled.symbols)
        offsets, targets, self._touched = self._compiled.match_batch(self._batch)
        self.answer = Answer(offsets, targets)

    def result(self, right: Expected, first: Answer, seconds: float, report: Report) -> Result:
        """Check the answers, against those of the first engine too, and measure all that there is to measure."""
        about, count = self._compiled.about, len(self._batch)
        report(f"{about['engine']}: checking its answers")
        who = tuple(differences(self.answer, self._compiled, self._batch, self._given.members, right, first))
        report(f"{about['engine']}: timing")
        best = self._times(seconds)
        report(f"{about['engine']}: weighing its file")
        return Result(
            **{key: about[key] for key in ("engine", "filters", "interfaces", "constraints")},
            build_s=self._build_s,
            bytes_per_constraint=self._file_size() / max(1, about["constraints"]),
            us_single=best[_SINGLE] / count * 1e6,
            us_batch=best[_BATCH] / count * 1e6,
            us_batch_2threads=best[_THREADS] / count * 1e6,
            us_json_loads=best[_JSON] / count * 1e6,
            touched=self._touched / count,
            matched=len(self.answer.targets) / count,
            equal=not who,
            speedup_2threads=best[_BATCH] / best[_THREADS],
            speedup_2processes=best[ONE] / best[TWO],
            differences=who,
        )

    def _times(self, seconds: float) -> dict[str, float]:
        """Return the seconds that each way takes for all messages."""
        compiled, batch, given = self._compiled, self._batch, self._given
        match = Table[Any](compiled).match
        ways: dict[str, Passes] = {
            _SINGLE: passes(lambda: [match(message) for message in given.members] and None),
            _BATCH: passes(lambda: compiled.match_batch(batch)),
            _THREADS: passes(lambda: compiled.match_batch(batch, 2)),
            _JSON: passes(lambda: [json.loads(text) for text in given.texts] and None),
        }
        with TemporaryDirectory(prefix="cbnet-") as folder:
            path = Path(folder) / "table.cbt"
            compiled.save(path)
            with matching_processes(path, given.messages) as processes:
                return best_of_rounds({**ways, **processes}, seconds)

    def _file_size(self) -> int:
        """Return the size of the table's file with all filters in it, covered ones too."""
        compiled = self._compiled
        if compiled.about["covered"]:
            compiled = Compiled.build(self._given.columns, compiled.engine, reduce=False)
        with TemporaryDirectory(prefix="cbnet-") as folder:
            return compiled.save(Path(folder) / "table.cbt")
