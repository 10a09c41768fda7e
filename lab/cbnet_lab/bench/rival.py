"""A rival: one engine, checked by every path and measured."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import TYPE_CHECKING, Any

from cbnet.matching.compiled_table import CompiledTable
from cbnet.matching.engines.registry import CountingOptions
from cbnet.matching.storage.arrow_messages import encode_batch
from cbnet.matching.table import Table
from cbnet_lab.bench.engine_answer import EngineAnswer, differences
from cbnet_lab.bench.engine_result import EngineResult
from cbnet_lab.bench.parallel_matching import ONE, TWO, matching_processes
from cbnet_lab.bench.timing import Passes, best_of_rounds, passes

if TYPE_CHECKING:
    from cbnet_lab.bench.bench_input import BenchInput, Report
    from cbnet_lab.bench.expected_matches import ExpectedMatches

_SINGLE, _BATCH, _THREADS, _JSON = "single", "batch", "two threads", "json.loads"


_DEFAULTS = CountingOptions()


class Rival:
    """An engine, built on the input that all engines of a run share."""

    def __init__(self, engine: str, given: BenchInput, report: Report, counting: CountingOptions = _DEFAULTS) -> None:
        self._given = given
        start = perf_counter()
        self._compiled = CompiledTable.build(given.columns, engine, lambda step: report(f"{engine}: {step}"))
        self._build_s = given.read_s + perf_counter() - start
        if engine == "counting":
            self._compiled.index.options = counting
        self._batch, self._kept = encode_batch(given.messages, self._compiled.symbols)
        offsets, targets, self._touched = self._compiled.match_batch(self._batch)
        self.answer = EngineAnswer(offsets, targets)

    def result(self, expected: ExpectedMatches, first: EngineAnswer, seconds: float, report: Report) -> EngineResult:
        """Check the answers, also against those of the first engine, and measure the engine."""
        about, count = self._compiled.metadata, len(self._batch)
        report(f"{about['engine']}: checking its answers")
        differing = tuple(differences(self.answer, self._compiled, self._batch, self._given.members, expected, first))
        report(f"{about['engine']}: timing")
        best = self._times(seconds)
        report(f"{about['engine']}: measuring its file")
        return EngineResult(
            **{key: about[key] for key in ("engine", "filters", "interfaces", "constraints")},
            build_s=self._build_s,
            bytes_per_constraint=self._file_size() / max(1, about["constraints"]),
            us_single=best[_SINGLE] / count * 1e6,
            us_batch=best[_BATCH] / count * 1e6,
            us_batch_2threads=best[_THREADS] / count * 1e6,
            us_json_loads=best[_JSON] / count * 1e6,
            touched=self._touched / count,
            matched=len(self.answer.targets) / count,
            equal=not differing,
            speedup_2threads=best[_BATCH] / best[_THREADS],
            speedup_2processes=best[ONE] / best[TWO],
            differences=differing,
        )

    def _times(self, seconds: float) -> dict[str, float]:
        """Return the seconds that each method takes for all messages."""
        compiled, batch, given = self._compiled, self._batch, self._given
        match = Table[Any](compiled).match
        methods: dict[str, Passes] = {
            _SINGLE: passes(lambda: [match(message) for message in given.members] and None),
            _BATCH: passes(lambda: compiled.match_batch(batch)),
            _THREADS: passes(lambda: compiled.match_batch(batch, 2)),
            _JSON: passes(lambda: [json.loads(text) for text in given.texts] and None),
        }
        with TemporaryDirectory(prefix="cbnet-") as folder:
            path = Path(folder) / "table.cbt"
            compiled.save(path)
            with matching_processes(path, given.messages) as processes:
                return best_of_rounds({**methods, **processes}, seconds)

    def _file_size(self) -> int:
        """Return the size of the table's file with all filters, including covered ones."""
        compiled = self._compiled
        if compiled.metadata["covered"]:
            compiled = CompiledTable.build(self._given.columns, compiled.engine, reduce=False)
        with TemporaryDirectory(prefix="cbnet-") as folder:
            return compiled.save(Path(folder) / "table.cbt")
