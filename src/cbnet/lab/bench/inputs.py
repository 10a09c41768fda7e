"""Given: what do all engines of a run get? The same filters and the same messages, in every form."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any, cast

from cbnet.lab.workload import Forwarding2001, WorkloadParameters, as_messages, filters, messages, mix
from cbnet.matching.storage.arrow_filters import columns_from_arrow

if TYPE_CHECKING:
    import pyarrow as pa

    from cbnet.matching.storage.columns import Columns

Report = Callable[[str], None]


@dataclass(frozen=True)
class Given:
    """Filters and messages, made once."""

    filters: pa.Table
    columns: Columns
    read_s: float  # from filters to columns: a part of every build
    messages: pa.RecordBatch
    members: list[dict[str, Any]]  # of the messages, in JSON form
    texts: list[str]  # of the messages, as JSON


def parameters_of(name: str, *, names: int | None, **sizes: Any) -> WorkloadParameters:
    """Return the parameters of a mix, all as in its paper but for the sizes, and the number of names if given."""
    parameters = mix(name, **sizes)
    if names is None:
        return parameters
    said = "A" if isinstance(parameters, Forwarding2001) else "names"
    return cast("WorkloadParameters", replace(cast("Any", parameters), **{said: names}))


def make(parameters: WorkloadParameters, report: Report) -> Given:
    """Generate filters and messages."""
    report("generating filters")
    table = filters(parameters)
    report("generating messages")
    batch = messages(parameters)
    members = as_messages(batch)
    report("reading constraints")
    start = perf_counter()
    columns = columns_from_arrow(table)
    read_s = perf_counter() - start
    return Given(table, columns, read_s, batch, members, [json.dumps(message) for message in members])
