"""The definition of an experiment and the context that it runs in.

An experiment reproduces a figure, a table or the worked examples of a paper. Its run turns parameters into tidy tables,
one row per observation. Findings and charts are computed from the tables alone, so they need no new run.

    parameters ──run──► tables ──┬──findings──► a verdict on each claim
    (by scale)                   ├──charts────► charts like the paper's
                                 └──grids─────► tables of the paper, ours beside it
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, TypeVar, get_args

import pyarrow as pa

from cbnet.processors import available_processors
from cbnet_lab.experiments.claim import Finding
from cbnet_lab.report.chart import Chart
from cbnet_lab.report.page import Grid

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Scale: TypeAlias = Literal["quick", "full", "paper"]
SCALES: tuple[Scale, ...] = get_args(Scale)
Input: TypeAlias = Literal["topology", "traces"]
Tables: TypeAlias = Mapping[str, pa.Table]
Progress: TypeAlias = Callable[[int, int, str], None]  # steps done, steps in total, description

Parameters = TypeVar("Parameters")  # a frozen dataclass of numbers, strings and tuples of them


def _no_progress(_done: int, _total: int, _description: str) -> None:
    """Ignore progress."""


def _start_spark() -> SparkSession:
    from cbnet.pipeline.spark.session import spark_session

    return spark_session("cbnet lab reproduce", classic=True)


def _no_charts(_tables: Tables, _parameters: Any) -> list[Chart]:
    return []


def _no_grids(_tables: Tables, _parameters: Any) -> list[Grid]:
    return []


@dataclass(frozen=True)
class ExperimentContext:
    """The seed, inputs and resources of a run."""

    seed: int = 0
    topology: Path | None = None
    """A graph of the Internet; None: a generated one."""
    traces: Path | None = None
    """A folder of user traces; None: models of users."""
    processes: int = field(default_factory=available_processors)
    progress: Progress = _no_progress
    spark: Callable[[], SparkSession] = _start_spark
    """Returns the Spark session, started at the first call. Only for functions of `cbnet.pipeline`."""


@dataclass(frozen=True)
class Experiment(Generic[Parameters]):
    """A figure, a table or the examples of a paper."""

    name: str  # "2002-figure-7a"
    title: str
    paper: str  # its year
    section: str
    claims: tuple[int, ...]
    scales: Mapping[Scale, Parameters]
    run: Callable[[Parameters, ExperimentContext], dict[str, pa.Table]]
    findings: Callable[[Tables, Parameters], list[Finding]]
    charts: Callable[[Tables, Parameters], list[Chart]] = _no_charts
    choices: tuple[str, ...] = ()
    """Choices made where the paper leaves something open."""
    inputs: tuple[Input, ...] = ()
    """The inputs of the context that its tables depend on."""
    grids: Callable[[Tables, Parameters], list[Grid]] = _no_grids
    """Tables of the paper, with ours beside it."""


AnyExperiment: TypeAlias = Experiment[Any]
