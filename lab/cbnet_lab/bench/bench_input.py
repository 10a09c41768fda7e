"""The input of a benchmark run: the same filters and messages for every engine, in every form."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import pyarrow as pa

from cbnet.matching.storage.arrow_filters import columns_from_arrow
from cbnet.matching.storage.columns import Columns
from cbnet_lab.bench.plans import Report
from cbnet_lab.workload import Forwarding2001, WorkloadParameters, as_messages, filters, messages, mix
from cbnet_lab.workload.filter_table import with_conditions
from cbnet_lab.workload.settings import with_settings


@dataclass(frozen=True)
class BenchInput:
    """Filters and messages, generated once."""

    filters: pa.Table
    columns: Columns
    read_s: float  # seconds from filters to columns: part of every build
    messages: pa.RecordBatch
    members: list[dict[str, Any]]  # of the messages, in JSON form
    texts: list[str]  # of the messages, as JSON


def parameters_of(name: str, *, names: int | None, settings: Sequence[str] = (), **sizes: Any) -> WorkloadParameters:
    """Return the parameters of a mix with these sizes and settings, and with `names` attribute names unless None."""
    parameters = mix(name, **sizes)
    field = "A" if isinstance(parameters, Forwarding2001) else "names"
    return with_settings(parameters, ([] if names is None else [f"{field}={names}"]) + [*settings])


def bench_input(parameters: WorkloadParameters, report: Report, conditions: float = 0.0) -> BenchInput:
    """Generate filters and messages; `conditions` is the share of filters that have a condition."""
    report("generating filters")
    table = filters(parameters)
    if conditions:
        table = with_conditions(table, conditions)
    report("generating messages")
    return input_of(table, messages(parameters), report)


def input_of(table: pa.Table, batch: pa.RecordBatch, report: Report) -> BenchInput:
    """Return filters and messages in every form."""
    members = as_messages(batch)
    report("reading constraints")
    start = perf_counter()
    columns = columns_from_arrow(table)
    read_s = perf_counter() - start
    return BenchInput(table, columns, read_s, batch, members, [json.dumps(message) for message in members])
