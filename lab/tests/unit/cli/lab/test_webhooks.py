import json

from cbnet import Table


def written(cbnet, folder, *options):
    assert cbnet("lab", "webhooks", "--output", folder, *options).code == 0
    return (folder / "events.jsonl").read_text(), (folder / "rules.jsonl").read_text()


def test_files_have_the_numbers_of_the_options(cbnet, tmp_path):
    events, rules = written(cbnet, tmp_path / "new" / "folder", "--rules", "7", "--events", "30")
    assert len(events.splitlines()) == 30
    assert len(rules.splitlines()) == 1 + 7  # the first line states the dialect


def test_rules_have_distinct_names_and_match_some_events(cbnet, tmp_path):
    events, _ = written(cbnet, tmp_path, "--events", "1000")
    table = Table.open(tmp_path / "rules.jsonl")
    assert len(table) == 200
    assert {table.rule(name).metadata["team"] for name in table} == {"shop", "code", "cluster"}
    assert any(table.match(json.loads(event)) for event in events.splitlines())


def test_seed_decides(cbnet, tmp_path):
    first = written(cbnet, tmp_path, "--events", "20")
    assert written(cbnet, tmp_path, "--events", "20") == first
    other = written(cbnet, tmp_path, "--events", "20", "--seed", "1")
    assert all(text != previous for text, previous in zip(other, first, strict=True))
