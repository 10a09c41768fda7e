"""The demo's network: its messages, its trace, and its failure."""

import json
from collections import Counter

import pytest

from cbnet import parse
from cbnet.cli.demo.demo import trace_tree
from cbnet.cli.demo.network import ProbeResult, compare_deliveries, random_messages
from cbnet.errors import CbnetError
from cbnet.network.client.client_inbox import Traced
from cbnet.network.protocol.fields import CAME_FROM_THERE
from cbnet.network.protocol.frames import Branch, Hop

RECEIVERS = [["a", "b"], [], ["b"]]  # of messages 0, 1 and 2


@pytest.mark.parametrize(
    ("counts", "result"),
    [
        ({("a", 0): 1, ("b", 0): 1, ("b", 2): 1}, ProbeResult(3, 3, 0, 0, 0)),
        ({("a", 0): 1, ("b", 0): 1}, ProbeResult(3, 2, 1, 0, 0)),
        ({("a", 0): 1, ("b", 0): 1, ("b", 2): 1, ("a", 1): 2}, ProbeResult(3, 3, 0, 2, 0)),
        ({("a", 0): 3, ("b", 0): 1, ("b", 2): 1}, ProbeResult(3, 3, 0, 0, 2)),
        ({("a", 2): 1, ("b", 0): 1, ("b", 2): 1}, ProbeResult(3, 2, 1, 1, 0)),  # the right number, but wrong ones
        ({}, ProbeResult(3, 0, 3, 0, 0)),
    ],
)
def test_deliveries_are_compared_with_the_expected_receivers(counts, result):
    actual = compare_deliveries(RECEIVERS, Counter(counts))
    assert actual == result
    assert actual.is_exact == (result == ProbeResult(3, 3, 0, 0, 0))


def test_random_messages_have_the_tags_of_filters():
    predicates = {"a": parse("#x and #y"), "b": parse("#z")}
    published = random_messages(predicates, ["a", "b", "c"], 50)
    assert {router for router, _ in published} == {"a", "b", "c"}
    assert all(
        parse("#x and #y or #z").matches(message) for number, (_, message) in enumerate(published) if number % 10 != 9
    )
    assert all("no receiver" in message.tags for _, message in published[9::10])
    with pytest.raises(CbnetError, match="no node has a filter"):
        random_messages({}, ["a"], 1)


def test_the_path_of_a_message_is_a_tree_of_routers():
    def hop(router, came_from, hops, branches, delivered=()):
        return Hop(router=router, came_from=came_from, hops=hops, dropped="", tree=0, root="1", branches=branches,
                   delivered=list(delivered), missed=[], hypothetical=[])  # fmt: skip

    back = Branch("1", False, 1, [CAME_FROM_THERE])
    spared = Branch("4", False, 3, ["#y: #y is missing"])
    hops = [
        hop("1", "", 0, [Branch("2", True, 4, ["#x"])]),
        hop("2", "1", 1, [back, spared], ["the initial predicate: #x and #[odd]"]),
    ]
    tree = trace_tree(Traced(hops, []))
    (second,) = tree.children
    (spared,) = second.children
    assert tree.label == "published at router 1"
    assert second.label == "router 2  [green]matches #x and #\\[odd][/]"
    assert spared.label == "[dim]not to 4: no rule of the 3 routers there matches[/]"


def test_wrong_deliveries_fail_the_demo(cbnet, monkeypatch):
    class WrongRun:
        result = ProbeResult(3, 2, 1, 0, 0)

        def members(self):
            return {"missed": 1}

    monkeypatch.setattr("cbnet.cli.demo.demo.run_small_pipeline", lambda *_: [])
    monkeypatch.setattr("cbnet.cli.pipeline.run_output.print_outcomes", lambda _: None)
    monkeypatch.setattr("cbnet.cli.demo.network.run_small_network", lambda *_: WrongRun())
    outcome = cbnet("demo", "--json")
    assert outcome.code == 1
    run, error = map(json.loads, outcome.out.splitlines()[-2:])
    assert (run, error["error"]) == ({"missed": 1}, "some deliveries of the small Internet are wrong")
