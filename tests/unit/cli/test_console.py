from cbnet.cli.console import add_cells, new_grid, results_console


def test_cells_of_a_wide_table_are_folded_not_cut(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "40")
    heads = ["engine", *(f"measurement{number}" for number in range(5))]
    grid = new_grid("", *heads)
    add_cells(grid, "pivot", *[1_234_567] * 5)
    results_console().print(grid)
    printed = capsys.readouterr().out
    assert "…" not in printed
    assert sorted(filter(str.isalnum, printed)) == sorted("".join(heads) + "pivot" + "1234567" * 5)
