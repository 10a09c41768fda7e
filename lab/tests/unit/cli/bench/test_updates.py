import json

from cbnet.matching.live_table import LiveTable
from cbnet_lab.bench.matching import updates


def test_updates_are_made_and_the_states_are_checked(cbnet, monkeypatch):
    monkeypatch.setattr(updates, "_IDLE_SECONDS", 0.1)
    outcome = cbnet("bench", "updates", "--filters", "2000", "--rate", "1000", "--seconds", "1", "--json")
    assert outcome.code == 0
    row = json.loads(outcome.out)
    assert row["equal"]
    assert row["checks"] == 10
    assert row["updates"] > 500
    assert {"updates_per_second", "us_update", "us_match_idle", "us_match_busy", "speed_kept", "merges"} <= row.keys()


def test_an_update_that_is_lost_is_found(cbnet, monkeypatch):
    monkeypatch.setattr(updates, "_IDLE_SECONDS", 0.1)
    monkeypatch.setattr(LiveTable, "remove", lambda *_: True)
    outcome = cbnet("bench", "updates", "--filters", "2000", "--rate", "3000", "--seconds", "1")
    assert outcome.code == 1
    assert "wrong answers: the table under updates" in outcome.err
