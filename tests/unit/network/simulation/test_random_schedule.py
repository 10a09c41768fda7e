"""Random schedules detect networks that are broken on purpose."""

import pytest

from cbnet.network.announce.announcer import Announcer
from cbnet.network.announce.confirmations import Confirmations
from cbnet.network.announce.subscriptions import Subscriptions
from cbnet.network.link.links import LinkTable
from cbnet.network.link.settings import LIVE_SCHEMES
from cbnet.network.linkstate.flooding import Flooding
from cbnet.network.linkstate.own_links import OwnLinks
from cbnet.network.linkstate.versions import Versions
from cbnet.network.simulation.random_schedule import RandomSchedule


def first_failure():
    for seed in range(60):
        verdict = RandomSchedule(seed, LIVE_SCHEMES[seed % len(LIVE_SCHEMES)]).run(25)
        if not verdict.is_good:
            return verdict
    return None


@pytest.mark.parametrize(
    ("part", "name", "broken"),
    [
        (Flooding, "greet", lambda *_: None),  # no summary after a new connection
        (Flooding, "flood", lambda *_, **__: None),
        (LinkTable, "check_liveness", lambda *_: None),  # half-open links are never noticed
        (OwnLinks, "supersede", lambda *_: None),  # earlier lives are ignored
        (Versions, "forget_earlier", lambda *_: None),
        (Announcer, "_collect_changes", lambda *_: None),  # only what a stream opens with is announced
    ],
)
def test_broken_part_is_detected(monkeypatch, part, name, broken):
    monkeypatch.setattr(part, name, broken)
    verdict = first_failure()
    assert verdict.missed or verdict.packets or verdict.tables or verdict.unsettled


def test_early_confirmation_is_detected(monkeypatch):
    monkeypatch.setattr(Confirmations, "missing", lambda *_, **__: [])
    verdict = first_failure()
    assert verdict.unkept
    assert not verdict.missed


def test_confirmations_are_checked():
    verdicts = [RandomSchedule(seed).run(25) for seed in range(10)]
    assert sum(verdict.confirmed for verdict in verdicts) > 50
    assert not any(verdict.unkept for verdict in verdicts)


def twice(matches):
    return matches._replace(clients={link: ids * 2 for link, ids in matches.clients.items()})


def everything(matches, subscriptions):
    clients = {link: list(by_id) for link, by_id in subscriptions._filters.items() if isinstance(link, int) and by_id}
    return matches._replace(clients=clients)


def test_duplicate_delivery_is_detected(monkeypatch):
    matched = Subscriptions.matched
    monkeypatch.setattr(Subscriptions, "matched", lambda *a: twice(matched(*a)))
    verdict = first_failure()
    assert verdict.duplicates
    assert not verdict.missed


def test_spurious_delivery_is_detected(monkeypatch):
    matched = Subscriptions.matched
    monkeypatch.setattr(Subscriptions, "matched", lambda self, content: everything(matched(self, content), self))
    assert first_failure().spurious
