import math
from dataclasses import replace
from itertools import pairwise
from xml.etree import ElementTree

import pyarrow as pa
import pytest

from cbnet_lab.report.chart import Chart, PublishedValue, csv, svg, vega_lite
from cbnet_lab.report.chart_layers import COLOURS

TABLE = pa.table(
    {
        "filters": [10, 1000, 10, 1000, 10],
        "ms": [0.1, 3.0, 0.2, 30.0, 0.0],
        "low": [0.05, 2.0, 0.1, 20.0, 0.0],
        "high": [0.2, 4.0, 0.4, 60.0, 0.0],
        "interfaces": ["I = 2", "I = 2", "I = F", "I = F", "I = 2"],
        "names": [100, 100, 100, 100, 1000],
    }
)
CHART = Chart(
    "time",
    "Time by filters",
    TABLE,
    "filters",
    "ms",
    series="interfaces",
    x_title="filters",
    y_title="ms for a message",
    bands=(("low", "high"), ("low", "high")),
    references=(("paper", 25.0),),
    description="Time grows with filters.",
)


def _all(spec, key):
    """Yield every value of a key, at any depth."""
    if isinstance(spec, dict):
        if key in spec:
            yield spec[key]
        for value in spec.values():
            yield from _all(value, key)
    elif isinstance(spec, list):
        for value in spec:
            yield from _all(value, key)


def _data(spec):
    return next(rows for rows in spec["datasets"].values() if "filters" in rows[0])


@pytest.mark.parametrize("kind", ["line", "points", "bars", "boxes"])
def test_every_kind_is_drawn_with_its_titles_and_description(kind):
    drawing = svg(replace(CHART, kind=kind))
    assert ElementTree.fromstring(drawing).tag.endswith("svg")
    for text in ("Time by filters", "filters", "ms for a message", "I = 2", "I = F", "dashed line: paper"):
        assert f">{text}<" in drawing
    spec = vega_lite(replace(CHART, kind=kind))
    assert spec["description"] == "Time grows with filters."


@pytest.mark.parametrize("kind", ["line", "points", "bars", "boxes"])
def test_published_values_are_diamonds_with_their_label_in_the_key(kind):
    published = (PublishedValue("25 ms", 10, 25.0), PublishedValue("1 to 90 ms", 1000, 1.0, 90.0))
    chart = replace(CHART, kind=kind, published=published)
    assert chart.key == ("dashed line: paper", "◆ in the paper: 25 ms; 1 to 90 ms")
    spec = vega_lite(chart)
    datasets = [*spec["datasets"].values()]
    assert [[row["y"] for row in rows] for rows in datasets if "y" in rows[0] and len(rows) == 3] == [[25.0, 1.0, 90.0]]
    assert [[(row["y"], row["y_high"]) for row in rows] for rows in datasets if "y_high" in rows[0]] == [[(1.0, 90.0)]]
    assert [layer["mark"].get("shape") for layer in spec["layer"]].count("diamond") == 1
    assert max(scale["domain"][1] for scale in _all(spec, "scale") if scale.get("domain", [0])[0] == 0) >= 90.0
    assert not [layer for layer in spec["layer"] if layer["mark"]["type"] == "text"]  # labels would overlap


def test_published_value_of_a_facet_is_drawn_there_only():
    chart = replace(CHART, facet="names", published=(PublishedValue("25 ms", 10, 25.0, facet=100),))
    shapes = [[layer["mark"].get("shape") for layer in spec["layer"]] for spec in vega_lite(chart)["concat"]]
    assert ["diamond" in each for each in shapes] == [True, False]


def test_values_without_a_logarithm_are_left_out():
    spec = vega_lite(replace(CHART, y_log=True))
    assert [row["ms"] for row in _data(spec)] == [0.1, 3.0, 0.2, 30.0]
    assert {scale["type"] for scale in _all(spec, "scale") if "type" in scale} == {"log"}


def test_infinities_and_nan_become_null():
    spec = vega_lite(
        replace(CHART, table=pa.table({"filters": [1, 2], "ms": [float("nan"), 1.0]}), series=None, bands=())
    )
    assert [row["ms"] for row in _data(spec)] == [None, 1.0]


def test_facets_share_their_scales_and_colours():
    parts = vega_lite(replace(CHART, facet="names"))["concat"]
    assert [part["title"] for part in parts] == ["100", "1000"]
    domains = [[scale["domain"] for scale in _all(part, "scale") if "domain" in scale] for part in parts]
    assert domains[0] == domains[1]
    assert svg(replace(CHART, facet="names")).count(">ms for a message<") == 2


def _luminance(colour):
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("background", ["#ffffff", "#14181f"])
def test_colours_contrast_with_light_and_dark_backgrounds(background):
    for colour in COLOURS:
        dark, light = sorted((_luminance(colour), _luminance(background)))
        assert (light + 0.05) / (dark + 0.05) >= 3


@pytest.mark.parametrize(
    ("values", "ticks"),
    [
        ([3, 30_000], [10, 100, 1_000, 10_000]),
        ([3_000, 25_000], [5_000, 10_000, 20_000]),
        ([1, 16], [1, 2, 5, 10]),
    ],
)
def test_logarithmic_axis_has_neither_too_few_nor_too_many_ticks(values, ticks):
    assert _ticks(values) == pytest.approx(ticks)


def test_ticks_are_equally_spaced_over_many_decades():
    ticks = _ticks([1e-30, 1])
    assert 4 <= len(ticks) <= 11
    assert len({round(math.log10(later / earlier)) for earlier, later in pairwise(ticks)}) == 1


def _ticks(values):
    table = pa.table({"n": [1, 2], "value": [float(value) for value in values]})
    spec = vega_lite(Chart("ticks", "Ticks", table, "n", "value", y_log=True))
    return next(axis["values"] for axis in _all(spec, "axis") if "values" in axis)


def _drawn_points(chart):
    """Return the places of the round marks of an SVG."""
    paths = [
        element for element in ElementTree.fromstring(svg(chart)).iter() if element.get("d", "").startswith("M3.354")
    ]
    return [tuple(map(float, path.get("transform")[10:-1].split(","))) for path in paths]


def test_points_that_cover_each_other_are_drawn_once_and_outliers_stay():
    # 300 equal points; 60 pairs of equal ones, with 10 pixels from one pair to the next; one far away.
    x, y = [5.0] * 300 + [5.0 * number for number in range(60)] * 2 + [310.0], [2.0] * 300 + [1.0] * 120 + [9.0]
    table = pa.table({"filters": x, "ms": y, "interfaces": ["I = 2"] * 421})
    points = Chart("points", "Points", table, "filters", "ms", kind="points", series="interfaces")
    drawn = _drawn_points(points)
    assert len(drawn) == 1 + 60 + 1
    assert max(drawn)[1] == min(line for _, line in drawn) < 10  # the outlier, at the top right
    assert csv(points).count("\n") == 1 + 421
    both = pa.table({"filters": x[:2], "ms": y[:2], "interfaces": ["I = 2", "I = F"]})
    assert len(_drawn_points(replace(points, table=both))) == 2
