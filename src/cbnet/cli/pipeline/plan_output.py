"""Output of `cbnet pipeline status`, `clean` and `run --plan`: states, decisions and leftovers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cbnet.cli.console import new_grid, plural, print_json, print_note, results_console

if TYPE_CHECKING:
    from cbnet.pipeline.run.plan import Decision, StageStatus

_MIB = 2**20


def state_members(status: StageStatus) -> dict[str, Any]:
    """Return the state of a stage as the members of a JSON object."""
    folder = None if status.result is None else status.result.stored.folder
    members = {"stage": status.name, "state": str(status.state), "reason": status.reason}
    return {**members, **_last_run(status), "folder": folder}


def show_states(out: str, states: Sequence[StageStatus]) -> None:
    """Print a row for each stage."""
    rows = [(each.name, each.state, *_cells(each)) for each in states]
    console = results_console()
    console.print(new_grid(out, "stage", "state", "rows", "seconds", rows=rows))
    for each in states:
        if each.reason:
            console.print(f"{each.name}: {each.state}: {each.reason}", soft_wrap=True, markup=False)


def print_plan(decisions: Sequence[Decision]) -> None:
    """Print an object for each stage."""
    for each in decisions:
        print_json({"stage": each.name, "run": each.is_to_run, "reason": each.reason, **_last_run(each.status)})


def show_plan(out: str, decisions: Sequence[Decision]) -> None:
    """Print a row for each stage, and an estimate by the last runs of the stages that would run."""
    rows = [
        (each.name, "run" if each.is_to_run else "keep", each.reason.partition(":")[0], *_cells(each.status))
        for each in decisions
    ]
    console = results_console()
    console.print(new_grid(out, "stage", "", "reason", "last rows", "last seconds", rows=rows))
    for each in decisions:
        if ":" in each.reason:
            console.print(f"{each.name}: {each.reason}", soft_wrap=True, markup=False)
    console.print(_last_times([each.status for each in decisions if each.is_to_run]), soft_wrap=True, markup=False)


def show_leftovers(out: str, sizes: Mapping[str, int], *, deleted: bool = False) -> None:
    """Print notes on the leftovers of a folder."""
    for name, size in sizes.items():
        print_note(f"{'deleted' if deleted else 'leftover'}: {out}/{name}, {size / _MIB:,.1f} MiB")
    if sizes and not deleted:
        print_note("`cbnet pipeline clean` deletes leftovers")


def _last_times(statuses: Sequence[StageStatus]) -> str:
    known = [status.result.seconds for status in statuses if status.result is not None]
    if not statuses:
        return "No stage would run."
    text = f"{plural(len(statuses), 'stage')} would run"
    if known:
        text += f"; the last runs of {len(known)} of them took {sum(known):,.1f} s"
    return f"{text}."


def _last_run(status: StageStatus) -> dict[str, Any]:
    result = status.result
    return {"rows": result and result.rows, "seconds": result and result.seconds}


def _cells(status: StageStatus) -> tuple[str, str]:
    result = status.result
    return ("", "") if result is None else (f"{result.rows:,}", f"{result.seconds:,.1f}")
