"""Comparison of running networks with computed tables; the networks are in memory."""

import asyncio
from itertools import count
from random import Random

import pytest
from support.memory_networks import encoded

from cbnet import CbnetError, Table, parse
from cbnet.network import MemoryClient, MemoryNetwork, Settings
from cbnet.network.protocol.addresses import Address
from cbnet.network.protocol.frames import StatusRequest
from cbnet.network.service import verification
from cbnet.topology import topology

LINE = ("a-b", "b-c", "c-d")
WANTS = {"a": "#jazz or x > 3", "c": "#jazz and #vinyl or x = 5", "d": "#news"}


class FakeClient:
    """The part of an asynchronous client that a verification uses, for a router in memory."""

    def __init__(self, memory, router):
        self._memory = memory
        self.router = router
        self._client = MemoryClient(memory, f"verifier of {router}", router)
        self._numbers = count(1)
        memory.run(0.5)

    async def query(self, kind, *members, **_):
        self._client.send(kind(next(self._numbers), *members))
        self._memory.run(0.5)
        return self._client.answers[-1]

    async def status(self, _timeout):
        return await self.query(StatusRequest)

    async def close(self):
        pass


@pytest.fixture
def verify(monkeypatch):
    """Return a function that verifies the routers of a network in memory, or some of them."""

    def run(memory, names=None, **options):
        async def connect(router, **_):
            return FakeClient(memory, list(memory.hosts)[int(router.rpartition(":")[2]) - 1])

        monkeypatch.setattr(verification, "connect_async", connect)
        ports = {name: port for port, name in enumerate(memory.hosts, 1)}
        addresses = {name: Address("127.0.0.1", ports[name]) for name in names or ports}
        return asyncio.run(verification.verify(addresses, network="cbnet", **options))

    return run


def network(links, wants, offers=(), seconds=8.0, **settings):
    """Return a network in memory, with a client at each router that wants or offers something."""
    memory = MemoryNetwork(1)
    pairs = [link.split("-") for link in links]
    for name in sorted({name for pair in pairs for name in pair}):
        memory.add(Settings(name, **settings))
    for pair in pairs:
        memory.add_cable(*pair)
    for name, text in wants.items():
        MemoryClient(memory, f"receiver at {name}", name).subscribe(1, text)
    for name, text in dict(offers).items():
        MemoryClient(memory, f"holder at {name}", name).offer(1, text, lambda _: None)
    memory.run(seconds)
    return memory


def stream(memory, name, neighbour):
    router = memory.router(name)
    return router.streams.kinds[0], router.streams.from_side(router.version.trees[0].links[neighbour])


def test_a_quiet_network_has_the_computed_tables(verify):
    result = verify(network(LINE, WANTS, {"b": "#archive"}))
    assert (result.routers, result.interfaces, result.unsettled, result.differences) == (4, 6, [], [])
    # at a 3, at b 2 + 3, at c 2 + 1, at d 2, as those of c are covered; the offer of b at a, c and d
    assert result.filters == 13 + 3


@pytest.mark.parametrize(("scheme", "trees"), [("multitree", 1), ("multitree", 3), ("pif", 1)])
def test_random_networks_have_the_computed_tables(verify, scheme, trees):
    random = Random(trees)
    graph = topology("powerlaw:8", seed=trees)
    wants = {
        f"r{node}": " or ".join(f"x > {random.randint(0, 9)} and #{random.choice('ab')}" for _ in range(4))
        for node in range(8)
    }
    memory = network([f"r{u}-r{v}" for u, v, _ in graph.edges()], wants, scheme=scheme, trees=trees)
    result = verify(memory)
    assert result.filters > 8
    assert result.differences == []


def test_a_difference_is_found_and_named(verify):
    memory = network(LINE, WANTS)
    kind, changed = stream(memory, "a", "b")  # a passes it to nobody
    kind.change(changed, encoded("y = 1"), encoded("#news"))
    [found] = verify(memory).differences
    assert found == ("a", found.root, "b", False, ["#news"], ["y = 1"], 2)


def test_compiled_tables_of_other_predicates_differ(verify, tmp_path):
    memory = network(LINE, WANTS)
    names = list(memory.hosts)
    right = {names.index("a"): WANTS["a"], names.index("c"): "#jazz and #vinyl or x = 5 or #news"}
    Table.build(right).save(tmp_path / "b.cbt")
    Table.build({**right, names.index("a"): "#other"}).save(tmp_path / "other.cbt")
    result = verify(memory, tables={"b": tmp_path / "b.cbt"})
    assert (result.interfaces, result.filters, result.differences) == (2, 5, [])
    [found] = verify(memory, tables={"b": tmp_path / "other.cbt"}).differences
    assert (found.router, found.neighbour, found.missing, found.differing) == ("b", "a", ["#other"], 3)
    assert set(found.extra) == {str(filter) for filter in parse(WANTS["a"]).filters}


def test_a_compiled_table_of_an_unknown_router_is_an_error(verify, tmp_path):
    with pytest.raises(CbnetError, match="there is no router z in the running network; start it with `cbnet up --fib`"):
        verify(network(LINE, WANTS), tables={"z": tmp_path / "z.cbt"})


def test_the_addresses_of_all_routers_are_needed(verify):
    with pytest.raises(CbnetError, match="router d is part of the network, but its address is not known"):
        verify(network(LINE, WANTS), ["a", "b", "c"])


def test_routers_that_are_still_adapting_are_listed(verify):
    memory = network(LINE, WANTS, overlap=1000.0)
    assert set(verify(memory).unsettled) == set("abcd")
