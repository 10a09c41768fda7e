"""The input of a benchmark run: the same filters and messages for every engine, in every form.

The settings of a workload have the names of its paper, such as `f_h=100`, `zipf=0.8` or `AN=3,10`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, TypeAlias, cast, get_type_hints

import msgspec
import pyarrow as pa

from cbnet.errors import InputError
from cbnet.matching.storage.arrow_filters import columns_from_arrow
from cbnet.matching.storage.columns import Columns
from cbnet_lab.bench.plans import Report
from cbnet_lab.workload import DenseRanges, Forwarding2001, WorkloadParameters, as_messages, filters, messages, mix
from cbnet_lab.workload.filter_table import with_conditions

Parameters: TypeAlias = WorkloadParameters | DenseRanges

_PER_INTERFACE = {"f_l", "f_h"}  # [2002 §5.1] draws the filters of an interface from [f_l, f_h)
_NOT_SET = ("DO", "D_os", "D_oi", "seed")  # shares by operator are not plain numbers; the seed has its own option


@dataclass(frozen=True)
class BenchInput:
    """Filters and messages, generated once."""

    filters: pa.Table
    columns: Columns
    read_s: float  # seconds from filters to columns: part of every build
    messages: pa.RecordBatch
    members: list[dict[str, Any]]  # of the messages, in JSON form
    texts: list[str]  # of the messages, as JSON


def parameters_of(name: str, *, names: int | None, settings: Sequence[str] = (), **sizes: Any) -> Parameters:
    """Return the parameters of a mix with these sizes and settings, and with `names` attribute names unless None."""
    parameters = mix(name, **sizes)
    field = "A" if isinstance(parameters, Forwarding2001) else "names"
    return with_settings(parameters, ([] if names is None else [f"{field}={names}"]) + [*settings])


def bench_input(parameters: Parameters, report: Report, conditions: float = 0.0) -> BenchInput:
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


def with_settings(parameters: Parameters, texts: Sequence[str]) -> Parameters:
    """Return the parameters with settings of the form NAME=VALUE; f_l or f_h replace the fixed number of filters."""
    changes = dict(_parse(text, parameters) for text in texts)
    if changes.keys() & _PER_INTERFACE:
        changes.setdefault("F", None)
    return cast("Parameters", replace(cast("Any", parameters), **changes))


def _parse(text: str, parameters: Parameters) -> tuple[str, Any]:
    """Return the name of a setting, and its value in the type of the parameter."""
    name, is_there, value = text.partition("=")
    types = {name: kind for name, kind in get_type_hints(type(parameters)).items() if name not in _NOT_SET}
    if not is_there or name not in types:
        raise InputError(f"{text!r} sets no parameter of this mix", hint=f"use NAME=VALUE with {', '.join(types)}")
    is_range = isinstance(getattr(parameters, name), tuple)
    try:
        parts = value.split(",") if is_range else value
        return name, msgspec.convert(parts, types[name], strict=False, dec_hook=lambda kind, path: kind(path))
    except msgspec.ValidationError:
        raise InputError(f"{text!r}: {name} takes {'numbers, such as 3,10' if is_range else 'a number'}") from None
