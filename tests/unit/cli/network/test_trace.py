"""The path of a message as text: which side of each tree link wants it, and by which filter."""

from cbnet import Message
from cbnet.cli.network.trace import print_trace
from cbnet.network.client.client_inbox import Traced
from cbnet.network.protocol.fields import CAME_FROM_THERE, LINK_DOWN, NOT_KNOWN
from cbnet.network.protocol.frames import Branch, Hop, json_of


def hop(router, came_from, hops, branches=(), **changes):
    texts = {"delivered": [], "missed": [], "hypothetical": [], "dropped": ""} | changes
    return Hop(router=router, came_from=came_from, hops=hops, tree=1, root="b", branches=list(branches), **texts)


MISS = Branch("e", False, 1, ["y = 1: y = 1 fails: y is absent"])
HOPS = [
    hop("a", "", 0, [Branch("b", True, 4, ["x > 5"])], missed=["subscription 1 of c: x = 1: x = 1 fails: x is 6"]),
    hop("b", "a", 1, [Branch("c", True, 2, [NOT_KNOWN]), Branch("a", False, 1, [CAME_FROM_THERE]), MISS]),
    hop("c", "b", 2, [Branch("d", False, 1, [LINK_DOWN])], dropped="link closed"),
]


TEXT = """\
message         x = 6
published at    router a (dry run: nothing is delivered)
tree            1, rooted at b

router a
├── no match for subscription 1 of c: x = 1: x = 1 fails: x is 6
└─► router b (4 routers on its side): matches x > 5
    ├─► router c (2 routers on its side): what its side wants is not known yet
    │   ├── dropped: link closed
    │   └─╳ not to d (1 router): its side may want it, but the link is down
    └─╳ not to e (1 router): no filter matches; closest: y = 1: y = 1 fails: y is absent

no reachable subscription matches it
no report from d: the path from there is unknown
"""


def test_each_branch_has_the_filter_or_the_reason(capsys):
    print_trace(Traced(HOPS, ["d"]), Message({"x": 6}), is_dry=True, hypothetical=None)
    assert capsys.readouterr().out == TEXT


def test_a_member_of_a_group_is_shown_with_the_one_that_gets_the_message(capsys):
    texts = {"delivered": ["subscription 1 of c: x > 5"], "passed_over": ["subscription 1 of d: another"]}
    for is_dry, lines in (
        (True, "├── would be delivered to subscription 1 of c: x > 5\n└── not to subscription 1 of d: another\n"),
        (False, "├── delivered to subscription 1 of c: x > 5\n└── not delivered to subscription 1 of d: another\n"),
    ):
        print_trace(Traced([hop("a", "", 0, **texts)], []), Message({"x": 6}), is_dry=is_dry, hypothetical=None)
        assert lines in capsys.readouterr().out


def test_json_has_all_members_of_a_hop():
    row = json_of(HOPS[1])
    assert (row["tree"], row["root"], row["hops"]) == (1, "b", 1)
    assert row["branches"][2] == {"neighbour": "e", "is_sent": False, "routers": 1, "why": MISS.why}


NETWORKS = [
    hop("a", "", 0, [Branch("g", True, 1, ["x > 5"])]),
    hop("g", "a", 1, [Branch("a", False, 1, [CAME_FROM_THERE])], passed_to=[Branch("south", True, 0, ["x > 5"])]),
    hop("g", "", 0, [Branch("a", True, 1, ["x > 6"])], network="south"),
    hop(
        "a",
        "g",
        1,
        [Branch("g", False, 1, [CAME_FROM_THERE])],
        network="south",
        delivered=["subscription 1 of d: x > 6"],
    ),
]
NETWORKS_TEXT = """\
message         x = 7
published at    router a
tree            1, rooted at b

router a
└─► router g (1 router on its side): matches x > 5
    └─► network south, router g: matches x > 5
        └─► router a (1 router on its side): matches x > 6
            └── delivered to subscription 1 of d: x > 6

it was delivered to subscriptions at router a in south
"""


def test_a_message_is_followed_into_another_network_where_routers_may_have_the_same_names(capsys):
    print_trace(Traced(NETWORKS, []), Message({"x": 7}), is_dry=False, hypothetical=None)
    assert capsys.readouterr().out == NETWORKS_TEXT


def test_a_network_without_a_report_is_named(capsys):
    print_trace(Traced(NETWORKS[:2], ["the gateway to south"]), Message({"x": 7}), is_dry=False, hypothetical=None)
    text = capsys.readouterr().out
    assert "    └─► network south: matches x > 5\n        └── no report\n" in text
    assert "no report from the gateway to south: the path from there is unknown" in text


def test_json_has_the_networks_it_was_passed_to():
    row = json_of(NETWORKS[1])
    assert row["passed_to"] == [{"neighbour": "south", "is_sent": True, "routers": 0, "why": ["x > 5"]}]


def test_names_of_others_cannot_forge_a_line(capsys):
    hops = [hop("a", "", 0, delivered=["subscription 1 of c\x1b[1A\nforged: x = 1"])]
    print_trace(Traced(hops, ["d\x1b[2K"]), Message({"x": 1}), is_dry=False, hypothetical=None)
    out = capsys.readouterr().out
    assert r"c\x1b[1A\nforged: x = 1" in out
    assert all(line.isprintable() for line in out.split("\n"))
