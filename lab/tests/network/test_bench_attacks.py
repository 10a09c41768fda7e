"""The attacks of `cbnet bench attacks`, each for a moment, against one ring of router processes."""

import json
from contextlib import nullcontext

import pytest

from cbnet_lab.faults.attacks import trial as trial_module
from cbnet_lab.faults.attacks.attacks import ATTACKS
from cbnet_lab.faults.attacks.trial import AttackTrial

pytestmark = pytest.mark.long
SECONDS = 0.3


@pytest.fixture(scope="module")
def trial():
    with AttackTrial() as started:
        yield started


@pytest.mark.parametrize("name", ATTACKS)
def test_honest_clients_lose_nothing(trial, name):
    row = trial.run(name, SECONDS, lambda _: None)
    assert row.broken == [], row.told
    assert row.during.probes > 0


def test_an_attack_is_a_command(cbnet, trial, monkeypatch):
    monkeypatch.setattr(trial_module, "AttackTrial", lambda: nullcontext(trial))
    outcome = cbnet("bench", "attacks", "--attack", "origins", "--seconds", SECONDS, "--json")
    assert outcome.code == 0, outcome.err
    row = json.loads(outcome.out)
    assert (row["attack"], row["lost"], row["dead_links"], row["broken"]) == ("origins", 0, 0, [])
    assert row["told"]["403 pages of https://attacker.example may not use this router"] > 0
    assert 0 < row["memory_before_mb"] <= row["memory_peak_mb"]
    assert row["before_probes"] > 0
