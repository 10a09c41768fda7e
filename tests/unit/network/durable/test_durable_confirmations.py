"""Confirmations of durable subscriptions while another router comes: it must have the record on its disk."""

from tests.support.durable_networks import DurableLab, answers

from cbnet.network.durable.durable_registry import DurableRegistry
from cbnet.network.protocol.frames import Subscribed

COURSES = 40


def confirmed_routers(seed):
    """Return by how many routers a subscription is confirmed when a link returns, to a router with a full disk."""
    net = DurableLab("a-b", seed)
    net.disks["b"].is_full = True
    net.memory.cut("a", "b")
    client = net.client("a")
    net.run(3)
    net.memory.repair("a", "b")
    net.run(seed / 100)
    client.subscribe_durable(1, "orders", "x > 0", wait=3.0)
    net.run(5)
    return [each.routers for each in answers(client, Subscribed) if each.is_confirmed]


def test_a_router_that_cannot_save_the_record_does_not_confirm_it():
    courses = [confirmed_routers(seed) for seed in range(COURSES)]
    assert all(routers in ([], [1]) for routers in courses)
    assert [1] in courses  # before the link was there
    assert [] in courses


def test_a_build_that_ignores_routers_that_come_meanwhile_is_found(monkeypatch):
    monkeypatch.setattr(DurableRegistry, "_waits_on", lambda _self, _unconfirmed: False)
    assert [2] in [confirmed_routers(seed) for seed in range(COURSES)]
