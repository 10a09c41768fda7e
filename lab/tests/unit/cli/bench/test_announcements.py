"""`cbnet bench announcements` with a fixed result; tests/network/test_bench_announcements.py runs it with processes."""

import pytest

from cbnet_lab.bench.network import announcements
from cbnet_lab.bench.network.announcements import AnnouncementCost, AnnouncementRun, ValueRange
from cbnet_lab.bench.network.traffic import DeliveryCheck

SMALL = ("--topology", "tree:5", "--filters", 20, "--messages", 40, "--population", "tags")
RIGHT, WRONG = DeliveryCheck(10, 10, 0, 0, 0), DeliveryCheck(10, 9, 1, 0, 0)


@pytest.fixture
def result(monkeypatch):
    def fix(check):
        spread = ValueRange(1.0, 2.0, 3.0)
        run = AnnouncementRun(1.0, 2.0, 1.0, AnnouncementCost(10, 100, 1000), spread, spread, check)
        monkeypatch.setattr(announcements, "_measure", lambda *_: run)

    return fix


def test_announcements_are_shown_to_people(cbnet, result, monkeypatch):
    monkeypatch.setenv("COLUMNS", "180")
    result(RIGHT)
    outcome = cbnet("bench", "announcements", *SMALL)
    assert (outcome.code, outcome.err) == (0, "")
    for said in ("a client with 20 filters at each router", "flooding: frames", "2m - n + 1 = 4", "exactly once"):
        assert said in outcome.out


def test_inexact_delivery_is_exit_code_1(cbnet, result):
    result(WRONG)
    outcome = cbnet("bench", "announcements", *SMALL)
    assert outcome.code == 1
    assert "WRONG" in outcome.out
    assert "wrong answers: tags, trees 1: 1 missing, 0 duplicate" in outcome.err
