"""Experiments: what is one, and what does it get to run with?

An experiment is a figure, a table or the worked examples of a paper. From parameters it makes tidy tables, with a row
for each observation; from the tables alone come its findings about the paper's claims and its charts. So both can be
made again without running it again.

    parameters ──run──► tables ──┬──findings──► a verdict on each of its claims
    (by scale)                   └──charts────► drawn as the paper draws them
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, TypeVar, get_args

import pyarrow as pa

from cbnet.lab.experiments.claim import Finding
from cbnet.lab.report.chart import Chart

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Scale: TypeAlias = Literal["quick", "full", "paper"]
SCALES: tuple[Scale, ...] = get_args(Scale)
Input: TypeAlias = Literal["topology", "traces"]
Tables: TypeAlias = Mapping[str, pa.Table]
Progress: TypeAlias = Callable[[int, int, str], None]  # done, of how many, what

Parameters = TypeVar("Parameters")  # a frozen dataclass of numbers, texts and tuples of them


def _unseen(_done: int, _total: int, _what: str) -> None:
    """Show progress to nobody."""


def _started_spark() -> SparkSession:
    from cbnet.pipeline.spark.session import spark_session

    return spark_session("cbnet reproduce")


@dataclass(frozen=True)
class Context:
    """What a run has beside the parameters of its experiment."""

    seed: int = 0
    topology: Path | None = None
    """A graph of the Internet; None: a generated one like it."""
    traces: Path | None = None
    """A folder with traces of users; None: models of them that need none."""
    processes: int = field(default_factory=lambda: len(os.sched_getaffinity(0)))
    progress: Progress = _unseen
    spark: Callable[[], SparkSession] = _started_spark
    """Starts Spark, or returns what was started. Only for functions of `cbnet.pipeline`."""


@dataclass(frozen=True)
class Experiment(Generic[Parameters]):
    """A figure, a table or the examples of a paper."""

    name: str  # "2002-figure-7a"
    title: str
    paper: str  # its year
    section: str
    claims: tuple[int, ...]
    scales: Mapping[Scale, Parameters]
    run: Callable[[Parameters, Context], dict[str, pa.Table]]
    findings: Callable[[Tables, Parameters], list[Finding]]
    charts: Callable[[Tables, Parameters], list[Chart]]
    choices: tuple[str, ...] = ()
    """What the paper leaves open, and what was chosen."""
    inputs: tuple[Input, ...] = ()
    """What of the context changes its tables, if it is given."""


AnyExperiment: TypeAlias = Experiment[Any]
