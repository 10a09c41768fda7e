"""The network in memory: the same calls give the same run, and what is broken is broken."""

import pytest
from support.memory_networks import Lab

from cbnet.errors import InputError
from cbnet.network.link.settings import Settings
from cbnet.network.protocol.frames import Close
from cbnet.network.simulation.memory_network import MemoryNetwork
from cbnet.network.simulation.random_schedule import RandomSchedule


def story(seed):
    trial = RandomSchedule(seed, "psf")
    trial.run(12)
    deliveries = {name: client.deliveries for name, client in trial._clients.items()}
    return trial.memory.frames, trial.memory.bytes, deliveries


def test_the_same_seed_gives_the_same_run_to_the_last_byte():
    assert story(3) == story(3)
    assert story(3) != story(4)


def test_a_cut_is_noticed_at_once_if_it_is_told_and_after_the_silence_if_not():
    for noticed_by, seconds in ((None, 0.5), (["a"], 0.5), (["b"], 4.5), ([], 4.5)):
        lab = Lab("a-b")
        lab.memory.cut("a", "b", noticed_by=noticed_by)
        lab.run(seconds)
        assert lab.router("a").view.names == ["a"]
        lab.memory.repair("a", "b")
        lab.run(3)
        assert lab.router("a").view.names == ["a", "b"]


def test_a_connection_that_one_end_has_given_up_and_the_other_not_is_replaced():
    lab = Lab("a-b b-c")
    lab.clients["c"].subscribe(1, "x = 1")
    lab.run(1)
    lab.memory.cut("a", "b", noticed_by=["a"])
    lab.memory.repair("a", "b")
    lab.run(1.5)  # a has dialled again; b still has the old connection, too
    lab.clients["a"].publish({"x": 1}, b"m")
    lab.clients["c"].subscribe(2, "x = 2")
    lab.run(0.5)
    lab.clients["a"].publish({"x": 2}, b"n")
    lab.run(0.5)
    assert len(lab.router("b").links.routers()) == 3
    assert lab.payloads("c") == [b"m", b"n"]
    lab.run(5)
    assert len(lab.router("b").links.routers()) == 2


def test_what_is_on_its_way_when_a_cable_is_cut_is_lost():
    lab = Lab("a-b")
    lab.clients["b"].subscribe(1, "x = 1")
    lab.run(1)
    lab.clients["a"].publish({"x": 1}, b"lost")
    lab.memory.cut("a", "b")
    lab.run(10)
    lab.memory.repair("a", "b")
    lab.run(10)
    assert lab.payloads("b") == []


@pytest.mark.parametrize("silently", [False, True])
def test_a_router_that_is_killed_and_started_again_is_as_good_as_new(silently):
    lab = Lab("a-b b-c")
    lab.clients["a"].subscribe(1, "x = 1")
    lab.run(1)
    lab.memory.kill("b", silently=silently)
    lab.run(6)
    assert lab.router("a").view.names == ["a"]
    lab.memory.start("b")
    lab.run(6)
    lab.clients["c"].publish({"x": 1}, b"after")
    lab.clients["b"].publish({"x": 1}, b"too")
    lab.run(1)
    assert sorted(lab.payloads("a")) == [b"after", b"too"]


def test_a_router_restarted_at_once_forgets_its_clients_and_they_come_back():
    lab = Lab("a-b")
    lab.clients["b"].subscribe(1, "x = 1")
    lab.run(1)
    lab.memory.kill("b")
    lab.memory.start("b")
    lab.run(6)
    lab.clients["a"].publish({"x": 1}, b"m")
    lab.run(1)
    assert lab.payloads("b") == [b"m"]


def test_clocks_that_jump_disturb_nobody():
    lab = Lab("a-b b-c")
    lab.clients["c"].subscribe(1, "x = 1")
    lab.run(1)
    for jump in (86_400.0, -200_000.0):
        lab.memory.jump_clock("b", jump)
        lab.clients["a"].publish({"x": 1}, b"m")
        lab.run(5)
    assert lab.payloads("c") == [b"m", b"m"]
    assert lab.memory.frames[Close.__name__] == 0


def test_a_name_is_given_once_and_only_a_router_that_runs_can_be_had():
    memory = MemoryNetwork()
    memory.add(Settings("a"))
    with pytest.raises(InputError, match="there is a router 'a' already"):
        memory.add(Settings("a"))
    memory.kill("a")
    with pytest.raises(InputError, match="does not run"):
        memory.router("a")
