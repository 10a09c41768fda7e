"""The page of a pipeline run has what its manifests have, and nothing that they lack."""

from cbnet_lab.report.page import html
from cbnet_lab.report.pipeline_page import pipeline_page


def manifest(stage, facts=(), cost=(), **changes):
    return {
        "stage": stage, "version": 1, "parameters": {"seed": 7}, "inputs": {"files": "ab"}, "fingerprint": "0123456789abcdef",
        "run": "", "written": "2026-01-02T03:04:05+00:00", "rows": 1234, "bytes": 3 * 2**20,
        "seconds": 2.5, "cost": dict(cost), "facts": dict(facts), "files": [], "schema": None, **changes,
    }  # fmt: skip


TABLE1 = {
    "router": "r<1>",
    "root": 2,
    "interface": None,
    "destinations": 30,
    "tags": 90,
    "descriptors": 40,
    "announced": 20,
    "kept": 10,
    "bytes": 500,
}
FIT = {
    "sets": 4,
    "measures": [{"measure": "tags_per_set", "trace": 2.0, "synthetic": 2.5, "difference": 0.25}],
    "sizes": [{"size": 1, "trace": 3, "synthetic": 2}, {"size": 2, "trace": 1, "synthetic": 0}],
    "vocabulary": [{"users": 1, "trace": 1, "synthetic": 2}, {"users": 4, "trace": 4, "synthetic": 5}],
    "user_tags": [{"assigned": 2, "trace": 1.5, "synthetic": 1.0}],
}
RUN = {
    "sources/web": manifest("sources/web", {"lines": 200, "rejected": {"no tags": 3, "bad <row>": 1}}),
    "descriptors/web": manifest("descriptors/web", {"yield": {
        "unit": "bookmarks", "read": 196, "kept": None, "derived": 150, "users": 12, "tags": 400}}),
    "models": manifest("models", {"fits": {"web": FIT}}, inputs={"sets": "cd"}),
    "loads": manifest("loads", {
        "nodes": 50, "nodes_with_descriptors": 40, "descriptors": 1000, "tags": 2500,
        "largest": {"node": "r9", "descriptors": 500}, "hundredth": 510}),
    "table1": manifest(
        "table1", {"rows": [TABLE1], "interfaces": [{**TABLE1, "interface": "r5", "descriptors": 8, "kept": 2}]},
        {"executor_seconds": 7.25, "shuffle_bytes": 5 * 2**20, "failed_tasks": 0}, seconds=10.0),
}  # fmt: skip


def cells(page, heading):
    """Return the rows of the first table of a section."""
    (section,) = (each for each in page.sections if each.heading == heading)
    return [[getattr(cell, "text", cell) for cell in row] for row in section.grids[0].rows]


def test_the_page_states_what_the_manifests_hold():
    page = pipeline_page("out", RUN)
    assert page.text == [
        "5 stages in out, written from 2026-01-02T03:04:05+00:00 to 2026-01-02T03:04:05+00:00: 20 s, 15.0 MiB."
    ]
    assert cells(page, "Tables") == [["r<1>", "2", "all", "30", "90", "40", "20", "10", "500", "25.00%", "50.00%"]]
    assert cells(page, "Sources") == [["sources/web", "200", "4", "2.00%", "3 no tags; 1 bad <row>"]]
    assert cells(page, "Descriptors") == [["descriptors/web", "bookmarks", "196", "–", "150", "12", "400"]]
    assert ["share of the largest node, r9", "50.00%"] in cells(page, "Population")
    assert ["tags of each, on average", "2.50"] in cells(page, "Population")
    costs = {row[0]: row[1:] for row in cells(page, "Costs")}
    assert costs["table1"] == ["1,234", "3.0", "10.0", "7.2", "–", "–", "–", "0", "5", "–", "–"]
    assert cells(page, "Lineage")[2][:6] == ["models", "sets", "no", "seed = 7", "1", "0123456789ab"]


def test_curves_of_traces_and_models_are_drawn_with_what_a_logarithm_allows():
    (sets,) = (each for each in pipeline_page("out", RUN).sections if each.heading == "Sets and vocabulary")
    sizes, growth, tags = (chart.table.to_pylist() for chart in sets.charts)
    assert [(row["which"], row["size"], row["value"]) for row in sizes] == [
        ("trace", 1, 0.75), ("trace", 2, 0.25), ("synthetic", 1, 0.5),
    ]  # fmt: skip
    assert [(row["which"], row["users"], row["value"]) for row in growth] == [
        ("trace", 1, 1.0), ("trace", 4, 4.0), ("synthetic", 1, 2.0), ("synthetic", 4, 5.0),
    ]  # fmt: skip
    assert [(row["which"], row["assigned"], row["value"]) for row in tags] == [("trace", 2, 1.5), ("synthetic", 2, 1.0)]


def test_a_trace_that_is_held_out_of_the_fit_is_marked():
    page = pipeline_page("out", {"fit": manifest("fit", {"fits": {"a": FIT, "b": {"held_out": True, **FIT}}})})
    assert [row[0] for row in cells(page, "Sets and vocabulary")] == ["a", "b (held out)"]


def test_a_run_without_traces_has_no_sections_about_them():
    page = pipeline_page("out", {"models": manifest("models")})
    assert [section.heading for section in page.sections] == ["Costs", "Lineage"]


def test_names_are_escaped():
    text = html(pipeline_page("out", RUN))
    assert "r&lt;1&gt;" in text
    assert "<row>" not in text
