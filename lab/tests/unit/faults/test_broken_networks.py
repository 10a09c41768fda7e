"""Networks that are broken on purpose: the checker finds each, in every kind of run that can show it."""

import pytest
from support.growing_networks import GrowingNetwork

from cbnet.network import MemoryClient
from cbnet.network.announce.announcer import Announcer
from cbnet.network.announce.confirmations import Confirmations
from cbnet.network.announce.streams import Incoming
from cbnet.network.announce.subscriptions import Subscriptions
from cbnet.network.forwarding.forwarder import Forwarder
from cbnet.network.forwarding.forwarding_table import Fib, Matches
from cbnet.network.link.counters import DropReason
from cbnet.network.link.links import LinkTable
from cbnet.network.linkstate.link_records import LinkRecords
from cbnet.network.router.clients import ClientHandler
from cbnet.routing.aggregation.aggregation import Aggregation, Difference
from cbnet_lab.bench.plan_options import Routing
from cbnet_lab.faults import month as months
from cbnet_lab.faults.plans import MonthPlan
from cbnet_lab.faults.random_schedule import RandomSchedule

_take, _matched = Aggregation.take, Fib.match


def month():
    return months.Month(MonthPlan(topology="powerlaw:8", hours=0.01), Routing(1)).run(lambda _: None).violations


def schedules():
    """Return the violations of the first schedule that has some, in small networks."""
    found = (RandomSchedule(seed, max_routers=4).run(25).violations for seed in range(40))
    return next((each for each in found if each), {})


def forget_covered_filters(self, target):
    difference = _take(self, target)
    return Difference([], difference.removed) if difference.removed else difference


def use_no_other_side(self, link):
    stream = self._live(link._replace(far_key=link.matched))
    return [] if stream is None else [stream]


def forgetful(self, content):
    """Match nothing of some messages."""
    return Matches({}, [], False, 0) if content.attributes.get("price") == 700 else _matched(self, content)


def twice(self, content):
    found = _matched(self, content)
    return found._replace(clients={link: ids * 2 for link, ids in found.clients.items()})


def everything(self, _):
    return Matches({link: list(by_id) for link, by_id in self._local.items() if by_id}, [], False, 0)


def wrong_item(self, frame):
    """Answer with another item than was requested."""
    self.offers = {id: (text, lambda _, old=old: _other(old(_))) for id, (text, old) in self.offers.items()}
    _answer(self, frame)


def _other(item):
    item.attributes["item"] = -1
    return item


_answer = MemoryClient._answer


def withdraw_nothing(self, link, id):
    """Keep a subscription that has ended."""


@pytest.mark.parametrize(
    ("run", "part", "name", "broken", "kinds"),
    [
        (month, LinkRecords, "greet", lambda *_: None, {"unsettled"}),  # nothing is sent after a new connection
        (month, Fib, "match", forgetful, {"lost"}),
        (month, Fib, "match", twice, {"repeated"}),
        (month, Fib, "match", everything, {"spurious"}),
        (month, Subscriptions, "remove", withdraw_nothing, {"unsettled"}),
        (month, MemoryClient, "_answer", lambda *_: None, {"no reply"}),
        (month, MemoryClient, "_answer", wrong_item, {"no reply"}),  # the router refuses what does not match
        (month, ClientHandler, "pull", lambda *_: None, {"endless"}),
        (schedules, LinkRecords, "flood", lambda *_, **__: None, {"lost", "tables", "unsettled"}),
        (schedules, LinkTable, "check_liveness", lambda *_: None, {"lost", "tables", "packets", "unsettled"}),
        (schedules, Aggregation, "take", forget_covered_filters, {"lost", "tables", "unkept"}),
        (schedules, Forwarder, "_is_new", lambda *_: True, {"packets", "repeated"}),
        (schedules, Fib, "match", twice, {"repeated"}),
        (schedules, Fib, "match", everything, {"spurious"}),
        (schedules, Confirmations, "_blocking", lambda *_: None, {"unkept"}),  # confirms too early
    ],
)
def test_broken_part_is_found(monkeypatch, run, part, name, broken, kinds):
    monkeypatch.setattr(part, name, broken)
    monkeypatch.setattr(months, "_MAX_WAITS", 2)  # a network that never settles is found sooner
    if part is Confirmations:
        monkeypatch.setattr(part, "missing", lambda *_, **__: [])
    assert kinds & run().keys()


@pytest.mark.parametrize(
    ("part", "broken", "first"),
    [
        (Aggregation, {"take": forget_covered_filters}, 90),
        (Fib, {"_streams_behind": use_no_other_side}, 97),  # the unknown of a new tree counts as not wanted
        (Forwarder, {"_retry": lambda self, *_: self._dropped(DropReason.LINK_CLOSED)}, 271),
        (Announcer, {"_end": Announcer._release}, 123),  # the neighbour is not told that a stream has ended
        (Incoming, {"acknowledged": lambda self: self.sequence, "stampable": lambda self, *_: self.sequence}, 99),
    ],
    ids=["covered", "unknown side", "retry", "end", "early acknowledgement"],
)
def test_message_missed_after_confirmation_is_found(monkeypatch, part, broken, first):
    """The first seed has found it before; all others follow."""
    for name, function in broken.items():
        monkeypatch.setattr(part, name, function)
    tried = dict.fromkeys((first, *range(90, 300)))
    assert any("unkept" in GrowingNetwork(seed).run().violations for seed in tried)
