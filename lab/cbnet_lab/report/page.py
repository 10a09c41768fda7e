"""HTML pages of charts and tables, in a single file that needs no network.

A page is plain data: nested sections of paragraphs, tables, charts and notes. The file contains everything it needs:
the style, the script, and Vega once for all charts.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

import pyarrow as pa

from cbnet_lab.report.chart import Chart, vega_lite

_MAX_NUMBERS = 400  # rows of the table below a chart
_DIGITS = 5


@dataclass(frozen=True)
class Cell:
    """A table cell; `mark` is a CSS class, `link` an anchor on the page."""

    text: str
    mark: str = ""
    link: str = ""
    note: str = ""
    """Small print below the text."""
    anchor: str = ""
    """The anchor of the cell itself."""


@dataclass(frozen=True)
class Grid:
    """A table."""

    caption: str
    heads: Sequence[str]
    rows: Sequence[Sequence[Cell | str]]
    filter_by: int | None = None
    """The column that the rows can be filtered by."""
    filters: Sequence[str] = ()
    """The values to filter by, in the order of their buttons."""
    rows_are: str = "rows"
    """The noun for the rows, on the button that shows all."""


@dataclass(frozen=True)
class Section:
    """A section of a page."""

    heading: str
    anchor: str = ""
    text: Sequence[str] = ()
    grids: Sequence[Grid] = ()
    charts: Sequence[Chart] = ()
    notes: Mapping[str, Sequence[str]] | None = None
    """Collapsed lists, by their summary line."""
    sections: Sequence[Section] = ()
    links: Sequence[Cell] = ()
    """A line of links below the heading."""


@dataclass(frozen=True)
class Page:
    """A page: title, facts about it, introduction, and sections, which the table of contents lists by heading."""

    title: str
    text: Sequence[str]
    sections: Sequence[Section]
    facts: Mapping[str, str] | None = None
    """Name and value of what a reader must know first, such as scale, data and date."""


def html(page: Page) -> str:
    """Return the page as one HTML file."""
    charts = [chart for section in _all(page.sections) for chart in section.charts]
    scripts = [_script(_vega()), _script(_part("page.js"))] if charts else [_script(_part("page.js"))]
    parts = [
        "<!doctype html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">',
        # The page sends no request, not even for an icon.
        '<link rel="icon" href="data:,">',
        f"<title>{escape(page.title)}</title>",
        f"<style>\n{_part('page.css')}</style>",
        "</head>",
        "<body>",
        '<a class="skip" href="#main">Skip to content</a>',
        '<header class="top">',
        f"<h1>{escape(page.title)}</h1>",
        *_facts(page.facts or {}),
        *_paragraphs(page.text),
        *_contents(page.sections),
        "</header>",
        '<main id="main">',
        *(line for section in page.sections for line in _section(section, 2)),
        "</main>",
        *scripts,
        "</body>",
        "</html>",
        "",
    ]
    return "\n".join(parts)


def _section(section: Section, level: int) -> Iterator[str]:
    anchor = f' id="{escape(section.anchor)}"' if section.anchor else ""
    yield f'<section{anchor} class="level{level}">'
    yield f"<h{level}>{escape(section.heading)}</h{level}>"
    yield from _paragraphs(section.text)
    if section.links:
        yield '<p class="links">' + " ".join(map(_inline, section.links)) + "</p>"
    for grid in section.grids:
        yield from _grid(grid)
    for chart in section.charts:
        yield from _figure(chart)
    for name, lines in (section.notes or {}).items():
        yield from _note(name, lines)
    for inner in section.sections:
        yield from _section(inner, min(level + 1, 6))
    yield "</section>"


def _paragraphs(text: Sequence[str]) -> Iterator[str]:
    yield from (f"<p>{escape(paragraph)}</p>" for paragraph in text)


def _facts(facts: Mapping[str, str]) -> Iterator[str]:
    if facts:
        yield '<dl class="facts">'
        yield from (f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in facts.items())
        yield "</dl>"


def _contents(sections: Sequence[Section]) -> Iterator[str]:
    linked = [section for section in sections if section.anchor]
    if len(linked) > 1:
        yield '<nav aria-label="Contents">'
        yield from _entries(linked)
        yield "</nav>"


def _entries(sections: Sequence[Section]) -> Iterator[str]:
    """Yield the list of sections, each with the list of those in it."""
    yield "<ul>"
    for section in sections:
        yield f'<li><a href="#{escape(section.anchor)}">{escape(section.heading)}</a>'
        inner = [each for each in section.sections if each.anchor]
        if inner:
            yield from _entries(inner)
        yield "</li>"
    yield "</ul>"


def _note(name: str, lines: Sequence[str]) -> Iterator[str]:
    yield f"<details><summary>{escape(name)}</summary><ul>"
    yield from (f"<li>{escape(line)}</li>" for line in lines)
    yield "</ul></details>"


def _figure(chart: Chart) -> Iterator[str]:
    """Yield a chart: its parts, drawn by the script, and its numbers as an accessible table."""
    yield f'<figure class="chart" id="{escape(chart.name)}">'
    yield f"<figcaption>{escape(chart.title)}</figcaption>"
    yield '<div class="parts">'
    for label, spec in vega_lite(chart):
        if label:
            yield f'<div class="part"><p class="label">{escape(label)}</p>'
        label_text = " ".join(text for text in (chart.title, chart.description, label) if text)
        yield f'<div class="vega" role="img" aria-label="{escape(label_text)}">'
        yield f'<script type="application/json">{_embedded(spec)}</script></div>'
        if label:
            yield "</div>"
    yield "</div>"
    for line in chart.key:
        yield f'<p class="key">{escape(line)}</p>'
    if chart.description:
        yield f'<p class="description">{escape(chart.description)}</p>'
    if chart.table.num_rows <= _MAX_NUMBERS:
        yield "<details><summary>Numbers</summary>"
        yield from _grid(_numbers(chart.table))
        yield "</details>"
    yield "</figure>"


def _numbers(table: pa.Table) -> Grid:
    rows = [[cell_text(value) for value in row.values()] for row in table.to_pylist()]
    return Grid("", table.column_names, rows)


def cell_text(value: object) -> str:
    """Return a value as the text of a cell."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.{_DIGITS}g}"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _grid(grid: Grid) -> Iterator[str]:
    """Yield a table that scrolls sideways on a narrow screen."""
    if grid.filter_by is not None:
        yield from _filter(grid, grid.filter_by)
    yield f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(grid.caption or "numbers")}">'
    yield "<table>"
    if grid.caption:
        yield f"<caption>{escape(grid.caption)}</caption>"
    yield "<thead><tr>" + "".join(f'<th scope="col">{escape(head)}</th>' for head in grid.heads) + "</tr></thead>"
    yield "<tbody>"
    for row in grid.rows:
        cells = [cell if isinstance(cell, Cell) else Cell(cell) for cell in row]
        kind = "" if grid.filter_by is None else f' data-kind="{escape(cells[grid.filter_by].text)}"'
        yield f"<tr{kind}>" + "".join(map(_cell, cells, grid.heads)) + "</tr>"
    yield "</tbody></table></div>"


def _cell(cell: Cell, head: str) -> str:
    text = _inline(cell)
    if cell.note:
        text += f'<small class="note">{escape(cell.note)}</small>'
    number = ' class="number"' if cell.text.replace(",", "").replace(".", "").replace("-", "").isdigit() else ""
    anchor = f' id="{escape(cell.anchor)}"' if cell.anchor else ""
    return f'<td{number}{anchor} data-head="{escape(head)}">{text}</td>'


def _inline(cell: Cell) -> str:
    """Return the text of a cell, marked and linked."""
    text = escape(cell.text)
    if cell.mark:
        text = f'<span class="mark {escape(cell.mark)}">{text}</span>'
    return f'<a href="#{escape(cell.link)}">{text}</a>' if cell.link else text


def _filter(grid: Grid, column: int) -> Iterator[str]:
    """Yield a button for each value of the column, with its number of rows."""
    texts = [cell.text if isinstance(cell, Cell) else cell for cell in (row[column] for row in grid.rows)]
    yield f'<div class="filter" role="group" aria-label="Filter by {escape(grid.heads[column])}">'
    yield f'<button type="button" aria-pressed="true" data-kind="">all {len(texts)} {escape(grid.rows_are)}</button>'
    for text in grid.filters or dict.fromkeys(texts):
        count = texts.count(text)
        yield f'<button type="button" aria-pressed="false" data-kind="{escape(text)}">{escape(text)}: {count}</button>'
    yield "</div>"


def _all(sections: Sequence[Section]) -> Iterator[Section]:
    for section in sections:
        yield section
        yield from _all(section.sections)


def _embedded(spec: Mapping[str, object]) -> str:
    """Return JSON that cannot close the script element around it."""
    return json.dumps(spec, ensure_ascii=False, allow_nan=False).replace("<", "\\u003c")


def _script(text: str) -> str:
    return "<script>\n" + text.replace("</script", "<\\/script") + "\n</script>"


def _part(name: str) -> str:
    return files("cbnet_lab.report").joinpath(name).read_text(encoding="utf-8")


@cache
def _vega() -> str:
    """Return Vega, Vega-Lite and vega-embed, in the version that the charts are written for."""
    import altair
    import vl_convert

    bundle: Any = vl_convert.javascript_bundle  # its type stub wrongly requires a snippet
    script: str = bundle(vl_version=".".join(altair.SCHEMA_VERSION.split(".")[:2]))
    return script
