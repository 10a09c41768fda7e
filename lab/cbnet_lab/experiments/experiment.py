"""The definition of an experiment and the context that it runs in.

An experiment reproduces a figure or a table of a paper. Its run turns parameters into tables, one row per observation.
Metrics and charts are computed from the tables alone, so they need no new run.

    parameters ──run──► tables ──┬──metrics──► the judge ──► a finding on each claim (claims.toml)
    (by scale)                   ├──charts───► charts like the paper's (experiments.toml)
                                 └──grids────► the paper's tables next to ours

`experiments.toml` declares title, section, inputs, choices, parameters and charts; the module of an experiment has the
functions. The experiment "2002-index" is in the module `y2002.index`, imported on first use, unless its declaration
names another module of that paper, which several experiments share.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar, get_args

import pyarrow as pa

from cbnet.errors import InputError
from cbnet.processors import available_processors
from cbnet_lab.experiments.chart_definition import declared_chart
from cbnet_lab.experiments.claim import Finding, claims, judge
from cbnet_lab.experiments.curves import Metrics, Row, as_table
from cbnet_lab.report.chart import Chart

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from cbnet.topology import Graph

Scale: TypeAlias = Literal["quick", "full", "paper"]
SCALES: tuple[Scale, ...] = get_args(Scale)
Input: TypeAlias = Literal["topology", "traces"]
Tables: TypeAlias = Mapping[str, pa.Table]
Rows: TypeAlias = Mapping[str, list[Row]]  # tables as rows
Results: TypeAlias = Mapping[str, pa.Table | Iterable[Row]]
Progress: TypeAlias = Callable[[int, int, str], None]  # steps done, steps in total, description

GRAPH = "graph"
"""The table with the size of a run's Internet graph; its row is among the metrics."""
_S = TypeVar("_S")


@dataclass(frozen=True)
class Grid:
    """A table of a paper, with ours beside it."""

    caption: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]


class Parameters(SimpleNamespace):
    """The parameters of a run by name: numbers, strings and tuples of them."""


def _start_spark() -> SparkSession:
    from cbnet.pipeline.spark.session import spark_session

    return spark_session("cbnet lab reproduce", classic=True)


@dataclass(frozen=True)
class ExperimentContext:
    """The seed, inputs and resources of a run."""

    seed: int = 0
    topology: Path | None = None  # a graph of the Internet; None: a generated one
    traces: Path | None = None  # a folder of user traces; None: models of users
    processes: int = field(default_factory=available_processors)
    progress: Progress = lambda _done, _total, _description: None
    spark: Callable[[], SparkSession] = _start_spark
    """Returns the Spark session, started at the first call. Only for functions of `cbnet.pipeline`."""

    def track(self, steps: Sequence[_S], describe: Callable[[_S], str]) -> Iterator[_S]:
        """Yield the steps of a run, reporting each as progress first."""
        for done, step in enumerate(steps):
            self.progress(done, len(steps), describe(step))
            yield step

    def internet(self, nodes: int) -> Graph:
        """Return the graph of the Internet, or else a generated one of `nodes` nodes.

        A graph with far fewer nodes than the paper's leaves a claim about the Internet unmeasured. On a generated graph
        of the paper's size a claim can hold with a difference, or not hold; both findings mention that the graph is
        generated. These conditions are in `claims.toml`.
        """
        from cbnet.topology import topology

        if self.topology is not None:
            return topology(str(self.topology), largest=True)
        return topology(f"aslike:{nodes}", self.seed)

    def graph_rows(self, graph: Graph) -> list[Row]:
        """Return the rows of the table GRAPH: nodes, edges, and whether the graph came from a file."""
        return [{"nodes": len(graph), "edges": graph.edge_count, "from_file": self.topology is not None}]

    @property
    def dictionary(self) -> Path | None:
        """The file of dictionary words; None: use the system's words, or invented ones."""
        return self._trace("words/american-english.txt.gz")

    @property
    def news_terms(self) -> Path | None:
        """The file of the most frequent terms of a news corpus; None: use the built-in words."""
        return self._trace("news/top_terms.tsv")

    def _trace(self, name: str) -> Path | None:
        path = None if self.traces is None else self.traces / name
        return path if path is not None and path.is_file() else None


Measure: TypeAlias = (
    Callable[[Parameters, ExperimentContext], Results]
    | Mapping[str, Callable[[Parameters, ExperimentContext], Iterable[Row]]]
)
"""A function that returns all tables, or a function for each."""


def _nothing(*_: Any) -> Any:
    return {}


@dataclass(frozen=True)
class Experiment:
    """A figure or a table of a paper."""

    name: str  # "2002-figure-7a"
    title: str
    section: str
    claims: tuple[int, ...]
    scales: Mapping[Scale, Parameters]
    measure: Measure
    metrics: Callable[[Rows, Parameters], Metrics] = _nothing
    """Returns the metrics that the claims are checked by; the parameters are metrics too."""
    chart_rows: Callable[[Rows, Any], Mapping[str, Any]] = _nothing
    """Returns rows of charts that are no table, by the name of the chart."""
    chart_declarations: tuple[Mapping[str, Any], ...] = ()
    choices: tuple[str, ...] = ()  # choices made where the paper leaves something open
    inputs: tuple[Input, ...] = ()  # the inputs of the context that its tables depend on
    grids: Callable[[Tables, Any], list[Grid]] = lambda _tables, _parameters: []
    """Returns tables of the paper, with ours beside it."""

    @property
    def paper(self) -> str:
        """The year of the paper."""
        return self.name.partition("-")[0]

    def parameters(self, **values: Any) -> Parameters:
        """Return the quick parameters with other values."""
        return Parameters(**vars(self.scales["quick"]) | values)

    def run(self, parameters: Parameters, context: ExperimentContext) -> dict[str, pa.Table]:
        """Run the experiment and return its tables."""
        results: Results
        if isinstance(self.measure, Mapping):
            results = {name: measure(parameters, context) for name, measure in self.measure.items()}
        else:
            results = self.measure(parameters, context)
        return {name: rows if isinstance(rows, pa.Table) else as_table(rows) for name, rows in results.items()}

    def findings(self, tables: Tables, parameters: Any) -> list[Finding]:
        """Return a finding for each claim."""
        if not self.claims:
            return []
        rows = _rows(tables)
        own = {} if parameters is None else vars(parameters)
        graph = rows[GRAPH][0] if GRAPH in rows else {}
        metrics = {**own, **graph, **self.metrics(rows, parameters)}
        return [judge(claims()[number], metrics) for number in self.claims]

    def charts(self, tables: Tables, parameters: Any) -> list[Chart]:
        """Return the charts that have rows."""
        rows = _rows(tables)
        sources = {**rows, **self.chart_rows(rows, parameters)}
        charts = (declared_chart(declared, sources) for declared in self.chart_declarations)
        return [chart for chart in charts if chart is not None]


def _rows(tables: Tables) -> dict[str, list[Row]]:
    return {name: table.to_pylist() for name, table in tables.items()}


@cache
def declarations() -> Mapping[str, Any]:
    """Return the declarations of `experiments.toml`, in the order of the papers."""
    text = files("cbnet_lab.experiments").joinpath("experiments.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def experiment(
    name: str,
    measure: Measure,
    metrics: Callable[[Rows, Parameters], Metrics] = _nothing,
    chart_rows: Callable[[Rows, Parameters], Mapping[str, Any]] = _nothing,
    grids: Callable[[Tables, Parameters], list[Grid]] = lambda _tables, _parameters: [],
) -> Experiment:
    """Return the experiment of this name, as declared, with these functions."""
    declared = declarations()[name]
    usual, scales = declared.get("parameters", {}), declared["scales"]
    return Experiment(
        name,
        declared["title"],
        declared["section"],
        tuple(number for number, claim in claims().items() if claim.experiment == name),
        {scale: Parameters(**_tuples(usual | scales[scale])) for scale in SCALES},
        measure,
        metrics,
        chart_rows,
        tuple(declared.get("charts", ())),
        (*declared.get("choices", ()), *(declarations()["shared"][each] for each in declared.get("shared", ()))),
        tuple(declared.get("inputs", ())),
        grids,
    )


def _tuples(values: Any) -> Any:
    """Return values with tuples in place of lists."""
    if isinstance(values, dict):
        return {name: _tuples(value) for name, value in values.items()}
    return tuple(map(_tuples, values)) if isinstance(values, list) else values


EXPERIMENTS = tuple(name for name in declarations() if name != "shared")


def load_experiment(name: str) -> Experiment:
    """Return an experiment by its name in `EXPERIMENTS`."""
    year, _, stem = name.partition("-")
    stem = declarations()[name].get("module", stem.replace("-", "_"))
    module = import_module(f"cbnet_lab.experiments.y{year}.{stem}")
    return next(each for each in vars(module).values() if isinstance(each, Experiment) and each.name == name)


def select_experiments(names: Sequence[str]) -> list[Experiment]:
    """Return the experiments with these names or prefixes, such as "2014"; all of them if no name is given."""
    chosen = {name: [each for each in EXPERIMENTS if each == name or each.startswith(f"{name}-")] for name in names}
    for name, found in chosen.items():
        if not found:
            raise InputError(f"no experiment {name!r}", hint="see `cbnet lab reproduce --list`")
    every = {each for found in chosen.values() for each in found}
    return [load_experiment(each) for each in EXPERIMENTS if each in every or not names]
