"""The demo's network: who wanted what, and what is said when something is not as it should be."""

import json
from collections import Counter

import pytest

from cbnet import parse
from cbnet.cli.demo.network import Verdict, judged, made_up, way_of
from cbnet.errors import CbnetError
from cbnet.network.client.async_client import Traced
from cbnet.network.protocol.frames import Branch, Hop

WANTED = [["a", "b"], [], ["b"]]  # who wants message 0, 1 and 2


@pytest.mark.parametrize(
    ("received", "verdict"),
    [
        ({("a", 0): 1, ("b", 0): 1, ("b", 2): 1}, Verdict(3, 3, 0, 0, 0)),
        ({("a", 0): 1, ("b", 0): 1}, Verdict(3, 2, 1, 0, 0)),
        ({("a", 0): 1, ("b", 0): 1, ("b", 2): 1, ("a", 1): 2}, Verdict(3, 3, 0, 2, 0)),
        ({("a", 0): 3, ("b", 0): 1, ("b", 2): 1}, Verdict(3, 3, 0, 0, 2)),
        ({("a", 2): 1, ("b", 0): 1, ("b", 2): 1}, Verdict(3, 2, 1, 1, 0)),  # as many as should be, and yet wrong
        ({}, Verdict(3, 0, 3, 0, 0)),
    ],
)
def test_what_arrived_is_set_against_who_wanted_it(received, verdict):
    found = judged(WANTED, Counter(received))
    assert found == verdict
    assert found.is_good == (verdict == Verdict(3, 3, 0, 0, 0))


def test_messages_are_made_of_what_nodes_want():
    predicates = {"a": parse("#x and #y"), "b": parse("#z")}
    published = made_up(predicates, ["a", "b", "c"], 50)
    assert {router for router, _ in published} == {"a", "b", "c"}
    assert all(
        parse("#x and #y or #z").matches(message) for place, (_, message) in enumerate(published) if place % 10 != 9
    )
    assert all("nobody asked for this" in message.tags for _, message in published[9::10])
    with pytest.raises(CbnetError, match="no node wants anything"):
        made_up({}, ["a"], 1)


def test_the_way_of_a_message_is_a_tree_of_routers():
    def branch(neighbour, is_sent, why=()):
        return Branch(neighbour, is_sent, [], 0, list(why))

    closest = ["4: #y: #y is missing"]
    hops = [
        Hop(router="1", came_from="", hops=0, dropped="", branches=[branch("2", True), branch("3", False, ["nobody is reached by this way"])], delivered=[], missed=[], supposed=[]),
        Hop(router="2", came_from="1", hops=1, dropped="", branches=[branch("1", False, ["it came from there"]), branch("4", False, closest)],
            delivered=["the loaded predicate: #x and #[odd]"], missed=[], supposed=[]),
    ]  # fmt: skip
    tree = way_of(Traced(hops, []))
    (second,) = tree.children
    (spared,) = second.children
    assert tree.label == "published at router 1"
    assert second.label == "router 2  [green]wants #x and #\\[odd][/]"
    assert spared.label == "[dim]not to 4: nobody wants it there[/]"


def test_a_network_that_fails_makes_the_demo_fail(cbnet, monkeypatch):
    class Story:
        is_good = False

        def members(self):
            return {"missed": 1}

    monkeypatch.setattr("cbnet.cli.demo.pipeline.run_small_pipeline", lambda *_: [])
    monkeypatch.setattr("cbnet.cli.pipeline.pipeline_output.print_outcomes", lambda _: None)
    monkeypatch.setattr("cbnet.cli.demo.network.run_small_network", lambda *_: Story())
    outcome = cbnet("demo", "--json")
    assert outcome.code == 1
    story, error = map(json.loads, outcome.out.splitlines()[-2:])
    assert (story, error["error"]) == ({"missed": 1}, "not every node got just what it asked for")
