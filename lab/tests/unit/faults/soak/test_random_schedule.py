"""Random schedules detect networks that are broken on purpose."""

import pytest
from support.growing_networks import GrowingNetwork

from cbnet.network.announce.announcer import Announcer
from cbnet.network.announce.stream_table import StreamTable
from cbnet.network.announce.streams import Incoming
from cbnet.network.announce.subscriptions import Matches, Subscriptions
from cbnet.network.forwarding.forwarder import Forwarder
from cbnet.network.link.counters import DropReason
from cbnet.network.link.links import LinkTable
from cbnet.network.linkstate.flooding import Flooding
from cbnet.routing.aggregation.aggregation import Aggregation, Difference
from cbnet_lab.faults.soak.random_schedule import RandomSchedule

_take = Aggregation.take


def first_failure():
    for seed in range(20):
        verdict = RandomSchedule(seed).run(25)
        if not verdict.is_good:
            return verdict
    return None


def forget_covered_filters(self, target):
    difference = _take(self, target)
    return Difference([], difference.removed) if difference.removed else difference


def use_no_other_side(self, link):
    stream = self.from_side(link._replace(heard=link.matched))
    return [] if stream is None else [stream]


@pytest.mark.parametrize(
    ("part", "name", "broken"),
    [
        (Flooding, "flood", lambda *_, **__: None),
        (LinkTable, "check_liveness", lambda *_: None),  # half-open links are never noticed
        (Aggregation, "take", forget_covered_filters),  # what a removed filter covered is not announced
        (Forwarder, "_is_new", lambda *_: True),
    ],
)
def test_broken_part_is_detected(monkeypatch, part, name, broken):
    monkeypatch.setattr(part, name, broken)
    verdict = first_failure()
    found = verdict.missed or verdict.unkept or verdict.packets or verdict.duplicates or verdict.tables
    assert found or verdict.unsettled


@pytest.mark.parametrize(
    ("part", "broken"),
    [
        (Aggregation, {"take": forget_covered_filters}),
        (StreamTable, {"_telling": use_no_other_side}),  # what is not known of a new tree counts as not wanted
        (Forwarder, {"_retry": lambda self, *_: self._dropped(DropReason.LINK_CLOSED)}),
        (Announcer, {"_end": Announcer._release}),  # the neighbour is not told that a stream has ended
        (Incoming, {"acknowledged": lambda self: self.sequence, "stampable": lambda self, *_: self.sequence}),
    ],
    ids=["covered", "unknown side", "retry", "end", "early acknowledgement"],
)
def test_message_missed_after_confirmation_is_detected(monkeypatch, part, broken):
    for name, function in broken.items():
        monkeypatch.setattr(part, name, function)
    assert any(GrowingNetwork(seed).run()[0] for seed in range(90, 300))


def twice(matches):
    return matches._replace(clients={link: ids * 2 for link, ids in matches.clients.items()})


def everything(subscriptions):
    clients = {link: list(by_id) for link, by_id in subscriptions._filters.items() if by_id}
    return Matches(clients, [], False, 0)


def test_duplicate_delivery_is_detected(monkeypatch):
    matched = Subscriptions.matched
    monkeypatch.setattr(Subscriptions, "matched", lambda *a: twice(matched(*a)))
    verdict = first_failure()
    assert verdict.duplicates
    assert not verdict.missed


def test_spurious_delivery_is_detected(monkeypatch):
    monkeypatch.setattr(Subscriptions, "matched", lambda self, _: everything(self))
    assert first_failure().spurious
