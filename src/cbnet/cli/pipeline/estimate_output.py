"""Output of `cbnet pipeline estimate`: the costs of stages, per descriptor and in total."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cbnet.cli.console import add_cells, new_grid, print_json, results_console

if TYPE_CHECKING:
    from cbnet.pipeline.run.scaling import StageCost

_GIB, _MIB = 2**30, 2**20


def print_estimate(costs: Sequence[StageCost], measured: int, factor: float) -> None:
    """Print an object for each stage."""
    for cost in costs:
        scaled = cost.times(factor)
        print_json(
            {
                "stage": cost.name,
                "rows": round(scaled.rows),
                "cpu_seconds": round(scaled.cpu_seconds, 1),
                "shuffle_bytes": round(scaled.shuffle_bytes),
                "stored_bytes": round(scaled.stored_bytes),
                "tasks": round(scaled.tasks),
                "measured_descriptors": measured,
            }
        )


def show_estimate(costs: Sequence[StageCost], measured: int, factor: float) -> None:
    """Print a row for each stage, and one for all."""
    title = f"{factor * measured:,.0f} descriptors, by a run of {measured:,}"
    grid = new_grid(
        title, "stage", "rows", "bytes/row", "CPU µs", "shuffled bytes", "CPU hours", "shuffled GiB", "stored GiB",
        "tasks", "MiB/task",
    )  # fmt: skip
    for cost in costs:
        add_cells(grid, *_cells(cost, cost.times(factor), measured))
    scaled = [cost.times(factor) for cost in costs]
    hours = sum(cost.cpu_seconds for cost in scaled) / 3600
    shuffled = sum(cost.shuffle_bytes for cost in scaled) / _GIB
    stored = sum(cost.stored_bytes for cost in scaled) / _GIB
    add_cells(grid, "together", "", "", "", "", f"{hours:,.2f}", f"{shuffled:,.1f}", f"{stored:,.1f}", "", "")
    console = results_console()
    console.print(grid)
    console.print("CPU µs and shuffled bytes: for each descriptor of the population.", soft_wrap=True, markup=False)


def _cells(cost: StageCost, scaled: StageCost, measured: int) -> list[str]:
    return [
        cost.name,
        f"{scaled.rows:,.0f}",
        f"{cost.stored_bytes / max(1, cost.rows):,.1f}",
        f"{cost.cpu_seconds / measured * 1e6:,.2f}",
        f"{cost.shuffle_bytes / measured:,.1f}",
        f"{scaled.cpu_seconds / 3600:,.2f}",
        f"{scaled.shuffle_bytes / _GIB:,.1f}",
        f"{scaled.stored_bytes / _GIB:,.1f}",
        f"{scaled.tasks:,.0f}",
        f"{scaled.bytes_per_task / _MIB:,.1f}",
    ]
