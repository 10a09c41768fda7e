"""The input of a benchmark run: the same filters and messages for every engine, in every form."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any, cast

from cbnet.lab.workload import Forwarding2001, WorkloadParameters, as_messages, filters, messages, mix
from cbnet.lab.workload.conditions import with_conditions
from cbnet.matching.storage.arrow_filters import columns_from_arrow

if TYPE_CHECKING:
    import pyarrow as pa

    from cbnet.matching.storage.columns import Columns

Report = Callable[[str], None]


@dataclass(frozen=True)
class BenchInput:
    """Filters and messages, generated once."""

    filters: pa.Table
    columns: Columns
    read_s: float  # seconds from filters to columns: part of every build
    messages: pa.RecordBatch
    members: list[dict[str, Any]]  # of the messages, in JSON form
    texts: list[str]  # of the messages, as JSON


def parameters_of(name: str, *, names: int | None, **sizes: Any) -> WorkloadParameters:
    """Return the parameters of a mix with these sizes, and with `names` attribute names unless None."""
    parameters = mix(name, **sizes)
    if names is None:
        return parameters
    field = "A" if isinstance(parameters, Forwarding2001) else "names"
    return cast("WorkloadParameters", replace(cast("Any", parameters), **{field: names}))


def bench_input(parameters: WorkloadParameters, report: Report, conditions: float = 0.0) -> BenchInput:
    """Generate filters and messages; `conditions` is the share of filters that have a condition."""
    report("generating filters")
    table = filters(parameters)
    if conditions:
        table = with_conditions(table, conditions)
    report("generating messages")
    batch = messages(parameters)
    members = as_messages(batch)
    report("reading constraints")
    start = perf_counter()
    columns = columns_from_arrow(table)
    read_s = perf_counter() - start
    return BenchInput(table, columns, read_s, batch, members, [json.dumps(message) for message in members])
