import pytest

from cbnet_lab.report.result_sections import rows_section

SIMULATED = [
    {"scheme": "psf", "packets": 26, "spurious": 0, "state_bits": 428_438, "state_bits_formula": 440_354},
    {"scheme": "ips", "packets": 26, "spurious": 3, "state_bits": 343_255, "state_bits_formula": None},
]
ENGINES = [{"engine": "pivot", "filters": 1000, "us_single": 2.5, "us_batch": None}]
TAGS = [{"table": "tags", "us_single": 2.5, "us_batch": 1.5, "bytes_per_descriptor": 26.0}]
TABLE_1 = [
    {"router": 7, "interface": None, "descriptors": 10, "kept": 4},
    {"router": 7, "interface": 2, "descriptors": 6, "kept": 3},
]


@pytest.mark.parametrize(
    ("rows", "heading", "charts"),
    [
        (SIMULATED, "Simulation: a file", ["Packets by scheme", "State of all routers by scheme"]),
        (ENGINES, "Engines: a file", ["Time per message"]),
        (TAGS, "Tag tables: a file", ["Time per message", "Bytes per descriptor"]),
        (TABLE_1, "Table 1: a file", ["Descriptors registered and kept"]),
        ([{"alpha": 0.5}], "a file", []),
    ],
)
def test_rows_are_recognised_by_their_columns(rows, heading, charts):
    section = rows_section("a file", rows)
    assert section.heading == heading
    assert [chart.title for chart in section.charts] == charts
    assert len(section.grids[0].rows) == len(rows)


def test_missing_values_are_not_drawn():
    _, state = rows_section("a file", SIMULATED).charts
    assert state.table.to_pylist() == [
        {"of": "psf", "which": "counted", "bits": 428_438},
        {"of": "psf", "which": "by the paper's formula", "bits": 440_354},
        {"of": "ips", "which": "counted", "bits": 343_255},
    ]


def test_cells_are_formatted_for_reading():
    grid = rows_section("a file", [{"a_b": 1_000, "c": 0.1234567, "d": None, "e": True, "f": [1, "x"]}]).grids[0]
    assert list(grid.heads) == ["a b", "c", "d", "e", "f"]
    assert grid.rows[0] == ["1,000", "0.12346", "", "yes", '[1, "x"]']


def test_only_the_first_of_many_rows_are_shown():
    section = rows_section("a file", [{"n": n} for n in range(600)])
    assert len(section.grids[0].rows) == 500
    assert section.text == ["The first 500 of 600 rows."]
