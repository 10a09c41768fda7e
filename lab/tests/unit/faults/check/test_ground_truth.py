"""Whether routers know the actual state of a network in memory."""

from cbnet.network import MemoryClient, MemoryNetwork, Settings
from cbnet_lab.faults.simulation import GroundTruth


def three():
    """Return routers a-b-c, and a client of c that wants x > 1 and one of a."""
    memory = MemoryNetwork(1)
    for name in "abc":
        memory.add(Settings(name))
    memory.add_cable("a", "b")
    memory.add_cable("b", "c")
    clients = {name: MemoryClient(memory, name, name) for name in "ac"}
    clients["c"].subscribe(1, "x > 1")
    return memory, clients, GroundTruth(memory, clients)


def test_it_is_known_when_all_have_it_and_not_before():
    memory, clients, truth = three()
    assert not truth.is_converged()
    memory.run(3)
    assert truth.is_converged()
    clients["c"].subscribe(2, "y = 1")
    assert not truth.is_converged()
    memory.run(1)
    assert truth.is_converged()


def test_a_network_is_quiet_when_earlier_versions_are_forgotten():
    memory, _, truth = three()
    memory.run(1.5)
    assert truth.is_converged()
    assert not truth.is_quiet()
    memory.run(Settings("a").overlap + 0.5)
    assert truth.is_quiet()


def test_a_table_that_differs_from_the_computed_one_is_seen():
    memory, _, truth = three()
    memory.run(3)
    assert truth.is_converged()
    (stream,) = memory.router("a").streams.incoming.values()
    (wanted,) = memory.router("a").fib.aggregation.filters(stream)
    memory.router("a").fib.aggregation.change(stream, (), [wanted])
    assert [*truth.wrong_tables()] == ["a, interface to b"]
    assert not truth.is_converged()


def test_routers_are_reached_by_links_only_when_the_links_are_up_and_no_dead_one_is_held():
    memory, _, truth = three()
    memory.run(3)
    assert truth.reached_by_links("a") == {"a", "b", "c"}
    memory.cut("b", "c", noticed_by=())
    assert truth.reached_by_links("a") == set()  # b and c still hold the link
    memory.run(5)
    assert truth.reached_by_links("a") == {"a", "b"}
    memory.repair("b", "c")
    assert truth.reached_by_links("a") == set()  # it is not dialled yet
    memory.run(3)
    assert truth.reached_by_links("a") == {"a", "b", "c"}


def test_a_silent_failure_is_not_known_until_it_is_noticed():
    memory, _, truth = three()
    memory.run(3)
    memory.cut("b", "c", noticed_by=())
    assert truth.reached("a") == {"a", "b"}
    memory.run(2)
    assert not truth.is_converged()
    memory.repair("b", "c")  # the cable is whole, and the connection over it is dead
    assert truth.reached("a") == {"a", "b", "c"}
    assert not truth.is_converged()
    memory.run(5)
    assert truth.is_converged()


def test_a_client_that_was_lost_is_known_of_when_its_router_has_given_it_up():
    memory, clients, truth = three()
    memory.run(3)
    clients["c"].disconnect(silently=True)
    memory.run(1)
    assert not truth.is_converged()
    memory.run(4)
    assert truth.is_converged()
    clients["c"].reconnect()
    memory.run(2)
    assert truth.is_converged()
    assert len(memory.router("c").fib) == 1


def test_a_slow_client_gets_all_later():
    memory, clients, _ = three()
    memory.run(3)
    clients["c"].freeze(1.0)
    clients["a"].publish({"x": 2}, b"late")
    memory.run(0.9)
    assert clients["c"].deliveries == []
    memory.run(0.2)
    assert [each.payload for each in clients["c"].deliveries] == [b"late"]


def test_a_client_that_stands_still_too_long_is_given_up_and_comes_back():
    memory, clients, truth = three()
    memory.run(3)
    clients["c"].freeze(6.0)
    memory.run(5)
    assert len(memory.router("c").fib) == 0
    memory.run(3)
    assert truth.is_converged()
    assert len(memory.router("c").fib) == 1
