"""Report pages in a real browser: complete, narrow and wide, light and dark."""

from collections import Counter
from itertools import combinations, pairwise

import pyarrow as pa
import pytest

from cbnet_lab.experiments.claim import VERDICTS, Finding, claims
from cbnet_lab.experiments.experiment import Experiment
from cbnet_lab.experiments.page import reproduction_page
from cbnet_lab.experiments.reproduce import ExperimentOutcome
from cbnet_lab.report.chart import Chart, PublishedValue
from cbnet_lab.report.page import Page, Section, html, rows_grid

TABLE = pa.table(
    {
        "filters": [10, 1000, 10, 1000],
        "ms": [0.1, 3.0, 0.2, 30.0],
        "low": [0.05, 2.0, 0.1, 20.0],
        "high": [0.2, 4.0, 0.4, 60.0],
        "engine": ["counting", "counting", "pivot </script>", "pivot </script>"],
        "names": [50, 50, 100, 100],
    }
)
KINDS = {
    "line": {"bands": (("low", "high"),), "y_log": True, "x_log": True},
    "points": {"references": (("paper", 25.0),), "published": (PublishedValue("30 ms", 1000, 30.0),)},
    "bars": {},
    "boxes": {"bands": (("low", "high"), ("low", "high"))},
}
CHARTS = (
    *(
        Chart(
            kind,
            f"As {kind}",
            TABLE,
            "filters",
            "ms",
            kind,
            series="engine",
            description="It grows.",
            **more,
        )
        for kind, more in KINDS.items()
    ),
    Chart("facets", "By names", TABLE, "filters", "ms", facet="names", description="Both grow."),
)

MANIFEST = {
    "scale": "quick", "seed": 0, "seconds": 1.0, "version": "1", "parameters": {"filters": [10, 1000]},
    "machine": {"processor": "a processor", "cores": 2, "memory_gb": 4.0, "system": "Linux", "python": "3"},
    "tables": {"times": 4},
}  # fmt: skip
FINDINGS = (
    Finding(5, "300 ms", "holds"),
    Finding(6, "slopes of 0.1", "differs", "the machine is another"),
    Finding(7, "10 ×", "fails", "<b>the paper errs</b>"),
)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    experiment = Experiment("2001-figure-9", "Time by filters", "§4.2", (5, 6, 7), {}, None, choices=("A choice.",))
    page = reproduction_page([ExperimentOutcome(experiment, MANIFEST, FINDINGS, CHARTS)])
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(html(page), encoding="utf-8")
    return path


@pytest.mark.parametrize("colours", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1300])
def test_all_charts_are_drawn_and_nothing_overflows(visit, path, width, colours):
    page = visit(path, width=width, colours=colours)
    charts = page.locator(".vega")
    assert charts.count() == len(KINDS) + 2  # the facets are two
    for chart in charts.all():
        assert chart.get_attribute("data-drawn") == "yes"
        drawing = chart.locator("svg.marks").bounding_box()
        assert drawing["width"] > 200
        assert drawing["height"] > 150
        assert drawing["x"] + drawing["width"] <= width
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("columns", [13, 40])
def test_wide_tables_wrap_or_scroll_inside_the_page(visit, tmp_path, width, columns):
    row = {f"column number {number}": 123_456 for number in range(columns)}
    path = tmp_path / "report.html"
    path.write_text(html(Page("Rows", [], [Section("All", "all", [], [rows_grid([row])])])), encoding="utf-8")
    page = visit(path, width=width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    table = page.locator(".scroll").first
    hidden = table.evaluate("node => node.scrollWidth - node.clientWidth")
    if columns == 13 or width == 390:  # headings wrap, and a phone shows each row as a card
        assert hidden == 0
        return
    assert hidden > 0
    table.evaluate("node => { node.scrollLeft = node.scrollWidth; }")
    last = page.locator(".scroll td").last.bounding_box()
    assert last["x"] + last["width"] <= width


def test_every_chart_has_an_alternative_text_and_its_numbers(visit, path):
    page = visit(path)
    for chart in CHARTS:
        figure = page.locator(f"#chart-2001-figure-9-{chart.name}")
        for drawing in figure.locator(".vega").all():
            assert drawing.get_attribute("aria-label").startswith(f"{chart.title} {chart.description}")
        assert figure.locator("tbody tr").count() == TABLE.num_rows


def test_table_of_claims_is_complete(visit, path):
    rows = visit(path).evaluate(
        "[...document.querySelectorAll('#claims tbody tr')].map((row) => [row.innerText, row.dataset.kind])"
    )
    for claim, (text, verdict) in zip(claims().values(), rows, strict=True):
        assert text.split()[0] == str(claim.number)
        assert claim.statement in text
        assert claim.value in text
        assert verdict in {*VERDICTS.values(), "not run"}


def test_claims_can_be_filtered_by_verdict(visit, path):
    page = visit(path)
    visible = page.locator("#claims tbody tr:visible")
    tested = Counter(claim.verdict for claim in claims().values() if claim.tests)
    labels = {
        "holds": 1 + tested["holds"], "holds with a difference": 1 + tested["differs"],
        "does not hold": 1 + tested["fails"], "not run": len(claims()) - 3 - tested.total(),
    }  # fmt: skip
    for label, count in labels.items():
        button = page.get_by_role("button", name=f"{label}: {count}", exact=True)
        button.click()
        assert button.get_attribute("aria-pressed") == "true"
        assert visible.count() == count
    page.get_by_role("button", name="all 90 claims").click()
    assert visible.count() == len(claims())


def test_claim_links_to_its_experiment(visit, path):
    page = visit(path)
    page.locator("#claims").get_by_role("link", name="7", exact=True).click()
    assert page.evaluate("location.hash") == "#2001-figure-9"
    assert page.locator(":target h3").inner_text() == "§4.2: Time by filters"
    page.locator(":target .links").get_by_role("link", name="7 does not hold").click()
    assert page.evaluate("location.hash") == "#claim-7"


def test_page_opens_with_scale_data_and_date_and_lists_its_figures(visit, path):
    page = visit(path)
    assert page.locator(".facts dt").all_inner_texts()[:4] == ["Scale", "Internet graph", "User traces", "Date"]
    assert page.locator(".facts").bounding_box()["y"] < 200
    assert page.get_by_role("navigation", name="Contents").get_by_role("link").all_inner_texts()[-1] == (
        "§4.2: Time by filters"
    )


@pytest.mark.parametrize("width", [360, 1300])
def test_labels_of_a_chart_do_not_overlap(visit, path, width):
    page = visit(path, width=width)
    boxes = page.evaluate(
        """() => [...document.querySelectorAll('.vega svg')].map((drawing) => [...drawing.querySelectorAll('text')]
             .filter((text) => text.textContent && getComputedStyle(text).opacity != '0')
             .map((text) => [text.textContent, text.getBoundingClientRect()])
             .map(([text, box]) => [text, box.left, box.right, box.top, box.bottom]))"""
    )
    for drawing in boxes:
        for one, other in combinations(drawing, 2):
            is_beside = one[2] <= other[1] + 1 or other[2] <= one[1] + 1
            assert is_beside or one[4] <= other[3] + 2 or other[4] <= one[3] + 2, (one[0], other[0])


def test_click_on_the_legend_selects_a_series(visit, path):
    page = visit(path)
    lines = page.locator("#chart-2001-figure-9-line .mark-line path")
    opacities = lambda: sorted(float(line.get_attribute("opacity") or 1) for line in lines.all())  # noqa: E731
    assert opacities() == [1, 1]
    page.locator("#chart-2001-figure-9-line").get_by_text("counting", exact=True).first.click()
    page.wait_for_function(
        "document.querySelectorAll('#chart-2001-figure-9-line .mark-line path[opacity=\"0.15\"]').length == 1"
    )
    assert opacities() == [0.15, 1]


def test_ids_are_unique(visit, path):
    names = visit(path).evaluate("[...document.querySelectorAll('[id]')].map((node) => node.id)")
    assert len(names) == len(set(names))
    assert "chart-2001-figure-9-line" in names


def test_heading_levels_are_not_skipped(visit, path):
    levels = [int(heading.evaluate("node => node.tagName")[1]) for heading in visit(path).locator("h1,h2,h3,h4").all()]
    assert levels[0] == 1
    assert all(later <= earlier + 1 for earlier, later in pairwise(levels))


def test_text_is_never_interpreted_as_html(visit, path):
    page = visit(path)
    assert page.locator("#claims b").count() == 0
    assert page.get_by_text("<b>the paper errs</b>").first.is_visible()
    assert "pivot </script>" in page.locator("#chart-2001-figure-9-line").inner_text()


def test_charts_are_redrawn_when_the_colour_scheme_changes(visit, path):
    page = visit(path)
    colour = lambda: page.locator("#chart-2001-figure-9-line .role-axis-title text").first.get_attribute("fill")  # noqa: E731
    before = colour()
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(
        f"document.querySelector('#chart-2001-figure-9-line .role-axis-title text')?.getAttribute('fill') != '{before}'"
    )
    assert colour() != before


def _luminance(colour):
    parts = [int(part) / 255 for part in colour[4:-1].split(",")[:3]]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("colours", ["light", "dark"])
def test_text_has_enough_contrast(visit, path, colours):
    page = visit(path, colours=colours)
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    pairs = page.evaluate(
        """() => [...document.querySelectorAll('h1,h2,h3,p,td,th,a,small,summary,li,button,caption,.mark')].map((node) => {
             const colour = getComputedStyle(node).color;
             let behind = node;
             const opaque = (each) => !/^rgba\\(.*, 0(\\.\\d+)?\\)$/.test(getComputedStyle(each).backgroundColor);
             while (behind.parentElement && !opaque(behind)) behind = behind.parentElement;
             return [colour, getComputedStyle(behind).backgroundColor];
           })"""
    )
    for text, behind in {tuple(pair) for pair in pairs}:
        dark, light = sorted((_luminance(text), _luminance(behind)))
        assert (light + 0.05) / (dark + 0.05) >= 4.5, (text, behind)
