"""Random schedules detect networks that are broken on purpose."""

import pytest

from cbnet.network.announce.announcement import Announcement
from cbnet.network.announce.subscriptions import Matches, Subscriptions
from cbnet.network.link.links import LinkTable
from cbnet.network.linkstate.flooding import Flooding
from cbnet.network.linkstate.own_links import OwnLinks
from cbnet.network.simulation.random_schedule import RandomSchedule
from cbnet.routing import SCHEMES


def first_failure():
    for seed in range(60):
        verdict = RandomSchedule(seed, SCHEMES[seed % len(SCHEMES)]).run(25)
        if not verdict.is_good:
            return verdict
    return None


def forget_covered_filters(self, gone):
    for filter in gone:
        self._coverer.pop(filter, None)
        if filter in self._covered:
            self._withdraw(filter)


@pytest.mark.parametrize(
    ("part", "name", "broken"),
    [
        (Flooding, "greet", lambda *_: None),  # no summary after a new connection
        (Flooding, "flood", lambda *_: None),
        (LinkTable, "check_liveness", lambda *_: None),  # half-open links are never noticed
        (OwnLinks, "supersede", lambda *_: None),  # earlier lives are ignored
        (Announcement, "_delete", forget_covered_filters),
    ],
)
def test_broken_part_is_detected(monkeypatch, part, name, broken):
    monkeypatch.setattr(part, name, broken)
    verdict = first_failure()
    assert verdict.missed or verdict.packets


def twice(matches):
    return matches._replace(clients={link: ids * 2 for link, ids in matches.clients.items()})


def everything(subscriptions):
    return Matches({link: list(by_id) for link, by_id in subscriptions._filters.items() if by_id}, [], False)


def test_duplicate_delivery_is_detected(monkeypatch):
    matched = Subscriptions.matched
    monkeypatch.setattr(Subscriptions, "matched", lambda *a: twice(matched(*a)))
    verdict = first_failure()
    assert verdict.duplicates
    assert not verdict.missed


def test_spurious_delivery_is_detected(monkeypatch):
    monkeypatch.setattr(Subscriptions, "matched", lambda self, _: everything(self))
    assert first_failure().spurious
