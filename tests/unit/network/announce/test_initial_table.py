"""The table that the pipeline compiled for a router: used as long as it is what the records say, and refused else."""

import pytest

from cbnet import InputError, Table, parse
from cbnet.network import MemoryClient, MemoryNetwork, Settings
from cbnet.network.announce.initial_predicates import initial_predicates
from cbnet.network.router.initial_state import InitialState, open_initial_table

# The tree of a, in full: a - b - c - d, b - e; the link c - e is in no way from a.
EDGES = {("a", "b"): 1, ("b", "c"): 1, ("b", "e"): 1, ("c", "d"): 1, ("c", "e"): 1}
NAMES = ["a", "b", "c", "d", "e"]
WANTS = {"a": "#jazz", "c": "#jazz and #vinyl or #news", "d": "#jazz and #live or #news and #today", "e": "#art"}
# By hand: what is behind each neighbour of b on that tree, less what another filter there covers.
OF_B = {0: "#jazz", 2: "#jazz and #vinyl or #news or #jazz and #live", 4: "#art"}
SETTINGS = Settings("b", scheme="multitree", roots=("a",))


@pytest.fixture
def given():
    wants = {name: parse(text).filters for name, text in WANTS.items()}
    return initial_predicates(wants, NAMES, dict.fromkeys(NAMES, 5), EDGES)


@pytest.fixture
def table(tmp_path):
    def save(changes=(), engine="tags"):
        path = tmp_path / "1.cbt"
        Table.build({**OF_B, **dict(changes)}, engine=engine).save(path)
        return path

    return save


@pytest.mark.parametrize("engine", ["tags", "pivot", "counting"])
def test_table_that_agrees_with_the_records_is_accepted(given, table, engine):
    assert open_initial_table(table(engine=engine), SETTINGS, given).table.match({"#": ["news"]}) == [2]


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({2: "#jazz and #vinyl or #news"}, "the interface to c lacks #jazz, #live of d"),
        ({2: "#vinyl or #news or #jazz and #live"}, "the interface to c has #vinyl, which no node behind it has"),
        ({4: "#art or #jazz"}, "the interface to e has #jazz, which no node behind it has"),
        ({3: "#news"}, "the table has an interface to d, which is no neighbour on the first tree"),
        ({9: "#news"}, "the table has an interface to 9, which is no neighbour on the first tree"),
    ],
)
def test_table_that_differs_is_refused_with_the_difference(given, table, changes, problem):
    with pytest.raises(InputError) as raised:
        open_initial_table(table(changes), SETTINGS, given)
    assert problem in str(raised.value)
    assert "the router uses its records instead; run the pipeline again" in str(raised.value)
    assert "1.cbt" in str(raised.value)


def test_all_differences_are_counted(given, table):
    changes = {0: "#x", 4: "#y"}  # two that are lacking, two that nobody wants
    with pytest.raises(InputError, match=r"the interface to a lacks #jazz of a, and 3 more"):
        open_initial_table(table(changes), SETTINGS, given)


def test_a_table_with_more_than_tags_is_not_taken(given, table):
    with pytest.raises(InputError, match="filters with constraints, not only tags"):
        open_initial_table(table({4: "#art or x > 1"}, engine="pivot"), SETTINGS, given)


def test_table_of_another_tree_is_refused(given, table):
    settings = Settings("b", scheme="multitree", roots=("e",))  # there c lies behind e
    with pytest.raises(InputError, match="the table has an interface to c, which is no neighbour on the first tree"):
        open_initial_table(table(), settings, given)


def test_a_scheme_without_such_trees_takes_no_table(given, table):
    with pytest.raises(
        InputError, match="a compiled table needs the scheme multitree, not psf; start the network with"
    ):
        open_initial_table(table(), Settings("b", scheme="psf"), given)


def test_damaged_table_is_refused(given, table):
    path = table()
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(InputError, match="the file is damaged"):
        open_initial_table(path, SETTINGS, given)
    with pytest.raises(InputError, match="cannot read"):
        open_initial_table(path.with_name("none.cbt"), SETTINGS, given)


def test_renewed_record_keeps_the_compiled_table(given, table):
    memory = MemoryNetwork(1)
    first = open_initial_table(table(), SETTINGS, given)
    for name in NAMES:
        begun = InitialState(given, first if name == "b" else None, 5)
        memory.add(Settings(name, scheme="multitree", roots=("a",), refresh=2.0), begun)
    for pair in EDGES:
        memory.add_cable(*pair)
    client = MemoryClient(memory, "client", "b")
    memory.run(10)  # every router has renewed its records several times
    client.publish({}, b"", ["jazz"])
    memory.run(1)
    assert memory.router("b").counters["initial_table_matches"] == 1


MESSAGES = [["jazz"], ["news"], ["art", "vinyl"], ["jazz", "vinyl"], ["nothing"], ["today", "news"], ["jazz", "live"]]


def test_messages_go_by_the_first_table_until_something_changes(given, table):
    memory = MemoryNetwork(1)
    first = open_initial_table(table(), SETTINGS, given)
    for name in NAMES:
        begun = InitialState(given, first if name == "b" else None, 5)
        memory.add(Settings(name, scheme="multitree", roots=("a",)), begun)
    for pair in EDGES:
        memory.add_cable(*pair)
    clients = {name: MemoryClient(memory, f"client of {name}", name) for name in NAMES}
    memory.run(3)

    def used():
        return memory.router("b").counters["initial_table_matches"]

    def publish():
        """Publish all messages at all routers, check who gets them, return how many b matched by its table."""
        before = {name: memory.router(name).counters["delivered_loaded"] for name in NAMES}
        began = used()
        for client in clients.values():
            for tags in MESSAGES:
                client.publish({}, b"", tags)
        memory.run(2)
        for name, text in WANTS.items():
            after = memory.router(name).counters["delivered_loaded"]
            expected = len(NAMES) * sum(parse(text).matches({"#": tags}) for tags in MESSAGES)
            assert after - before[name] == expected
        return used() - began

    through_b = publish()
    assert through_b > len(MESSAGES)  # what is published there, and more
    memory.cut("c", "e")  # not on the tree, but the table is not of this network
    memory.run(10)  # for a while the others may still see it as it was, and are understood
    assert publish() == 0
    memory.repair("c", "e")
    memory.run(10)
    assert publish() == through_b
    clients["e"].subscribe(1, "#nothing", wait=5)
    memory.run(1)
    assert publish() == 0
    assert len(clients["e"].deliveries) == len(NAMES)
    clients["e"].unsubscribe(1)
    memory.run(1)
    assert publish() == 0  # what has changed once is the records' affair
