"""Networks that start with predicates and computed tables (`cbnet up --fib`), end to end, against brute force."""

import json
import signal
import subprocess
import sys
from contextlib import contextmanager
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.waiting import wait_until

import cbnet as package
from cbnet import Table, parse
from cbnet.cli.demo.network import probe_deliveries
from cbnet.cli.network.connection_options import NetworkAddresses
from cbnet.matching.reference import match
from cbnet.network import ProcessNetwork, statuses
from cbnet.network.protocol.addresses import Address
from cbnet.network.service.network_file import read_folder
from cbnet.network.service.process_network import InitialFiles
from cbnet.topology import topology

# The tree with the root 1: 1 - 2 - 3 - 4, and 2 - 5; it does not use the link 3 - 5.
LINKS = "1 2\n2 3\n2 5\n3 4\n3 5\n"
PREDICATES = {1: "#jazz", 3: "#jazz and #vinyl or #news", 4: "#jazz and #live", 5: "#art or #jazz and #live"}
OF_2 = {0: "#jazz", 2: "#jazz and #vinyl or #news or #jazz and #live", 4: "#art or #jazz and #live"}
OF_3 = {1: "#jazz or #art", 3: "#jazz"}  # wrong: no predicate behind 4 is #jazz alone


def write_folder(folder):
    """Write a folder as the pipeline does."""
    (folder / "tables").mkdir(parents=True)
    (folder / "graph.txt").write_text(LINKS)
    rows = [
        (str(node), number, tag, "#")
        for number, (node, filter) in enumerate((n, f) for n, text in PREDICATES.items() for f in parse(text).filters)
        for tag in filter.tags
    ]
    columns = zip(("rule", "filter", "name", "op"), zip(*rows, strict=True), strict=True)
    (folder / "predicates.parquet").mkdir()
    pq.write_table(pa.table({name: list(each) for name, each in columns}), folder / "predicates.parquet" / "p.parquet")
    Table.build(OF_2, engine="tags").save(folder / "tables" / "1.cbt")
    Table.build(OF_3, engine="tags").save(folder / "tables" / "2.cbt")
    (folder / "network.toml").write_text(
        'version = 1\npredicates = "predicates.parquet"\n[topology]\ngraph = "graph.txt"\nseed = 0\nroots = [1]\n'
        '[tables]\n2 = "tables/1.cbt"\n3 = "tables/2.cbt"\n'
    )
    return folder


@contextmanager
def up(folder, *arguments):
    command = [sys.executable, "-m", "cbnet", "up", *map(str, arguments), "--output", folder, "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        started = [json.loads(process.stdout.readline()) for _ in range(5)]
        yield process, [row["router"] for row in started]
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 0
    finally:
        process.kill()
        process.communicate()


def random_messages(count):
    """Return messages with random tags, each published at a random router."""
    random = Random(count)
    tags = ["jazz", "vinyl", "news", "live", "art", "other"]
    return [(str(random.randint(1, 5)), {"#": random.sample(tags, random.randint(1, 4))}) for _ in range(count)]


def brute_force(messages):
    predicates = {str(node): parse(text) for node, text in PREDICATES.items()}
    found = [match(predicates, package.Message.of(message)) for _, message in messages]
    return {(node, number): 1 for number, nodes in enumerate(found) for node in nodes}


@pytest.fixture(scope="module")
def network(tmp_path_factory):
    folder = write_folder(tmp_path_factory.mktemp("fib") / "live")
    with up(folder, "--fib", folder) as (process, routers):
        assert routers == ["1", "2", "3", "4", "5"]
        assert "5 routers connected after" in process.stderr.readline()
        yield folder


def test_deliveries_equal_brute_force_even_with_a_wrong_table(network):
    addresses = NetworkAddresses.read(network).routers
    messages = random_messages(120)
    expected = brute_force(messages)
    assert probe_deliveries(addresses, messages, len(expected)) == expected
    found = statuses(addresses)
    assert {name: status.initial for name, status in found.items()} == {"1": 1, "2": 0, "3": 2, "4": 1, "5": 2}
    assert all(status.scheme.startswith("multitree:1 of ") for status in found.values())


def test_running_tables_are_the_computed_ones_and_only_a_wrong_compiled_one_differs(cbnet, network):
    wait_until(lambda: '"unsettled": []' in cbnet("verify", "--network", network, "--json").out, timeout=60)
    outcome = cbnet("verify", "--network", network)
    assert (outcome.code, outcome.out) == (0, "5 routers, 8 interfaces, 18 filters compared: 0 differences\n")
    outcome = cbnet("verify", "--network", network, "--fib", network)
    assert outcome.code == 1
    different = "router 3, tree of 1, interface to 4: 2 filters of subscriptions differ: "
    examples = "lacks #jazz; has #jazz and #live, which was not computed"
    summary = "5 routers, 5 interfaces, 9 filters compared: 1 difference\n"
    assert outcome.out == f"{different}{examples}\n{summary}"
    assert "1 interface with another table than computed" in outcome.err
    lines = cbnet("verify", "--network", network, "--fib", network, "--json").out.splitlines()
    found, summary, error = map(json.loads, lines)
    assert (found["router"], found["root"], found["neighbour"], found["differing"]) == ("3", "1", "4", 2)
    assert summary == {"routers": 5, "interfaces": 5, "filters": 9, "unsettled": [], "differences": 1}
    assert error["error"] == "1 interface with another table than computed"


def test_verification_needs_the_addresses_of_all_routers(cbnet, network):
    address = NetworkAddresses.read(network).routers["1"]
    outcome = cbnet("verify", "--router", str(address))
    assert outcome.code == 1
    assert "router 2 is part of the network, but its address is not known" in outcome.err


def test_verification_takes_addresses_instead_of_a_folder(cbnet, network):
    addresses = NetworkAddresses.read(network).routers.values()
    outcome = cbnet("verify", "--router", ",".join(map(str, addresses)))
    assert (outcome.code, outcome.out) == (0, "5 routers, 8 interfaces, 18 filters compared: 0 differences\n")


def test_verification_names_a_router_that_has_stopped(cbnet, network, tmp_path):
    running = NetworkAddresses.read(network)
    NetworkAddresses(running.network, {"6": Address("127.0.0.1", 1), **running.routers}).write(tmp_path)
    outcome = cbnet("verify", "--network", tmp_path)
    assert outcome.code == 1
    assert outcome.err.startswith("error: router 6 does not answer, and the tables of all routers are compared: ")
    assert outcome.err.endswith("or list the addresses of the others in --router, without a folder as --network\n")


def test_initial_predicates_stay_when_a_client_with_a_covering_filter_leaves(network):
    addresses = NetworkAddresses.read(network).routers
    messages = random_messages(60)
    expected = brute_force(messages)
    with package.connect(str(addresses["5"])) as client:
        own = client.subscribe("#jazz", wait=True)  # covers one of the node's filters
        assert probe_deliveries(addresses, messages, len(expected)) == expected
        jazz = sum("jazz" in message["#"] for _, message in messages)
        assert sum(own.get(timeout=60) is not None for _ in range(jazz)) == jazz
        assert own.get(timeout=0.1) is None
    assert probe_deliveries(addresses, messages, len(expected)) == expected


def test_sub_loaded_prints_the_deliveries_of_the_node(cbnet, network):
    command = [sys.executable, "-m", "cbnet", "sub", "--initial", "--network", network, "--router", "4", "--count", "1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        addresses = {"4": NetworkAddresses.read(network).routers["4"]}
        while not any(status.subscriptions for status in statuses(addresses).values()):
            assert process.poll() is None
        cbnet("pub", "#jazz", "--network", network, "--router", "1")
        cbnet("pub", "#jazz", "#live", "--payload", "tonight", "--network", network, "--router", "1")
        out, _ = process.communicate(timeout=60)
    assert out == "#jazz, #live  tonight\n"
    refused = cbnet("sub", "--initial", "--network", network, "--router", "2")
    assert refused.code != 0
    assert "router 2 has no initial predicate" in refused.err
    for arguments, problem in (
        ([], "give either a predicate, in quotes, or --initial"),
        (["x = 1", "--initial"], "--initial has no predicate of its own"),
    ):
        outcome = cbnet("sub", *arguments, "--network", network)
        assert (outcome.code, problem in outcome.err) == (2, True)


def test_a_router_that_is_killed_starts_with_its_table_again(tmp_path):
    plan = read_folder(write_folder(tmp_path / "live"))
    with ProcessNetwork.of(plan.graph, data=plan.data, **plan.settings) as network:
        network.wait()
        network.kill("3")
        network.start("3")
        network.wait()
        messages = random_messages(40)
        expected = brute_force(messages)
        assert probe_deliveries(network.addresses, messages, len(expected)) == expected


def test_mistake_is_one_line(cbnet, tmp_path):
    folder = write_folder(tmp_path / "live")

    def error(*arguments):
        outcome = cbnet("up", *arguments)
        assert outcome.code == 2
        assert "Traceback" not in outcome.err
        return outcome.err

    assert "there is no such folder; give the folder `live` of a run" in error("--fib", tmp_path / "none")
    assert "give exactly one of" in error("--fib", folder, "--topology", "ring:3")
    text = (folder / "network.toml").read_text()
    (folder / "network.toml").write_text(text.replace("version = 1", "version = 2"))
    assert "unknown version 2 of network files; this cbnet reads version 1" in error("--fib", folder)
    (folder / "network.toml").write_text(text.replace("graph.txt", "ring:3"))
    assert "[tables] names '3', which is not a router of the graph" in error("--fib", folder)
    (folder / "network.toml").write_text(text.partition("[tables]")[0].replace("graph.txt", "ring:3"))
    assert "predicate of '3', which is not a node of the graph" in error("--fib", folder)
    (folder / "predicates.parquet" / "p.parquet").write_text("damaged")
    assert "not a Parquet file" in error("--fib", folder)
    message = "routers on one machine: 501 is over the limit of 500; use a smaller graph, `cbnet lab simulate`, or"
    assert message in error("--topology", "ring:501")


def test_node_with_30_000_initial_filters_starts_in_seconds(tmp_path):
    path = tmp_path / "p.parquet"
    numbers = list(range(30_000))
    tags = pa.array([f"t{number}" for number in numbers])
    table = {"rule": pa.array(["0"] * len(numbers)), "filter": numbers, "name": tags, "op": ["#"] * len(numbers)}
    pq.write_table(pa.table(table), path)
    with ProcessNetwork.of(topology("ring:3"), data=InitialFiles(path, {}), network="n") as network:
        network.wait()
        found = statuses(network.addresses, network="n")
        assert {status.filters for status in found.values()} == {30_000}
        assert found["0"].initial == 30_000
        assert max(status.uptime for status in found.values()) < 60
