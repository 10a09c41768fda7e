"""Samples of the statuses of all routers: who is asked, and what is shared."""

import asyncio

from cbnet.network.errors import Refused
from cbnet.network.http.monitoring.network_watch import NetworkSamples
from cbnet.network.protocol.frames import Peer, Status


def status(router, *neighbours, clients=()):
    peers = [Peer(name, "router", 0, 0, 0, 0) for name in neighbours] + [Peer(n, "client", 0, 0, 0, 0) for n in clients]
    return Status(
        number=1, router=router, network="test", scheme="multitree:1", incarnation=1, uptime=1.0,
        neighbours=dict.fromkeys(neighbours, 1), reachable=1, records=1, is_complete=True, versions=1, streams_in=0,
        streams_out=0, filters=0, table_filters=0, own_filters=0, subscriptions=0, clients=len(clients), interfaces=[],
        peers=peers, counters={},
    )  # fmt: skip


class Network:
    """A client of router `a`, in a network with these statuses; other routers do not answer."""

    def __init__(self, *statuses):
        self.statuses = {each.router: each for each in statuses}
        self.asked = []

    async def status(self, _timeout, *, at="a"):
        self.asked.append(at)
        if at not in self.statuses:
            raise Refused(f"router {at} has not answered")
        return self.statuses[at]


def samples_of(network, count=1):
    async def take():
        samples = NetworkSamples()
        return [await samples.newest(network) for _ in range(count)]

    return asyncio.run(take())


def test_every_router_is_asked_once_and_one_that_does_not_answer_is_reported():
    network = Network(status("a", "b"), status("b", "a", "c", "d"), status("c", "b"))
    (sample,) = samples_of(network)
    assert sorted(network.asked) == ["a", "b", "c", "d"]
    assert [(each["router"], each["answers"]) for each in sample["routers"]] == [
        ("a", True), ("b", True), ("c", True), ("d", False),
    ]  # fmt: skip
    assert [link["name"] for link in sample["routers"][1]["neighbours"]] == ["a", "c", "d"]


def test_a_sample_is_shared_for_some_time():
    network = Network(status("a"))
    one, other = samples_of(network, count=2)
    assert one is other
    assert network.asked == ["a"]


def test_a_router_that_left_is_not_in_the_next_sample():
    network = Network(status("a", "b"), status("b", "a"))

    async def take():
        samples = NetworkSamples()
        await samples.newest(network)
        network.statuses = {"a": status("a")}
        samples._taken -= 2
        return await samples.newest(network)

    assert [each["router"] for each in asyncio.run(take())["routers"]] == ["a"]
