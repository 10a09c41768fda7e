"""Reproduction of experiments, reusing stored results.

    OUT/2014-figure-4/curves.parquet     the tables of an experiment
                      _cbnet.json        the manifest; written last, so a folder that has one is complete

An experiment runs again only if its parameters, its seed, its inputs or any file of the packages has changed, as their
fingerprints tell. Changed claims need no new run, as findings are computed from the tables each time. If an experiment
cannot run, its claims stay open and the next experiment runs.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import Any, get_args

import psutil
import pyarrow as pa
import pyarrow.parquet as pq

import cbnet
import cbnet_lab
from cbnet.errors import CbnetError, InputError
from cbnet.processors import available_processors
from cbnet_lab.experiments.claim import Finding
from cbnet_lab.experiments.experiment import (
    EXPERIMENTS,
    Experiment,
    ExperimentContext,
    Grid,
    Input,
    Scale,
    Tables,
    load_experiment,
)
from cbnet_lab.report.chart import Chart

_PACKAGES = (Path(cbnet.__file__).parent, Path(cbnet_lab.__file__).parent)
_JUDGED = "claims.toml"  # findings are computed each time, so a changed threshold needs no new run
_SHORT = 10  # digits of a commit
MANIFEST = "_cbnet.json"


def fingerprint(facts: Mapping[str, Any]) -> str:
    """Return a fingerprint of facts that can be encoded as JSON."""
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def input_fingerprint(path: Path) -> str:
    """Return a fingerprint of a file, or of all files in a folder: names, sizes and modification times."""
    if not path.exists():
        raise InputError("no such file or folder", file=str(path))
    stats = [(str(file.relative_to(path.parent)), file.stat()) for file in _files(path)]
    return fingerprint({name: [stat.st_size, stat.st_mtime_ns] for name, stat in stats})


def code_fingerprint(*packages: Path) -> str:
    """Return a fingerprint of the bytes of packages, by default of both: sources, data files and compiled kernels."""
    digest = hashlib.sha256()
    for package in packages or _PACKAGES:
        for file in _files(package):
            if "__pycache__" not in file.parts and file.name != _JUDGED:
                digest.update(f"{file.relative_to(package)}\0{file.stat().st_size}\0".encode())
                digest.update(file.read_bytes())
    return digest.hexdigest()


def _commit() -> str:
    """Return the commit of the checkout that the package is in, shortened; empty if it is in none."""
    try:
        checkout = next(folder for folder in _PACKAGES[0].parents if (folder / ".git").exists())
        head = checkout / ".git"
        if head.is_file():  # in a linked working tree
            head = Path(head.read_text(encoding="utf-8").removeprefix("gitdir:").strip())
        shared = head / "commondir"
        whole = (head / shared.read_text(encoding="utf-8").strip()) if shared.is_file() else head
        text = (head / "HEAD").read_text(encoding="utf-8").strip()
        return (_reference(whole, text.removeprefix("ref: ")) if text.startswith("ref: ") else text)[:_SHORT]
    except (OSError, StopIteration, UnicodeDecodeError):
        return ""


def _reference(git: Path, name: str) -> str:
    """Return the commit that a branch points to; empty if it is unknown."""
    if (git / name).is_file():
        return (git / name).read_text(encoding="utf-8").strip()
    packed = (git / "packed-refs").read_text(encoding="utf-8").splitlines()
    return next((line.split()[0] for line in packed if line.endswith(f" {name}")), "")


def _files(path: Path) -> list[Path]:
    return sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]


@dataclass(frozen=True)
class ExperimentOutcome:
    """The result of an experiment, from this run or from an earlier one."""

    experiment: Experiment
    manifest: Mapping[str, Any]
    """Its parameters, seed, scale, input files, machine, date, version, commit, seconds and fingerprint."""
    findings: tuple[Finding, ...]
    charts: tuple[Chart, ...] = ()
    grids: tuple[Grid, ...] = ()
    error: str | None = None
    reused: bool = False


def reproduce(
    experiments: Sequence[Experiment], scale: Scale, out: Path, context: ExperimentContext
) -> Iterator[ExperimentOutcome]:
    """Run experiments, or read their stored results; yield the outcome of each."""
    _make_folder(out)
    inputs = {"topology": context.topology, "traces": context.traces}
    fingerprints = {name: input_fingerprint(path) for name, path in inputs.items() if path is not None}
    code = code_fingerprint()
    for experiment in experiments:
        planned = _planned(experiment, scale, context.seed, fingerprints, code)
        folder = out / experiment.name
        stored = read_manifest(folder)
        if stored is not None and stored["fingerprint"] == planned["fingerprint"]:
            yield _outcome(experiment, stored, _read(folder, stored), scale, reused=True)
        else:
            yield _attempt(experiment, planned, scale, folder, context)


def stored_outcome(experiment: Experiment, out: Path) -> ExperimentOutcome | None:
    """Return the stored outcome of an experiment, at any scale; None if there is none."""
    manifest = read_manifest(out / experiment.name)
    if manifest is None:
        return None
    scale: Scale = manifest["scale"]
    if manifest["parameters"] != _plain(experiment.scales[scale]):  # another version; its tables may differ too
        return None
    return _outcome(experiment, manifest, _read(out / experiment.name, manifest), scale, reused=True)


def stored_outcomes(out: Path, known: Sequence[ExperimentOutcome] = ()) -> list[ExperimentOutcome]:
    """Return known outcomes, and the stored ones of other experiments, in the order of the papers."""
    outcomes = {outcome.experiment.name: outcome for outcome in known}
    all_outcomes = (outcomes.get(name) or stored_outcome(load_experiment(name), out) for name in EXPERIMENTS)
    return [outcome for outcome in all_outcomes if outcome is not None]


def read_manifest(folder: Path) -> dict[str, Any] | None:
    """Return the manifest of the results in a folder; None if there are none, or if they are incomplete."""
    file = folder / MANIFEST
    try:
        manifest: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except ValueError:
        manifest = {}
    if not {"fingerprint", "scale", "parameters", "tables"} <= set(manifest):
        raise InputError("not a manifest of results", hint="delete its folder to run it again", file=str(file))
    return manifest


def machine() -> dict[str, Any]:
    """Return the hardware and software of this machine."""
    return {
        "processor": _processor(),
        "cores": available_processors(),
        "memory_gb": round(psutil.virtual_memory().total / 2**30, 1),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }


def _attempt(
    experiment: Experiment, planned: Mapping[str, Any], scale: Scale, folder: Path, context: ExperimentContext
) -> ExperimentOutcome:
    """Run an experiment; return a failure as an outcome, unless it is a bug."""
    try:
        return _run(experiment, planned, scale, folder, context)
    except (CbnetError, MemoryError) as error:
        problem = str(error) or "out of memory"
    except Exception as error:
        if type(error).__module__.partition(".")[0] not in ("pyspark", "py4j"):  # such as a lost worker
            raise
        from cbnet.pipeline.spark.failures import cause

        problem = f"Spark failed: {cause(error)}"
    findings = tuple(Finding(number, "-", "open", problem, missing="run") for number in experiment.claims)
    return ExperimentOutcome(experiment, planned, findings, error=problem)


def _own_context(context: ExperimentContext, experiment: Experiment) -> ExperimentContext:
    """Return a context with only the declared inputs: results of others would be reused even after these changed."""

    def progress(done: int, total: int, what: str) -> None:
        context.progress(done, total, f"{experiment.name}: {what}")

    others: dict[str, Any] = {name: None for name in get_args(Input) if name not in experiment.inputs}
    return replace(context, progress=progress, **others)


def _run(
    experiment: Experiment, planned: Mapping[str, Any], scale: Scale, folder: Path, context: ExperimentContext
) -> ExperimentOutcome:
    _make_folder(folder)
    (folder / MANIFEST).unlink(missing_ok=True)
    start = monotonic()
    tables = experiment.run(experiment.scales[scale], _own_context(context, experiment))
    manifest = {**planned, "seconds": round(monotonic() - start, 1), "machine": machine()}
    files = {name: getattr(context, name) for name in experiment.inputs}
    manifest |= {"files": {name: None if path is None else path.name for name, path in files.items()}}
    manifest |= {"date": datetime.now(UTC).date().isoformat(), "commit": _commit()}
    manifest["tables"] = {name: table.num_rows for name, table in tables.items()}
    outcome = _outcome(experiment, manifest, tables, scale)
    for name, table in tables.items():
        pq.write_table(table, folder / f"{name}.parquet")
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return outcome


def _outcome(
    experiment: Experiment, manifest: Mapping[str, Any], tables: Tables, scale: Scale, *, reused: bool = False
) -> ExperimentOutcome:
    parameters = experiment.scales[scale]
    findings = experiment.findings(tables, parameters)
    charts = experiment.charts(tables, parameters)
    grids = experiment.grids(tables, parameters)
    return ExperimentOutcome(experiment, manifest, tuple(findings), tuple(charts), tuple(grids), reused=reused)


def _planned(experiment: Experiment, scale: Scale, seed: int, inputs: Mapping[str, str], code: str) -> dict[str, Any]:
    """Return everything that the tables of an experiment depend on, with its fingerprint."""
    facts = {
        "experiment": experiment.name,
        "scale": scale,
        "parameters": _plain(experiment.scales[scale]),
        "seed": seed,
        "inputs": {name: inputs[name] for name in experiment.inputs if name in inputs},
        "version": cbnet.__version__,
        "code": code,
    }
    return {**facts, "fingerprint": fingerprint(facts)}


def _plain(parameters: Any) -> dict[str, Any]:
    plain: dict[str, Any] = json.loads(json.dumps(vars(parameters)))
    return plain


def _read(folder: Path, manifest: Mapping[str, Any]) -> dict[str, pa.Table]:
    try:
        return {name: pq.read_table(folder / f"{name}.parquet") for name in manifest["tables"]}
    except (OSError, pa.ArrowException) as error:
        hint = "delete this folder to run it again"
        raise InputError(f"damaged results: {error}", hint=hint, file=str(folder)) from None


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot create this folder: {error.strerror}", file=str(folder)) from None


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, None) or platform.processor()  # the latter starts a process
