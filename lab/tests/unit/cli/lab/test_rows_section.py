from cbnet_lab.cli.lab.report import rows_section


def test_cells_are_formatted_for_reading():
    grid = rows_section("a file", [{"a_b": 1_000, "c": 0.1234567, "d": None, "e": True, "f": [1, "x"]}]).grids[0]
    assert list(grid.heads) == ["a b", "c", "d", "e", "f"]
    assert grid.rows[0] == ["1,000", "0.12346", "–", "yes", '[1, "x"]']


def test_only_the_first_of_many_rows_are_shown():
    section = rows_section("a file", [{"n": n} for n in range(600)])
    assert len(section.grids[0].rows) == 500
    assert section.text == ["The first 500 of 600 rows."]
