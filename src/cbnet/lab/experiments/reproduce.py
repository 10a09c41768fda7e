"""Reproduce: how are experiments run one after the other, so that nothing is run twice?

    OUT/2014-figure-4/curves.parquet     the tables of an experiment
                      curves.svg, .png   its charts
                      _cbnet.json        what made them; written last: where it is, the rest is whole

An experiment whose folder says that it was made with the same parameters, seed, inputs and code is not run again.
Findings are computed from the tables each time. What cannot be run leaves its claims open, and the rest goes on.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from time import monotonic
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

import cbnet
from cbnet.errors import CbnetError, InputError
from cbnet.lab.experiments.claim import Finding
from cbnet.lab.experiments.experiment import AnyExperiment, Context, Scale, Tables
from cbnet.lab.report.chart import Chart, png, svg

ABOUT = "_cbnet.json"
Started: TypeAlias = Callable[[AnyExperiment], None]


@dataclass(frozen=True)
class Outcome:
    """What came of an experiment."""

    experiment: AnyExperiment
    about: Mapping[str, Any]
    """Its parameters, seed, scale, machine, version, seconds and fingerprint."""
    findings: tuple[Finding, ...]
    charts: tuple[Chart, ...] = ()
    tables: Mapping[str, int] | None = None
    """The rows of each table."""
    error: str | None = None
    was_there: bool = False


def reproduce(
    experiments: Sequence[AnyExperiment], scale: Scale, out: Path, context: Context, started: Started | None = None
) -> Iterator[Outcome]:
    """Run experiments, or read what they made before; yield what came of each as it ends.

    started: is called with each experiment before it runs.
    """
    _make_folder(out)
    inputs = {name: _fingerprint(path) for name, path in _given(context).items()}
    for experiment in experiments:
        if started is not None:
            started(experiment)
        made = _made(experiment, scale, context.seed, inputs)
        folder = out / experiment.name
        about = read_about(folder)
        if about is not None and about["fingerprint"] == made["fingerprint"]:
            yield _outcome(experiment, about, _read(folder, about), scale, was_there=True)
            continue
        try:
            yield _run(experiment, made, scale, folder, context)
        except (CbnetError, MemoryError) as error:
            yield failed(experiment, made, str(error) or "there is not enough memory for this")
        except Exception as error:
            if not _is_of_spark(error):
                raise
            first = next(iter(str(error).strip().splitlines()), type(error).__name__)
            yield failed(experiment, made, f"Spark gave up: {first}")


def stored(experiment: AnyExperiment, out: Path) -> Outcome | None:
    """Return what an experiment has left in a folder of results, at whatever scale; None if there is nothing."""
    about = read_about(out / experiment.name)
    if about is None:
        return None
    scale: Scale = about["scale"]
    if about["parameters"] != _plain(experiment.scales[scale]):  # of another version, whose tables may be others too
        return None
    return _outcome(experiment, about, _read(out / experiment.name, about), scale, was_there=True)


def failed(experiment: AnyExperiment, about: Mapping[str, Any], error: str) -> Outcome:
    """Return the outcome of an experiment that could not be run: all of its claims are open."""
    findings = tuple(Finding(number, "-", "open", error) for number in experiment.claims)
    return Outcome(experiment, about, findings, error=error)


def read_about(folder: Path) -> dict[str, Any] | None:
    """Return what made the results in a folder; None if there are none, or only a part of them."""
    file = folder / ABOUT
    try:
        about: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except ValueError:
        about = {}
    if not {"fingerprint", "scale", "parameters", "tables"} <= set(about):
        hint = "delete its folder, so that it is made anew"
        raise InputError("this does not say what made the results", hint=hint, file=str(file))
    return about


def machine() -> dict[str, Any]:
    """Return what a measurement was taken on."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gb": round(memory / 2**30, 1),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }


def _run(experiment: AnyExperiment, made: Mapping[str, Any], scale: Scale, folder: Path, context: Context) -> Outcome:
    _make_folder(folder)
    (folder / ABOUT).unlink(missing_ok=True)
    start = monotonic()
    tables = experiment.run(experiment.scales[scale], context)
    about = {**made, "seconds": round(monotonic() - start, 1), "machine": machine()}
    about["tables"] = {name: table.num_rows for name, table in tables.items()}
    outcome = _outcome(experiment, about, tables, scale)
    for name, table in tables.items():
        pq.write_table(table, folder / f"{name}.parquet")
    for chart in outcome.charts:
        (folder / f"{chart.name}.svg").write_text(svg(chart), encoding="utf-8")
        (folder / f"{chart.name}.png").write_bytes(png(chart))
    (folder / ABOUT).write_text(json.dumps(about, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return outcome


def _outcome(
    experiment: AnyExperiment, about: Mapping[str, Any], tables: Tables, scale: Scale, *, was_there: bool = False
) -> Outcome:
    parameters = experiment.scales[scale]
    findings = experiment.findings(tables, parameters)
    _check_findings(experiment, findings)
    charts = experiment.charts(tables, parameters)
    return Outcome(experiment, about, tuple(findings), tuple(charts), about["tables"], was_there=was_there)


def _check_findings(experiment: AnyExperiment, findings: Sequence[Finding]) -> None:
    """Check that there is one finding for each claim: a claim that is passed over would look like one that holds."""
    found = sorted(finding.claim for finding in findings)
    if found != sorted(experiment.claims):
        raise AssertionError(f"{experiment.name} has findings about {found}, not about {sorted(experiment.claims)}")


def _made(experiment: AnyExperiment, scale: Scale, seed: int, inputs: Mapping[str, str]) -> dict[str, Any]:
    """Return what the tables of an experiment depend on, and a fingerprint of it."""
    module = inspect.getmodule(experiment.run)
    made = {
        "experiment": experiment.name,
        "scale": scale,
        "parameters": _plain(experiment.scales[scale]),
        "seed": seed,
        "inputs": {name: inputs[name] for name in experiment.inputs if name in inputs},
        "version": cbnet.__version__,
        "code": hashlib.sha256(inspect.getsource(module).encode() if module else b"").hexdigest(),
    }
    return {**made, "fingerprint": hashlib.sha256(json.dumps(made, sort_keys=True).encode()).hexdigest()}


def _is_of_spark(error: Exception) -> bool:
    """Return whether Spark or its Java has raised an error, such as a worker that was killed; Spark is not imported."""
    return type(error).__module__.partition(".")[0] in ("pyspark", "py4j")


def _plain(parameters: Any) -> dict[str, Any]:
    plain: dict[str, Any] = json.loads(json.dumps(asdict(parameters)))
    return plain


def _given(context: Context) -> dict[str, Path]:
    given = {"topology": context.topology, "traces": context.traces}
    return {name: path for name, path in given.items() if path is not None}


def _fingerprint(path: Path) -> str:
    """Return a fingerprint of a file or of all files in a folder: their names, sizes and times of change."""
    if not path.exists():
        raise InputError("there is no such file or folder", file=str(path))
    files = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
    listed = [(str(file.relative_to(path.parent)), file.stat().st_size, file.stat().st_mtime_ns) for file in files]
    return hashlib.sha256(json.dumps(listed).encode()).hexdigest()


def _read(folder: Path, about: Mapping[str, Any]) -> dict[str, pa.Table]:
    try:
        return {name: pq.read_table(folder / f"{name}.parquet") for name in about["tables"]}
    except (OSError, pa.ArrowException) as error:
        hint = "delete this folder, so that it is made anew"
        raise InputError(f"the results are not whole: {error}", hint=hint, file=str(folder)) from None


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make this folder: {error.strerror}", file=str(folder)) from None


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor())
