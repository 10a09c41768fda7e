from cbnet_lab.experiments.chart_definition import declared_chart

ROWS = [
    {"case": case, "method": method, "filters": filters, "turn": turn, "us": us + turn}
    for case in ("I = 2", "I = F")
    for method, us in (("counting", 1000), ("pivot", 100))
    for filters in (10, 20)
    for turn in (0, 2, 4)
]


def chart_of(sources, **declared):
    return declared_chart({"name": "times", "title": "Times", "x": "filters", "y": "us", **declared}, sources)


def test_rows_are_selected_divided_and_labelled():
    chart = chart_of(
        {"rows": ROWS}, table="rows", y="ms", where={"method": ["counting"]}, without={"case": "I = F"},
        divide={"ms": ["us", 1000]}, labels={"of": "{case}, {method}"}, series="of", log="x",
    )  # fmt: skip
    assert set(chart.table["of"].to_pylist()) == {"I = 2, counting"}
    assert chart.table["ms"].to_pylist() == [1.0, 1.002, 1.004] * 2
    assert (chart.x_log, chart.y_log) == (True, False)


def test_points_are_medians_with_their_interval():
    chart = chart_of({"rows": ROWS}, table="rows", median=True, series="method", facet="case")
    assert chart.bands == (("low", "high"),)
    assert chart.table.num_rows == 2 * 2 * 2
    row = chart.table.to_pylist()[0]
    assert (row["us"], row["low"], row["high"]) == (1002.0, 1000.4, 1003.6)


def test_columns_become_rows():
    melt = {"value": "load", "label": "of", "columns": {"largest": "the busiest link", "mean": "mean"}}
    rows = [{"trees": 1, "largest": 0.3, "mean": 0.1}, {"trees": 2, "largest": 0.2, "mean": None}]
    chart = chart_of({"times": rows}, melt=melt, x="trees", y="load", series="of")
    shown = [(row["trees"], row["of"], row["load"]) for row in chart.table.to_pylist()]
    assert shown == [(1, "the busiest link", 0.3), (1, "mean", 0.1), (2, "the busiest link", 0.2)]


def test_computed_rows_may_have_references_and_a_title_from_the_first_row():
    chart = chart_of({"times": {"rows": ROWS, "references": (("limit", 5.0),)}}, title="{filters:,} filters")
    assert (chart.title, chart.references) == ("10 filters", (("limit", 5.0),))
    assert chart_of({"times": []}) is None
