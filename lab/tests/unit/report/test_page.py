import re

import pyarrow as pa

from cbnet_lab.report.chart import Chart
from cbnet_lab.report.page import Cell, Grid, Page, Section, html

CHART = Chart(
    "times", "Times", pa.table({"x": [1, 2], "ms": [0.12345678, None]}), "x", "ms", description="It </script> grows."
)


def without_vega(text):
    return text.partition("<script>")[0]


def test_page_loads_nothing_from_elsewhere():
    text = without_vega(html(Page("A page", ["About it."], [Section("One", charts=[CHART])])))
    assert not re.search(r"<(script|img|iframe)[^>]* src=|<link[^>]* href=\"(?!data:)|@import", text)


def test_all_text_is_escaped():
    rows = [[Cell("<i>&", "holds", "there", "<u>"), "<b>"]]
    page = Page(
        "<title>", ["<p>"], [Section("<h>", "a<b", ["<t>"], [Grid("<c>", ["<x>", "y"], rows)], notes={"<n>": ["<l>"]})]
    )
    text = html(page)
    for text_part in ("<i>", "<u>", "<b>", "<p><p>", "<h>", "<t>", "<c>", "<x>", "<n>", "<l>"):
        assert text_part not in text
    for text_part in ("&lt;i&gt;&amp;", "&lt;b&gt;", "&lt;c&gt;", "&lt;n&gt;", "&lt;l&gt;"):
        assert text_part in text


def test_chart_cannot_close_its_script():
    text = html(Page("A page", [], [Section("One", charts=[CHART])]))
    [spec] = re.findall(r'<script type="application/json">(.*?)</script>', text)
    assert r"It \u003c/script> grows." in spec


def test_numbers_are_below_the_chart():
    text = without_vega(html(Page("A page", [], [Section("One", charts=[CHART])])))
    assert re.findall(r"<td[^>]*>([^<]*)</td>", text) == ["1", "0.12346", "2", "–"]


def test_only_a_page_with_charts_contains_vega():
    assert len(html(Page("A page", [], [Section("One")]))) < 30_000
    assert "vegaEmbed" in html(Page("A page", [], [Section("One", sections=[Section("Two", charts=[CHART])])]))


def test_filter_counts_the_rows_of_each_value():
    grid = Grid(
        "", ["n", "verdict"], [["1", "no"], ["2", "yes"], ["3", "no"]], filter_by=1, filters=["yes", "no", "open"]
    )
    text = html(Page("A page", [], [Section("One", grids=[grid])]))
    assert re.findall(r"<button[^>]*>([^<]*)</button>", text) == ["all 3 rows", "yes: 1", "no: 2", "open: 0"]
