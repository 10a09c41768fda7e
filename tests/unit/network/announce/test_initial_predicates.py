"""Networks that begin with predicates: nothing is flooded, all is delivered, and changes go on from there."""

from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cbnet.network.announce.initial_predicates import initial_predicates, read_initial_predicates
from cbnet.network.router.initial_state import InitialState

from cbnet import InputError, Table, parse
from cbnet.network import MemoryClient, MemoryNetwork, Settings
from cbnet.network.protocol.frames import RefusedFrame, Subscribe, TracedFrame, Unsubscribe
from cbnet.topology import topology

LINE = (("a", "b"), ("b", "c"), ("c", "d"))
WANTS = {"a": "#jazz or x > 3", "c": "#jazz and #vinyl or x = 1", "d": "#news"}


class LoadedLab:
    """A network in memory that begins with predicates, with a client at each router."""

    def __init__(self, links, wants, seed=1, **settings):
        self.wants = {name: parse(text) for name, text in wants.items()}
        self.names = sorted({name for pair in links for name in pair})
        lives = {name: 1000 + place for place, name in enumerate(self.names)}
        edges = {(min(pair), max(pair)): 1 for pair in links}
        self.loaded = initial_predicates(
            {name: each.filters for name, each in self.wants.items()}, self.names, lives, edges
        )
        self.memory = MemoryNetwork(seed)
        for name in self.names:
            self.memory.add(Settings(name, **settings), InitialState(self.loaded, life=lives[name]))
        for pair in links:
            self.memory.add_cable(*pair)
        self.clients = {name: MemoryClient(self.memory, f"client of {name}", name) for name in self.names}
        self.memory.run(3)

    def counted(self):
        """Return how many messages came to the loaded predicate of each node."""
        counters = {name: self.memory.router(name).counters for name in self.names}
        return {name: each["delivered_loaded"] for name, each in counters.items()}

    def check(self, messages):
        """Publish messages, all at another router, and check what every node gets by brute force."""
        before = self.counted()
        for place, message in enumerate(messages):
            members = dict(message)
            tags = tuple(members.pop("#", ()))
            assert self.clients[self.names[place % len(self.names)]].publish(members, b"", tags)
        self.memory.run(2)
        after = self.counted()
        gained = {name: after[name] - before[name] for name in self.names}
        nothing = parse("x = 1 and x = 2")
        assert gained == {
            name: sum(self.wants.get(name, nothing).matches(message) for message in messages) for name in self.names
        }


MESSAGES = [{"#": ["jazz"]}, {"#": ["vinyl", "jazz"]}, {"x": 1}, {"x": 4}, {"x": 2}, {"#": ["news"], "x": 9}, {}]


def test_routers_start_with_all_records():
    lab = LoadedLab(LINE, WANTS)
    assert (lab.memory.frames["FilterRecord"], lab.memory.frames["FilterChange"]) == (0, 0)
    for name in lab.names:
        predicates = lab.memory.router(name).database.predicates
        assert {owner: set(predicates.predicate(owner).filters) for owner in WANTS} == {
            owner: set(parse(text).filters) for owner, text in WANTS.items()
        }
        assert predicates.count == 5
    lab.check(MESSAGES)


@pytest.mark.parametrize("scheme", ["psf", "ips", "pif", "drp", "multitree"])
def test_random_networks_deliver_as_brute_force_does(scheme):
    random = Random(scheme)
    graph = topology("powerlaw:9", seed=3)
    links = [(f"r{u}", f"r{v}") for u, v, _ in graph.edges()]
    tags = "abcdef"
    wants = {
        f"r{node}": " or ".join(
            " and ".join(f"#{tag}" for tag in random.sample(tags, random.randint(1, 3))) for _ in range(4)
        )
        for node in range(7)
    }
    lab = LoadedLab(links, wants, scheme=scheme)
    lab.check([{"#": random.sample(tags, random.randint(1, 4))} for _ in range(40)])


def test_client_leaves_the_loaded_predicate_in_place():
    lab = LoadedLab(LINE, WANTS)
    client = lab.clients["c"]
    client.subscribe(1, "#jazz", wait=5)  # covers one that was loaded
    lab.memory.run(1)
    lab.check(MESSAGES)
    assert len(client.deliveries) == 2
    client.unsubscribe(1)
    lab.memory.run(1)
    lab.check(MESSAGES)
    assert len(client.deliveries) == 2
    for name in lab.names:  # and all have it again as it was
        assert set(lab.memory.router(name).database.predicates.predicate("c").filters) == set(parse(WANTS["c"]).filters)


def test_listener_gets_deliveries_to_the_loaded_predicate():
    lab = LoadedLab(LINE, WANTS)
    client, router = lab.clients["c"], lab.memory.router("c")
    client.send(Subscribe(7, "", 0, True))
    lab.memory.run(1)
    assert (len(router.subscriptions), router.subscriptions.loaded_count) == (1, 2)
    lab.check(MESSAGES)
    assert [delivery.subscription for delivery in client.deliveries] == [7, 7]
    assert len({delivery.message for delivery in client.deliveries}) == 2
    client.send(Unsubscribe(7))
    lab.memory.run(1)
    assert len(router.subscriptions) == 0
    lab.check(MESSAGES)
    assert len(client.deliveries) == 2


def test_a_subscription_may_change_between_the_loaded_predicate_and_another():
    lab = LoadedLab(LINE, WANTS)
    client = lab.clients["c"]
    client.subscribe(1, "x = 9")
    client.send(Subscribe(1, "", 0, True))
    lab.memory.run(1)
    lab.check(MESSAGES)
    assert len(client.deliveries) == 2
    client.subscribe(1, "x = 9")
    lab.memory.run(1)
    lab.check(MESSAGES)
    assert len(client.deliveries) == 3


def test_listening_without_a_loaded_predicate_is_refused():
    lab = LoadedLab(LINE, WANTS)
    lab.clients["b"].send(Subscribe(1, "", 0, True))
    lab.memory.run(1)
    answer = lab.clients["b"].answers[-1]
    assert isinstance(answer, RefusedFrame)
    assert "router b has no loaded predicate" in answer.reason


def test_a_router_that_starts_again_begins_with_the_same():
    lab = LoadedLab(LINE, WANTS)
    lab.clients["c"].subscribe(1, "x = 7", wait=5)
    lab.memory.run(1)
    lab.memory.kill("c")
    lab.memory.run(5)
    lab.memory.start("c")
    lab.memory.run(8)
    versions = {str(sorted(map(str, lab.memory.router(name).database.entries()))) for name in lab.names}
    assert len(versions) == 1
    lab.check(MESSAGES)


def test_covered_loaded_filters_are_withdrawn():
    lab = LoadedLab(LINE, {"a": "x > 3 or x > 5 or x > 5 and #t", "d": "x = 1 and x = 2 or y = 1"})
    for name in lab.names:
        predicates = lab.memory.router(name).database.predicates
        assert [str(predicates.predicate(owner)) for owner in "ad"] == ["x > 3", "y = 1"]
    lab.check([{"x": 4}, {"x": 6}, {"x": 1}, {"y": 1}])


def test_trace_names_the_loaded_predicate():
    lab = LoadedLab(LINE, WANTS)
    lab.clients["a"].trace(1, {"x": 1})
    lab.memory.run(2)
    hops = [answer.hop for answer in lab.clients["a"].answers if isinstance(answer, TracedFrame)]
    delivered = {hop.router: hop.delivered for hop in hops}
    assert delivered == {"a": [], "b": [], "c": ["the loaded predicate: x = 1"]}


# --- files


def parquet(path, rows):
    path.parent.mkdir(exist_ok=True)
    columns = dict(zip(("interface", "filter", "name", "op"), zip(*rows, strict=True), strict=True))
    pq.write_table(pa.table({name: list(each) for name, each in columns.items()}), path)


def test_a_folder_of_parquet_files_is_one_predicate_for_each_node(tmp_path):
    parquet(tmp_path / "p.parquet" / "part-0.parquet", [("a", 0, "jazz", "#"), ("a", 0, "vinyl", "#")])
    parquet(tmp_path / "p.parquet" / "part-1.parquet", [("a", 1, "news", "#"), ("7", 2, "news", "#")])
    (tmp_path / "p.parquet" / "_SUCCESS").write_text("")
    found = read_initial_predicates(tmp_path / "p.parquet", ["7", "a", "b"], {}, {})
    assert {name: len(each) for name, each in found.filters.items()} == {"7": 1, "a": 2, "b": 0}
    assert found.count == 3
    assert found.table.match({"#": ["news"]}) == [0, 1] or found.table.match({"#": ["news"]}) == [1, 0]


@pytest.mark.parametrize(
    ("write", "problem"),
    [
        (lambda path: path.mkdir(), "no Parquet file in this folder; run the pipeline again"),
        (lambda path: path.write_text("no"), "not a Parquet file"),
        (lambda path: parquet(path / "part.parquet", [("z", 0, "t", "#")]), "predicate of 'z', which is not a node"),
        (lambda path: (path.mkdir(), (path / "part.parquet").write_text("no")), "not a Parquet file"),
        (lambda _: None, "cannot read: No such file"),
    ],
)
def test_predicates_that_cannot_be_loaded(tmp_path, write, problem):
    path = tmp_path / "p.parquet"
    write(path)
    with pytest.raises(InputError) as raised:
        read_initial_predicates(path, ["a"], {}, {})
    assert problem in str(raised.value)
    assert "p.parquet" in str(raised.value)


def test_initial_predicates_are_read_from_rules_and_compiled_tables(tmp_path):
    (tmp_path / "rules.toml").write_text("[rules]\na = '#jazz'\n[rules.7]\nwhen = '#news or #jazz'\npriority = 3\n")
    Table.open(tmp_path / "rules.toml").save(tmp_path / "rules.cbt")
    for name in ("rules.toml", "rules.cbt"):
        found = read_initial_predicates(tmp_path / name, ["7", "a", "b"], {}, {})
        assert {name: len(each) for name, each in found.filters.items()} == {"7": 2, "a": 1, "b": 0}
        assert sorted(found.table.match({"#": ["jazz"]})) == [0, 1]
