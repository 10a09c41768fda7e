"""What a person sees of folded tables and of several trees."""

from io import StringIO
from types import SimpleNamespace

from rich.console import Console

from cbnet.cli.pipeline.run_output import extra_grids


def outcome(name, **facts):
    return SimpleNamespace(name=name, result=SimpleNamespace(facts=facts))


def lines(*outcomes):
    console = Console(width=80, file=StringIO())
    for grid in extra_grids(outcomes):
        console.print(grid)
    return [" ".join(line.split()) for line in console.file.getvalue().splitlines() if line.strip()]


def test_folded_tables_stand_beside_that_of_one_tree():
    stages = [
        outcome(f"folded/{k}", k=k, rows=[{"router": "a", "entries": entries, "bytes": 50 * entries}])
        for k, entries in ((8, 3000), (1, 2000))
    ]
    found = lines(*stages)
    assert found[-2:] == ["1 a 2,000 1.00 × 100,000", "8 a 3,000 1.50 × 150,000"]
    assert lines(stages[0])[-1] == "8 a 3,000 150,000"  # nothing to compare with


def test_paths_on_several_trees_are_beside_the_papers():
    band = {"sources": {"mean": 1.234, "p1": 0.5, "p99": 2.5}}
    finding = {"ties": "smallest", "k": 8, "extra_mean": band, "extra_worst": band}
    found = lines(outcome("curves", findings=[finding | {"interfaces": {"p99": 3.0, "largest": [6, 8]}}]))
    assert found[-3:] == ["smallest 8 1.23 0.5…2.5 1.23 0.5…2.5 3 8", "[2014] 8 1…2 2.5…5.5", "[2014] 128 90"]


def test_a_run_without_them_shows_nothing_more():
    assert lines(outcome("table1", rows=[])) == []
