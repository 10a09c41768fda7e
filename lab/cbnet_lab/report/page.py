"""HTML pages of charts and tables, in a single file that needs no network.

A page is plain data: nested sections of paragraphs, tables, charts and notes. `page.html.jinja` shows it. The file
contains everything it needs: the style, the script, and Vega once for all charts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from cbnet_lab.report.chart import Chart, vega_lite

if TYPE_CHECKING:
    from jinja2 import Template

_MAX_NUMBERS = 400  # rows of the table below a chart
_DIGITS = 5
_NO_PUNCTUATION = str.maketrans("", "", ",.-")


@dataclass(frozen=True)
class Cell:
    """A table cell; `mark` is a CSS class, `link` an anchor on the page."""

    text: str
    mark: str = ""
    link: str = ""
    note: str = ""  # small print below the text
    anchor: str = ""  # the anchor of the cell itself

    @property
    def is_number(self) -> bool:
        """Whether the text is a number, which is aligned to the right."""
        return self.text.translate(_NO_PUNCTUATION).isdigit()


@dataclass(frozen=True)
class Grid:
    """A table."""

    caption: str
    heads: Sequence[str]
    rows: Sequence[Sequence[Cell | str]]
    filter_by: int | None = None  # the column that the rows can be filtered by
    filters: Sequence[str] = ()  # the values to filter by, in the order of their buttons
    rows_are: str = "rows"  # the noun for the rows, on the button that shows all

    @property
    def cells(self) -> list[list[Cell]]:
        """The cells of each row."""
        return [[cell if isinstance(cell, Cell) else Cell(cell) for cell in row] for row in self.rows]

    @property
    def counts(self) -> dict[str, int]:
        """The number of rows with each value to filter by."""
        texts = [row[self.filter_by or 0].text for row in self.cells]
        return {text: texts.count(text) for text in self.filters or dict.fromkeys(texts)}


@dataclass(frozen=True)
class Section:
    """A section of a page."""

    heading: str
    anchor: str = ""
    text: Sequence[str] = ()
    grids: Sequence[Grid] = ()
    charts: Sequence[Chart] = ()
    notes: Mapping[str, Sequence[str]] | None = None  # collapsed lists, by their summary line
    sections: Sequence[Section] = ()
    links: Sequence[Cell] = ()  # a line of links below the heading


@dataclass(frozen=True)
class Page:
    """A page: title, facts about it, introduction, and sections, which the table of contents lists by heading."""

    title: str
    text: Sequence[str]
    sections: Sequence[Section]
    facts: Mapping[str, str] | None = None  # the main facts by name, such as scale, data and date


def html(page: Page) -> str:
    """Return the page as one HTML file."""
    from markupsafe import Markup

    has_charts = any(section.charts for section in _all(page.sections))
    scripts = [_vega(), _part("page.js")] if has_charts else [_part("page.js")]
    filters: dict[str, Callable[..., object]] = {"vega_lite": vega_lite, "embedded": _embedded, "rows_grid": rows_grid}
    return template("report/page.html.jinja", filters, max_numbers=_MAX_NUMBERS).render(
        page=page,
        style=Markup(_part("page.css")),
        scripts=[Markup(text.replace("</script", "<\\/script")) for text in scripts],
    )


def template(name: str, filters: Mapping[str, Callable[..., object]], **values: object) -> Template:
    """Return a template of the package, with its own filters and values; values are escaped, except in Markdown."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("cbnet_lab", ""), autoescape=".md." not in name, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    environment.filters |= filters
    return environment.get_template(name, globals=values)


def _cell_text(value: object) -> str:
    """Return a value as the text of a cell."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.{_DIGITS}g}"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def rows_grid(rows: Sequence[Mapping[str, object]], caption: str = "") -> Grid:
    """Return a table of rows that have the same columns."""
    cells = [[value if isinstance(value, Cell) else _cell_text(value) for value in row.values()] for row in rows]
    return Grid(caption, list(rows[0]) if rows else [], cells)


def _all(sections: Sequence[Section]) -> Iterator[Section]:
    for section in sections:
        yield section
        yield from _all(section.sections)


def _embedded(spec: Mapping[str, object]) -> str:
    """Return JSON that cannot close the script element around it."""
    from markupsafe import Markup

    return Markup(json.dumps(spec, ensure_ascii=False, allow_nan=False).replace("<", "\\u003c"))


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
