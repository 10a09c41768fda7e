"""What a person sees of yields, folded tables and several trees."""

from io import StringIO
from types import SimpleNamespace

from rich.console import Console

from cbnet.cli.pipeline.run_output import extra_grids, yield_grid


def outcome(name, **facts):
    return SimpleNamespace(name=name, result=SimpleNamespace(facts=facts))


def lines_of(*grids):
    console = Console(width=80, file=StringIO())
    for grid in grids:
        console.print(grid)
    return [" ".join(line.split()) for line in console.file.getvalue().splitlines() if line.strip(" ─")]


def lines(*outcomes):
    return lines_of(*extra_grids(outcomes))


def test_folded_tables_stand_beside_that_of_one_tree():
    stages = [
        outcome(f"folded/{k}", k=k, rows=[{"router": "a", "entries": entries, "bytes": 50 * entries}])
        for k, entries in ((8, 3000), (1, 2000))
    ]
    found = lines(*stages)
    assert found[-2:] == ["1 a 2,000 1.00 × 100,000", "8 a 3,000 1.50 × 150,000"]
    assert lines(stages[0])[-1] == "8 a 3,000 150,000"  # nothing to compare with


def test_a_run_without_them_shows_nothing_more():
    assert lines(outcome("table1", rows=[])) == []


def test_yields_are_printed_beside_the_papers():
    counts = {
        "app": "video", "unit": "videos", "product": "offers",
        "read": 4, "users_read": 2, "tags_read": 10, "kept": 3, "derived": 3, "users": 2, "tags": 6,
    }  # fmt: skip
    assert lines_of(yield_grid("video", counts)) == [
        "video: videos to offers",
        "here [2014]",
        "videos read 4 10,351",
        "of users 2 782",
        "tags of each 2.50 –",
        "videos kept 3 –",
        "share of the videos 75.0% –",
        "offers derived 3 –",
        "of users 2 –",
        "share of the users 100.0% –",
        "for each user 1.50 –",
        "for each of the videos 0.75 –",
        "tags of each 2.00 –",
    ]
    assert lines_of(yield_grid("films", counts))[0] == "films, as video: videos to offers"
