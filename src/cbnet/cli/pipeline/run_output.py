"""Output of `cbnet pipeline run`: stages, yields, Table 1, and the results beyond it.

All values come from the stages' manifests (`_cbnet.json`), so results of earlier runs are shown too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cbnet.cli.console import add_cells, new_grid, plural, print_json, print_note, results_console

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as Grid

    from cbnet.pipeline.run.runner import StageOutcome
    from cbnet.pipeline.spark.results import StoredResult

_COUNTS = {
    "interfaces": "interfaces", "destinations": "destinations", "tags": "tags", "descriptors": "descriptors",
    "announced": "  announced", "kept": "descriptors kept", "share": "  share", "announced_share": "  of the announced",
    "bytes": "bytes at 50 each",
}  # fmt: skip
_SHARES = {"share": "descriptors", "announced_share": "announced"}  # of what is kept
_MIB = 2**20
_YIELD_KEYS = ("read", "users_read", "tags_read", "kept", "derived", "users", "tags")


def print_stage(outcome: StageOutcome) -> None:
    """Print the object of a stage."""
    result = outcome.result
    members = {"stage": outcome.name, "rows": result.rows, "seconds": result.seconds, **result.cost}
    print_json({**members, "folder": result.stored.folder, "facts": result.facts, "new": outcome.is_new})


def stage_line(outcome: StageOutcome) -> str:
    """Return the outcome of a stage on one line."""
    result, cost = outcome.result, outcome.result.cost
    return (
        f"{outcome.name}: {plural(result.rows, 'row')} in {result.seconds:,.1f} s;"
        f" executors {cost['executor_seconds']:,.1f} s, shuffled {cost['shuffle_bytes'] / _MIB:,.1f} MiB,"
        f" written {result.bytes / _MIB:,.1f} MiB"
    )


def print_outcomes(outcomes: Sequence[StageOutcome]) -> None:
    """Print the objects of all stages and results."""
    for each in outcomes:
        print_stage(each)
    print_results(outcomes)


def print_results(outcomes: Sequence[StageOutcome]) -> None:
    """Print an object for each yield and each row of Table 1."""
    from cbnet.pipeline.derive.derivation import PAPER
    from cbnet.pipeline.tables.table_1 import PAPER_TABLE1

    for name, counts in _yields(outcomes):
        paper = PAPER[counts["app"]]
        print_json({"yield": name, **counts, "paper": {key: getattr(paper, key) for key in _YIELD_KEYS}})
    facts = _table1_facts(outcomes)
    if facts is None:
        return
    for row in facts["rows"]:
        paper_row = PAPER_TABLE1["all" if row["interface"] is None else "largest"]
        print_json({"table1": "all" if row["interface"] is None else "largest", **row, "paper": paper_row})
    print_json({"roles": facts["roles"]})


def show_outcomes(out: str, outcomes: Sequence[StageOutcome]) -> None:
    """Print the yields, the cost of the stages, Table 1 and additional results."""
    console = results_console()
    for name, counts in _yields(outcomes):
        console.print(yield_grid(name, counts))
    for line in _rejected_lines(outcomes):
        print_note(line)
    console.print(stage_grid(outcomes))
    show_table1(outcomes, console)
    for grid in extra_grids(outcomes):
        console.print(grid)
    console.print(f"Results: {out}", markup=False, soft_wrap=True)


def show_table1(outcomes: Sequence[StageOutcome], console: Console, limit: int | None = None) -> None:
    """Print Table 1 of each router, or of the first ones, beside the paper's."""
    facts = _table1_facts(outcomes)
    if facts is None:  # the stage was not selected
        return
    for router in [*dict.fromkeys(row["router"] for row in facts["rows"])][:limit]:
        rows = [row for row in facts["rows"] if row["router"] == router]
        console.print(table1_grid(rows))
    loads = [f"{plural(load['descriptors'], role)}" for role, load in facts["roles"].items()]
    console.print(
        f"Of {plural(facts['nodes'], 'node')} with {plural(facts['links'], 'link')}: {' and '.join(loads)}.\n"
    )


def table1_grid(rows: Sequence[dict[str, Any]]) -> Grid:
    """Return Table 1 of one router: all interfaces and the largest, each beside the paper's."""
    from cbnet.pipeline.tables.table_1 import PAPER_TABLE1

    heads = ["all\nhere", "\n[2014]", "largest\nhere", "\n[2014]"]
    columns = [rows[0], PAPER_TABLE1["all"], *((rows[1], PAPER_TABLE1["largest"]) if len(rows) > 1 else ())]
    cells = [(label, *(_cell(column, key) for column in columns)) for key, label in _COUNTS.items()]
    return new_grid(f"Table 1: router {rows[0]['router']} on the tree of {rows[0]['root']}", "\n", *heads, rows=cells)


def stage_grid(outcomes: Sequence[StageOutcome]) -> Grid:
    """Return the cost of each stage, and the total."""
    heads = ("rows", "seconds", "executor\ns", "CPU s\nJava", "CPU s\nPython", "peak\nMiB", "shuffled\nMiB", "")
    rows = [
        (
            each.name,
            f"{each.result.rows:,}",
            f"{each.result.seconds:,.1f}",
            *_costs(each.result.cost),
            "" if each.is_new else "earlier",
        )
        for each in outcomes
    ]
    grid = new_grid("Stages", *(head if "\n" in head else f"\n{head}" for head in ("", *heads)), rows=rows, tight=True)
    costs = [each.result.cost for each in outcomes]
    seconds = sum(each.result.seconds for each in outcomes)
    add_cells(grid, "all", "", f"{seconds:,.1f}", *_costs(_total_cost(costs)), "")
    return grid


def _total_cost(costs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the sum of the costs; for memory, the maximum."""
    total: dict[str, Any] = {}
    for cost in costs:
        for key, value in cost.items():
            if isinstance(value, int | float):
                before = total.get(key, 0)
                total[key] = max(before, value) if "peak" in key else before + value
    return total


def _costs(cost: Mapping[str, Any]) -> Iterator[str]:
    for key in ("executor_seconds", "java_cpu_seconds", "python_cpu_seconds"):
        yield f"{cost[key]:,.1f}" if cost.get(key) is not None else "–"
    for key in ("peak_bytes", "shuffle_bytes"):
        yield f"{cost[key] / _MIB:,.0f}" if cost.get(key) is not None else "–"


def _cell(row: dict[str, Any], key: str) -> str:
    if key in _SHARES:
        whole = row[_SHARES[key]]
        return f"{row['kept'] / whole:.1%}" if whole else "–"
    return f"{row[key]:,}"


def yield_grid(name: str, counts: Mapping[str, Any]) -> Grid:
    """Return the counts of a derivation beside the paper's for the same application."""
    from cbnet.pipeline.derive.derivation import PAPER, DerivationCounts

    ours = DerivationCounts(**counts)
    title = f"{ours.app}: {ours.unit} to {ours.product}"
    rows = [
        (label, _yield_cell(label, here), _yield_cell(label, there))
        for (label, here), (_, there) in zip(ours.rows(), PAPER[ours.app].rows(), strict=True)
        if here is not None or there is not None
    ]
    return new_grid(title if name == ours.app else f"{name}, as {title}", "", "here", "[2014]", rows=rows)


def _yield_cell(label: str, number: float | None) -> str:
    if number is None:
        return "–"
    if "share" in label:
        return f"{number:.1%}"
    return f"{number:,}" if isinstance(number, int) else f"{number:,.2f}"


def _yields(outcomes: Sequence[StageOutcome]) -> Iterator[tuple[str, dict[str, Any]]]:
    for each in outcomes:
        if "yield" in each.result.facts:
            yield each.name.removeprefix("descriptors/"), each.result.facts["yield"]


def _rejected_lines(outcomes: Sequence[StageOutcome]) -> Iterator[str]:
    for each in outcomes:
        rejected = each.result.facts.get("rejected")
        if rejected:
            reasons = ", ".join(f"{count:,} {reason}" for reason, count in rejected.items())
            yield f"{each.name}: malformed rows: {reasons}; see {each.result.facts['aside']}"


def _table1_facts(outcomes: Sequence[StageOutcome]) -> Any:
    return next((each.result.facts for each in outcomes if each.name == "table1"), None)


def extra_grids(outcomes: Sequence[StageOutcome]) -> Iterator[Grid]:
    """Yield a table for each kind of additional result of a run."""
    folded = [each.result.facts for each in outcomes if each.name.startswith("folded/")]
    if folded:
        yield _folded(folded)
    stored = {each.name: each.result for each in outcomes if each.name.startswith("router_tables/")}
    if stored:
        yield _router_tables(stored)


def _folded(stages: Sequence[Mapping[str, Any]]) -> Grid:
    cells = []
    alone = {row["router"]: row["entries"] for facts in stages if facts["k"] == 1 for row in facts["rows"]}
    for facts in sorted(stages, key=lambda facts: facts["k"]):
        for row in facts["rows"]:
            single = alone.get(row["router"])
            times = f"{row['entries'] / single:.2f} ×" if single else ""
            cells.append((facts["k"], row["router"], f"{row['entries']:,}", times, f"{row['bytes']:,}"))
    heads = ("k", "router", "entries", "of one tree's", "bytes at 50 each")
    return new_grid("Tables folded over k trees", *heads, rows=cells)


def _router_tables(stored: Mapping[str, StoredResult]) -> Grid:
    marks = stored["router_tables/marks"]
    counts = {
        "routers": marks.facts["routers"],
        "trees": len(marks.facts["entries"]),
        "descriptors": stored["router_tables/descriptors"].rows,
        "entries": sum(marks.facts["entries"]),
        "stored rows": marks.rows,
        "bytes": sum(each.bytes for each in stored.values()),
    }
    return new_grid("Tables of every router", *counts, rows=[[f"{count:,}" for count in counts.values()]])
