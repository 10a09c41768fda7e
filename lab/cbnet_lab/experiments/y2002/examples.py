"""Worked examples and the table size formula of [2002 §2 to §5.1]."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from cbnet.language import Message, Predicate, parse
from cbnet.matching import Table, reference
from cbnet.matching.engines import selectivity_table as determinants
from cbnet.matching.engines.registry import ENGINES
from cbnet.matching.storage.arrow_filters import columns_from_arrow
from cbnet.matching.storage.columns import columns_of
from cbnet_lab.experiments.claim import ClaimRule, Finding
from cbnet_lab.experiments.curves import Row, as_table, where
from cbnet_lab.experiments.example_table import example_table
from cbnet_lab.experiments.experiment import Experiment, ExperimentContext, Tables
from cbnet_lab.workload import Forwarding2002, filters

_FILTER = 'dest = "MXP" and price < 500'
_MESSAGE: dict[str, Any] = {"carrier": "UA", "dest": "MXP", "price": 600, "upgradeable": True}
_CHEAPER = {**_MESSAGE, "price": 499}
_COMMON = "r > 1 and s = 2 or r < 0 and t = 3"  # r and r': constraints on one name
_DETERMINANTS = {("price", "I1"), ("price", "I3"), ("stock", "I3")}
_COUNTED = ("filters", "constraints")
_MAX_ERRORS = 4.0  # standard errors that chance explains
_ABOUT = 0.01

_FLIGHT = ClaimRule(20, "the filter matches the message with price 600, by every engine and the reference")
_COMMON_NAME = ClaimRule(22, "r is the only determinant")
_TABLE = ClaimRule(23, "the selectivity table has exactly these entries")
_SIZE = ClaimRule(
    28,
    f"filters and constraints of the built tables, after merging equal constraints, are within {_ABOUT:.0%} of the "
    f"formulas, or within {_MAX_ERRORS:.0f} standard errors of the draw",
)


@dataclass(frozen=True)
class ExamplesParameters2002:
    """Generated tables: interfaces, and f_h, the bound on the filters of each interface."""

    interfaces: tuple[int, ...] = (20, 200, 2000)
    max_filters: tuple[int, ...] = (10, 100)


def _run(parameters: ExamplesParameters2002, context: ExperimentContext) -> dict[str, pa.Table]:
    return {
        "flight": as_table([*_flight()]),
        "determinants": as_table(
            [*_determinants("paper's r", {"I": parse(_COMMON)}), *_determinants("Figure 2", example_table())]
        ),
        "sizes": as_table([*_sizes(parameters, context)]),
    }


def _flight() -> Iterator[Row]:
    predicate = {"I": parse(_FILTER)}
    for members in (_MESSAGE, _CHEAPER):
        yield {
            "price": members["price"],
            "engine": "reference",
            "matches": bool(reference.match(predicate, Message(members))),
        }
        for engine in ENGINES:
            matches = bool(Table.build(predicate, engine=engine).match(members))
            yield {"price": members["price"], "engine": engine, "matches": matches}


def _determinants(table: str, predicates: dict[str, Predicate]) -> Iterator[Row]:
    """Yield the selectivity table of some predicates."""
    columns = columns_of(predicates)
    for symbol, targets in determinants.rows(determinants.build(columns)):
        for target in targets.tolist():
            yield {"table": table, "name": columns.symbols[symbol], "interface": columns.interfaces[target]}


def _sizes(parameters: ExamplesParameters2002, context: ExperimentContext) -> Iterator[Row]:
    for interfaces in parameters.interfaces:
        for f_h in parameters.max_filters:
            mix = Forwarding2002(I=interfaces, f_h=f_h, seed=context.seed)
            table = filters(mix)
            built = columns_from_arrow(table)
            mean_filters, mean_constraints = (mix.f_l + mix.f_h - 1) / 2, (mix.c_l + mix.c_h - 1) / 2
            spread = interfaces * _variance(mix.f_h - mix.f_l)  # of the filters
            of_constraints = mean_constraints**2 * spread + interfaces * mean_filters * _variance(mix.c_h - mix.c_l)
            yield {
                "interfaces": interfaces, "f_h": f_h, "filters": len(built), "drawn": table.num_rows,
                "constraints": len(built.words), "about_filters": interfaces * f_h / 2,
                "about_constraints": interfaces * mean_filters * mean_constraints, "error_filters": spread**0.5,
                "error_constraints": of_constraints**0.5,
            }  # fmt: skip


def _variance(values: int) -> float:
    """Return the variance of the uniform distribution on `values` consecutive integers."""
    return float((values**2 - 1) / 12)


def _findings(tables: Tables, _: ExamplesParameters2002) -> list[Finding]:
    rows = {name: table.to_pylist() for name, table in tables.items()}
    return [_flown(rows["flight"]), *_determined(rows["determinants"]), _formula(rows["sizes"])]


def _flown(rows: list[Row]) -> Finding:
    expensive, cheap = ({row["matches"] for row in where(rows, price=price)} for price in (600, 499))
    ours = f"at 600: {_match_text(expensive)}; at 499: {_match_text(cheap)} (both engines and the reference)"
    reason = "an error in the paper: the price in its message is 600, and its filter requires less than 500"
    return _FLIGHT.decide(ours, expensive == {True}, reason)


def _match_text(answers: set[bool]) -> str:
    return {frozenset([True]): "matches", frozenset([False]): "does not match"}.get(frozenset(answers), "they differ")


def _determined(rows: list[Row]) -> Iterator[Finding]:
    common = {row["name"] for row in where(rows, table="paper's r")}
    ours = f"determinants: {', '.join(sorted(common)) or 'none'}"
    yield _COMMON_NAME.decide(ours, common == {"r"}, "different determinants")
    pairs = {(row["name"], row["interface"]) for row in where(rows, table="Figure 2")}
    ours = "; ".join(
        f"{name}: {', '.join(sorted(to for own, to in pairs if own == name))}"
        for name in sorted({name for name, _ in pairs})
    )
    yield _TABLE.decide(ours, pairs == _DETERMINANTS, "different determinants")


def _formula(rows: list[Row]) -> Finding:
    cases = [(row[what], row[f"about_{what}"], row[f"error_{what}"]) for row in rows for what in _COUNTED]
    off = [size for size, about, error in cases if abs(size - about) > max(_ABOUT * about, _MAX_ERRORS * error)]
    largest = max(rows, key=lambda row: int(row["constraints"]))
    ours = ", ".join(f"{largest[what]:,} {what} (formula: {largest[f'about_{what}']:,.0f})" for what in _COUNTED)
    merged = 1 - largest["constraints"] / largest["drawn"]
    ours += f" in the largest table, where merging removes {merged:.2%}; {len(off)} of {len(cases)} sizes off"
    if off:
        return _SIZE.fails(ours, "the difference is not explained by chance, nor by merging equal constraints")
    return _SIZE.holds(ours)


EXPERIMENT = Experiment(
    name="2002-examples",
    title="The worked examples, and the table size formula",
    paper="2002",
    section="§2, §3, §4.3, §5.1",
    claims=(20, 22, 23, 28),
    scales={
        "quick": ExamplesParameters2002(),
        "full": ExamplesParameters2002((20, 200, 2000), (10, 100, 500)),
        "paper": ExamplesParameters2002((20, 200, 2000, 20_000), (10, 100, 500)),
    },
    run=_run,
    findings=_findings,
    choices=(
        "r and r' are two constraints on one name, as the text around them states.",
        "The formulas are means of uniform draws, so what is drawn follows them; the sizes are those of built tables.",
    ),
)
