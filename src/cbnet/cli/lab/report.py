"""`cbnet report`: what do results of simulate, bench and pipeline look like? One page."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cbnet.cli.console import counted, print_remark
from cbnet.errors import InputError
from cbnet.files import read_text, unreadable, unwritable

if TYPE_CHECKING:
    from cbnet.lab.report.page import Section

_ABOUT = "_cbnet.json"
_MOST_ROWS = 10_000  # that are read of a Parquet file


def report(
    paths: Annotated[
        list[Path],
        typer.Argument(help="Files of JSON Lines (what --json prints), Parquet files, folders of a pipeline."),
    ],
    out: Annotated[Path, typer.Option("--out", help="The page to write.")] = Path("report.html"),
    title: Annotated[str, typer.Option("--title", help="Its title.")] = "Results of cbnet",
) -> None:
    """Draw results of simulate, bench and pipeline as one page that works from a file.

    Example: cbnet report simulated.jsonl run --out report.html
    """
    from cbnet.lab.report.page import Page, html

    sections = [section for path in paths for section in _sections(path)]
    text = html(Page(title, [], sections))
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise unwritable(out, error) from None
    print_remark(f"{out}: {counted(len(sections), 'section')}")


def _sections(path: Path) -> Iterator[Section]:
    from cbnet.lab.report.result_sections import rows_section

    if path.is_dir():
        yield from _folder_sections(path)
        return
    rows = _parquet_rows(path) if path.suffix == ".parquet" else _json_rows(path)
    if not rows:
        raise InputError("there are no rows", file=str(path))
    groups: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in rows:  # a command may print rows of several kinds
        groups.setdefault(tuple(row), []).append(row)
    for number, group in enumerate(groups.values(), 1):
        yield rows_section(str(path) if number == 1 else f"{path}, part {number}", group)


def _folder_sections(path: Path) -> Iterator[Section]:
    """Yield a section about the stages of a pipeline, and one for each that found rows to be told."""
    from cbnet.lab.report.result_sections import rows_section

    stages = {str(file.parent.relative_to(path)): _about(file) for file in sorted(path.rglob(_ABOUT))}
    if not stages:
        raise InputError("there are no results of a pipeline in this folder", hint=f"no {_ABOUT}", file=str(path))
    if any("stage" not in about for about in stages.values()):
        hint = "`cbnet reproduce` writes report.html itself"
        raise InputError("these are not results of a pipeline", hint=hint, file=str(path))
    names = ("stage", "rows", "seconds", "fingerprint")
    yield rows_section(str(path), [{name: about.get(name) for name in names} for about in stages.values()])
    for name, about in stages.items():
        rows = about.get("facts", {}).get("rows", [])
        if rows:
            yield rows_section(f"{path}/{name}", rows)


def _about(file: Path) -> dict[str, Any]:
    try:
        about: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise InputError("this does not say what made the results", file=str(file)) from None
    return about


def _json_rows(path: Path) -> list[dict[str, Any]]:
    rows = []
    for number, line in enumerate(read_text(path).splitlines(), 1):
        if line.strip():
            rows.append(_row(line, number, path))
    return rows


def _row(line: str, number: int, path: Path) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except ValueError:
        row = None
    if not isinstance(row, dict):
        hint = "write what a command prints with --json"
        raise InputError("this line is no JSON object", hint=hint, file=str(path), line=number)
    return row


def _parquet_rows(path: Path) -> list[dict[str, Any]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            batches = file.iter_batches(_MOST_ROWS)
            first = next(batches, None)
            rows: list[dict[str, Any]] = [] if first is None else first.to_pylist()
    except (OSError, pa.ArrowException) as error:
        raise unreadable(path, error) from None
    return rows
