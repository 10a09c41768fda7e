import json

import pytest
from support.networks import RING, TWELVE

from cbnet.routing.schemes import pif

KEYS = [
    "scheme", "messages", "delivered", "missed", "spurious", "duplicates", "packets", "stretch_mean", "stretch_max",
    "header_bytes", "state_bits", "state_bits_formula", "state_bits_estimated",
]  # fmt: skip
POWERLAW = ("--topology", "powerlaw:200", "--random", "receivers=50,filters=3")


def rows(outcome):
    assert (outcome.code, outcome.err) == (0, "")
    return [json.loads(line) for line in outcome.out.splitlines()]


def by_scheme(outcome):
    return {row.pop("scheme"): row for row in rows(outcome)}


@pytest.fixture
def files(tmp_path):
    """The twelve nodes of [2006 Fig. 1], and predicates for its Fig. 4."""
    for name, said in (("twelve", TWELVE), ("ring", RING)):
        edges = (edge.replace("-", " ").replace(":", " ") for edge in said.split())
        (tmp_path / f"{name}.edges").write_text("\n".join(edges))
    wanting = "\n".join(f"{node} = '#a'" for node in (2, 3, 4, 8))
    (tmp_path / "four.toml").write_text(f"[rules]\n{wanting}\n")
    (tmp_path / "two.toml").write_text("[rules]\n2 = '#a'\n4 = '#a'\n")
    (tmp_path / "one.jsonl").write_text('{"#": ["a"]}\n')
    return tmp_path


def given(files, name, predicates, *more):
    return ("lab", "simulate", "--topology", files / f"{name}.edges", "--rules", files / predicates,
            "--messages", files / "one.jsonl", *more)  # fmt: skip


def test_all_schemes_deliver_figure_4_as_the_paper_says(cbnet, files):
    found = by_scheme(cbnet(*given(files, "twelve", "four.toml", "--source", "1", "--json")))
    assert list(found) == ["psf", "ips", "pif", "drp"]
    for row in found.values():
        # 1-6, 6-2, 2-3, 6-7, 7-4, 7-8
        assert (row["messages"], row["delivered"], row["missed"], row["packets"]) == (1, 4, 0, 6)
        assert (row["spurious"], row["duplicates"], row["stretch_mean"], row["stretch_max"]) == (0, 0, 1.0, 1.0)
    assert found["psf"]["header_bytes"] == found["ips"]["header_bytes"] == found["pif"]["header_bytes"] == 6
    assert found["drp"]["header_bytes"] == 5 + 3 + 3 + 2 + 2 + 2  # {2,3,4,8}, {2,3}, {4,8}, {3}, {4}, {8}


def test_the_ring_of_figure_3_costs_pif_a_spurious_packet(cbnet, files):
    found = by_scheme(cbnet(*given(files, "ring", "two.toml", "--source", "1", "--scheme", "psf,pif", "--json")))
    assert {name: (row["packets"], row["spurious"]) for name, row in found.items()} == {"psf": (2, 0), "pif": (3, 1)}


def test_a_thousand_messages_on_a_power_law_graph_are_delivered_as_promised(cbnet):
    found = rows(cbnet("lab", "simulate", *POWERLAW, "--messages", 1000, "--json"))
    assert [list(row) for row in found] == [KEYS] * 4
    for row in found:
        assert (row["messages"], row["missed"], row["duplicates"]) == (1000, 0, 0)
        assert row["spurious"] == 0 or row["scheme"] == "pif"
        assert row["delivered"] > 1000  # messages match some receivers
        assert row["state_bits"] > 0
    assert len({row["delivered"] for row in found}) == 1
    assert [row["scheme"] for row in found if row["state_bits_formula"] is None] == ["ips"]


def test_another_seed_makes_another_network(cbnet):
    one, same, other = (
        cbnet("lab", "simulate", *POWERLAW, "--scheme", "drp", "--json", "--seed", seed).out for seed in (1, 1, 2)
    )
    assert one == same != other


def test_people_get_tables(cbnet, files):
    outcome = cbnet(*given(files, "twelve", "four.toml"))
    assert (outcome.code, outcome.err) == (0, "")
    first, *rest = outcome.out.splitlines()
    assert first.endswith("twelve.edges: 12 nodes, 15 edges, 12 senders, 4 receivers, 4 filters, 1 message")
    assert [line.split()[0] for line in rest if line[:3] in ("psf", "ips", "pif", "drp")] == 2 * [
        "psf", "ips", "pif", "drp"
    ]  # fmt: skip


def test_blanks_in_random_sizes_are_allowed(cbnet):
    one, other = (
        cbnet("lab", "simulate", "--topology", "ring:9", "--random", said, "--json", "--scheme", "drp")
        for said in ("receivers=5,filters=2", " receivers=5, filters=2")
    )
    assert rows(one) == rows(other)


def test_messages_cannot_be_made_where_nothing_can_match(cbnet, files):
    (files / "none.toml").write_text("[rules]\n2 = 'x < 1 and x > 2'\n")
    outcome = cbnet("lab", "simulate", "--topology", files / "ring.edges", "--rules", files / "none.toml")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == ("error: no message can match these rules; give a message file: --messages FILE\n")


def test_predicates_may_be_a_compiled_table(cbnet, files):
    assert cbnet("compile", "--rules", files / "four.toml", "-o", files / "four.cbt").code == 0
    one, other = (cbnet(*given(files, "twelve", name, "--json")) for name in ("four.toml", "four.cbt"))
    assert rows(one) == rows(other)


def test_made_messages_match_somebody(cbnet, files):
    outcome = cbnet("lab", "simulate", "--topology", files / "twelve.edges", "--rules", files / "four.toml",
                    "--messages", 50, "--source", 1, "--scheme", "psf", "--json")  # fmt: skip
    assert by_scheme(outcome)["psf"]["delivered"] == 50 * 4


def test_the_unicast_of_drp_may_be_one_tree_and_its_header_the_whole_partition(cbnet):
    plain, tree, partition = (
        by_scheme(cbnet("lab", "simulate", *POWERLAW, "--scheme", "drp", "--json", *more))["drp"]
        for more in ((), ("--unicast", "tree"), ("--partition",))
    )
    assert plain["stretch_mean"] == 1.0 < tree["stretch_mean"] <= tree["stretch_max"]
    assert tree["state_bits"] < plain["state_bits"]
    assert partition["packets"] == plain["packets"]
    assert partition["header_bytes"] > plain["header_bytes"]


@pytest.mark.parametrize("trees", [1, 8])
def test_trees_deliver_all_over_longer_paths_and_least_is_the_shortest(cbnet, trees):
    found = {
        commit: by_scheme(cbnet("lab", "simulate", *POWERLAW, "--scheme", "psf,multitree", "--trees", trees,
                                "--commit", commit, "--json"))
        for commit in ("random", "flow", "least")
    }  # fmt: skip
    for row in found.values():
        multitree = row["multitree"]
        assert multitree["delivered"] == row["psf"]["delivered"]
        assert (multitree["missed"], multitree["spurious"], multitree["duplicates"]) == (0, 0, 0)
        assert 1.0 < multitree["stretch_mean"] <= multitree["stretch_max"]
        assert multitree["state_bits"] < row["psf"]["state_bits"]
        assert multitree["state_bits_formula"] is None
    stretches = {commit: row["multitree"]["stretch_mean"] for commit, row in found.items()}
    assert (stretches["least"] < stretches["random"]) == (trees > 1)


@pytest.mark.parametrize(
    ("root", "stretch"),
    [("1", 1.0), ("3", 2.0)],  # from 1 to 2 it is 3; on the tree from 3 the way is 1-4-3-2, which is 6
)
def test_roots_may_be_named(cbnet, files, root, stretch):
    chosen = ("--scheme", "multitree", "--root", root, "--source", "1", "--json")
    found = by_scheme(cbnet(*given(files, "ring", "two.toml", *chosen)))
    assert (found["multitree"]["delivered"], found["multitree"]["stretch_max"]) == (2, stretch)


@pytest.mark.parametrize("outside", ["exact", "names", "all"])
def test_domains_deliver_as_the_flat_network_and_know_less_the_wider_the_summary(cbnet, outside):
    chosen = ("--scheme", "multitree,domains", "--trees", 2, "--domains", 8, "--outside", outside, "--json")
    found = by_scheme(cbnet("lab", "simulate", *POWERLAW, *chosen))
    flat, domains = found["multitree"], found["domains"]
    assert domains["delivered"] == flat["delivered"]
    assert (domains["missed"], domains["duplicates"]) == (0, 0)
    assert (domains["spurious"] > 0) == (outside != "exact")
    assert (domains["state_bits"] < flat["state_bits"] / 4) == (outside != "exact")
    assert domains["state_bits_formula"] is None


def test_domains_may_be_a_file_and_their_roots_named(cbnet, files):
    (files / "domains.txt").write_text("1 west  # its gateway\n2, west\n3 east\n4 east\n")
    chosen = ("--scheme", "domains", "--domains", files / "domains.txt", "--root", "1", "--source", "1", "--json")
    found = by_scheme(cbnet(*given(files, "ring", "two.toml", *chosen)))["domains"]
    # the tree from 1 reaches the east by 1-4; 2 is reached by 1-2, the only link inside the west
    assert (found["delivered"], found["packets"], found["stretch_max"]) == (2, 2, 1.0)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("1 west\n2 west\n3 east\n", "domains.txt: the node 4 has no domain; write 4 NAME"),
        ("1 west\n1 east\n", "domains.txt:2: the node 1 already has the domain west; keep one line"),
        ("1 west east\n", "domains.txt:1: '1 west east' is not a node and its domain; write two names: a north"),
        ("7 west\n", "domains.txt:1: the graph has no node '7'"),
        (
            "1 w\n2 e\n3 w\n4 e\n",
            "the domain w is not connected: it has no path from 1 to 3; split it into two domains",
        ),
    ],
)
def test_errors_in_a_domain_file_are_reported(cbnet, files, text, problem):
    (files / "domains.txt").write_text(text)
    outcome = cbnet(*given(files, "ring", "two.toml", "--scheme", "domains", "--domains", files / "domains.txt"))
    assert (outcome.code, outcome.out) == (2, "")
    assert problem in outcome.err


def test_larger_networks_of_domains_are_estimated(cbnet, monkeypatch):
    chosen = ("--scheme", "domains", "--domains", 8, "--json")
    [exact] = rows(cbnet("lab", "simulate", *POWERLAW, *chosen))
    monkeypatch.setattr("cbnet_lab.cli.lab.simulate._MAX_EXACT_NODES", 100)
    monkeypatch.setattr("cbnet_lab.cli.lab.simulate._SAMPLE_SIZE", 150)
    estimated = json.loads(cbnet("lab", "simulate", *POWERLAW, *chosen).out)
    assert (exact["state_bits_estimated"], estimated["state_bits_estimated"]) == (False, True)
    assert estimated["state_bits"] == pytest.approx(exact["state_bits"], rel=0.15)


def test_treeheader_uses_the_paths_of_psf_and_some_more(cbnet):
    found = by_scheme(cbnet("lab", "simulate", *POWERLAW, "--scheme", "psf,treeheader", "--json"))
    psf, own = found["psf"], found["treeheader"]
    assert (own["delivered"], own["missed"], own["stretch_max"]) == (psf["delivered"], 0, 1.0)
    assert own["packets"] >= psf["packets"]
    assert own["state_bits"] < psf["state_bits"]
    assert own["header_bytes"] > psf["header_bytes"]


def test_more_bits_in_the_header_save_packets(cbnet):
    few, many = (
        by_scheme(
            cbnet(
                "lab", "simulate", *POWERLAW, "--scheme", "treeheader", "--hashes", 4, "--header-bits", bits, "--json"
            )
        )
        for bits in (64, 1024)
    )
    assert few["treeheader"]["packets"] > many["treeheader"]["packets"]
    assert few["treeheader"]["delivered"] == many["treeheader"]["delivered"]


def test_filters_that_are_too_full_are_an_error_with_a_hint(cbnet):
    full = ("--scheme", "treeheader", "--hashes", 1, "--header-bits", 8, "--messages", 20)
    outcome = cbnet("lab", "simulate", "--topology", "grid:10x10", "--random", "receivers=90", *full)
    assert outcome.code == 2
    assert outcome.err == (
        "error: treeheader: the filters are so full that packets loop; use more --hashes or more --header-bits\n"
    )


def test_fewer_senders_need_less_state(cbnet):
    few, all_nodes = (
        by_scheme(cbnet("lab", "simulate", *POWERLAW, "--scheme", "psf", "--json", *more))["psf"]
        for more in (("--senders", 20), ())
    )
    assert few["state_bits"] < all_nodes["state_bits"] / 5


def test_larger_networks_are_estimated_from_a_sample(cbnet, monkeypatch):
    monkeypatch.setattr("cbnet_lab.cli.lab.simulate._MAX_EXACT_NODES", 100)
    monkeypatch.setattr("cbnet_lab.cli.lab.simulate._SAMPLE_SIZE", 150)
    chosen = ("--scheme", "psf,pif,multitree,drp", "--trees", 4, "--json")
    outcome = cbnet("lab", "simulate", *POWERLAW, *chosen)
    assert outcome.code == 0
    assert "estimated from 150 routers" in outcome.err
    told = [json.loads(line) for line in outcome.out.splitlines()]
    assert [row["state_bits_estimated"] for row in told] == [True, True, True, False]
    *estimated, drp = [row["state_bits"] for row in told]
    monkeypatch.undo()
    counted = rows(cbnet("lab", "simulate", *POWERLAW, *chosen))
    assert not any(row["state_bits_estimated"] for row in counted)
    *exact, counted_drp = [row["state_bits"] for row in counted]
    assert drp == counted_drp
    assert all(one != other for one, other in zip(estimated, exact, strict=True))
    assert estimated == pytest.approx(exact, rel=0.1)


def test_larger_networks_are_refused_by_ips_with_the_others_to_choose(cbnet):
    outcome = cbnet("lab", "simulate", "--topology", "tree:5001", "--random", "receivers=2")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == ("error: ips supports at most 5,000 nodes, not 5,001; write --scheme psf,pif,drp\n")


def test_nothing_delivered_has_no_stretch(cbnet, files):
    (files / "one.jsonl").write_text('{"#": ["nobody"]}\n')
    arguments = given(files, "ring", "two.toml", "--source", "1", "--scheme", "psf")
    [row] = rows(cbnet(*arguments, "--json"))
    assert (row["delivered"], row["stretch_mean"], row["stretch_max"]) == (0, None, None)
    [delivered, _] = [line.split() for line in cbnet(*arguments).out.splitlines() if line.startswith("psf")]
    assert delivered[-2:] == ["-", "-"]


def test_a_scheme_that_loses_or_multiplies_messages_ends_with_code_1(cbnet, files, monkeypatch):
    monkeypatch.setattr(pif.PifRouter, "fwd", lambda *_: [])
    outcome = cbnet(*given(files, "ring", "two.toml", "--source", "1"))
    assert outcome.code == 1
    assert outcome.err == "error: messages were missed or looped by pif: please report this\n"


SMALL = ("--topology", "ring:9", "--random", "receivers=2")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--topology", "ring:9"], "no receivers given; give exactly one of --rules FILE and --random"),
        (["--topology", "ring:9", "--random", "receivers=10"], "10 receivers are too many for a network of 9 nodes"),
        (
            ["--topology", "ring:9", "--random", "receiver=5"],
            "--random: unknown size 'receiver=5'; write --random receivers",
        ),
        (["--topology", "ring:9", "--random", "receivers=x"], "unknown size 'receivers=x'"),
        (["--topology", "ring:9", "--random", "receivers=2,filters=0"], "unknown size 'filters=0'"),
        ([*SMALL, "--senders", "10"], "--senders must be from 1 to 9, not 10"),
        ([*SMALL, "--source", "1", "--senders", "2"], "--senders and --source exclude each other"),
        ([*SMALL, "--source", "x"], "the graph has no node 'x'"),
        ([*SMALL, "--scheme", "psf,xyz"], "unknown scheme 'xyz'; use one of"),
        ([*SMALL, "--unicast", "x"], "unknown unicast 'x'; use one of"),
        (
            [*SMALL, "--scheme", "multitree", "--commit", "x"],
            "unknown commit policy 'x'; use one of random, flow, least",
        ),
        ([*SMALL, "--trees", "0"], "Invalid value for '--trees'"),
        ([*SMALL, "--messages", "no.jsonl"], "no.jsonl: cannot read"),
        ([*SMALL, "--messages", "123456789"], "from 1 to 1,000,000, not 123456789"),
        ([*SMALL, "--messages", "0"], "from 1 to 1,000,000, not 0"),
        ([*SMALL, "--messages", "-1"], "from 1 to 1,000,000, not -1"),
        ([*SMALL, "--messages", "٣"], "٣: cannot read"),
        (["--topology", "ring:9", "--random", "receivers=5,receivers=6"], "--random has receivers twice"),
        (
            ["--topology", "ring:9", "--random", "receivers=5,filters=999999999"],
            "--random supports at most 1,000,000 filters in total",
        ),
        (
            [*SMALL, "--scheme", "psf", "--unicast", "foo"],
            "--unicast: used by the scheme drp only; add drp to --scheme",
        ),
        ([*SMALL, "--scheme", "psf", "--partition"], "--partition: used by the scheme drp only"),
        ([*SMALL, "--trees", "2"], "--trees: used by the schemes multitree and domains only"),
        (
            [*SMALL, "--commit", "flow"],
            "--commit: used by the schemes multitree and domains only; add one of them to --scheme",
        ),
        ([*SMALL, "--root", "1"], "--root: used by the schemes multitree"),
        (
            [*SMALL, "--scheme", "multitree", "--root", "1", "--trees", "2"],
            "both a number of trees and their roots are given; give one of them",
        ),
        ([*SMALL, "--domains", "3"], "--domains: used by the scheme domains only"),
        ([*SMALL, "--outside", "all"], "--outside: used by the scheme domains only"),
        ([*SMALL, "--scheme", "domains", "--domains", "10"], "9 nodes has from 1 to 9 domains, not 10"),
        ([*SMALL, "--scheme", "domains", "--domains", "1234567"], "--domains must be from 1 to 9, not 1234567"),
        ([*SMALL, "--scheme", "domains", "--domains", "no.txt"], "no.txt: cannot read: No such file"),
        ([*SMALL, "--scheme", "domains", "--outside", "x"], "unknown summary 'x'; use one of exact, names, all"),
        (
            [*SMALL, "--hashes", "3", "--header-bits", "8"],
            "--hashes and --header-bits: used by the scheme treeheader only; add treeheader to --scheme",
        ),
        (
            [*SMALL, "--scheme", "treeheader", "--header-bits", "250"],
            "a filter has from 8 to 1,048,576 bits, in whole bytes, not 250",
        ),
        (["--topology", "nowhere.txt", "--random", "receivers=2"], "nowhere.txt"),
        (["--random", "receivers=2"], "Missing option '--topology'"),
    ],
)
def test_invalid_arguments_are_refused(cbnet, arguments, problem, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    outcome = cbnet("lab", "simulate", *arguments)
    assert outcome.code == 2
    assert problem in outcome.err


def test_all_unknown_nodes_of_a_file_are_reported(cbnet, files):
    (files / "bad.toml").write_text("[rules]\n2 = '#a'\n99 = '#a'\n98 = '#a'\n")
    outcome = cbnet(*given(files, "ring", "bad.toml"))
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == "".join(f"error: {files}/bad.toml: the graph has no node '{node}'\n" for node in (99, 98))
    (files / "bad.toml").write_text("[rules]\n" + "".join(f"{node} = '#a'\n" for node in range(100, 200)))
    lines = cbnet(*given(files, "ring", "bad.toml")).err.splitlines()
    assert (len(lines), lines[-1]) == (21, f"error: {files}/bad.toml: there may be more; correct these first")


def test_mistakes_in_messages_are_shown_at_their_line(cbnet, files):
    (files / "one.jsonl").write_text('{"x": 1}\n{"x": 1e999}\n[]\n')
    outcome = cbnet(*given(files, "ring", "two.toml"))
    assert outcome.code == 2
    assert [line.split(": ")[1].removeprefix(f"{files}/")[:11] for line in outcome.err.splitlines()] == [
        "one.jsonl:2", "one.jsonl:3"
    ]  # fmt: skip


def test_requests_are_answered_by_every_choice_of_a_holder(cbnet, files):
    found = rows(cbnet(*given(files, "twelve", "four.toml", "--source", "1", "--pull", "--root", "6", "--json")))
    assert [row["choice"] for row in found] == ["nearest", "random", "least"]
    for row in found:
        assert (row["requests"], row["answered"], row["missed"], row["holders"]) == (1, 1, 0, 1)
    # The nearest holder is 2: 1-6 and 6-2, of length 5, which is also the shortest path.
    assert (found[0]["request_packets"], found[0]["reply_packets"], found[0]["extra_length"]) == (2, 2, 0.0)
    [one] = rows(cbnet(*given(files, "twelve", "four.toml", "--pull", "--choice", "least", "--json")))
    assert one["choice"] == "least"


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--choice", "least"), "--choice: for requests only; add --pull"),
        (("--pull", "--choice", "first"), "unknown choice 'first'"),
        (("--producers", "2"), "used by the scheme multitree only"),
        (("--scheme", "multitree", "--producers", "2", "--trees", "2"), "leave out --trees and --root"),
    ],
)
def test_options_that_do_not_fit_are_refused(cbnet, files, options, problem):
    outcome = cbnet(*given(files, "twelve", "four.toml", *options))
    assert outcome.code != 0
    assert problem in outcome.err


def test_tree_of_a_popular_producer_has_no_stretch(cbnet, files):
    """Its messages take its own tree of shortest paths [2014 §3.1]."""
    options = ("--source", "1", "--scheme", "multitree", "--json")
    [own] = rows(cbnet(*given(files, "twelve", "four.toml", *options, "--producers", "1")))
    [other] = rows(cbnet(*given(files, "twelve", "four.toml", *options, "--root", "10")))
    assert own["stretch_max"] == 1.0 < other["stretch_max"]


def test_ideal_deliveries_are_shown_if_asked_for(cbnet, files):
    options = ("--source", "1", "--scheme", "psf,pif", "--ideal")
    found = by_scheme(cbnet(*given(files, "ring", "two.toml", *options, "--json")))
    assert {name: (row["ideal"], row["ideal_checked"]) for name, row in found.items()} == {"psf": (1, 1), "pif": (0, 1)}
    assert "Ideal deliveries" in cbnet(*given(files, "ring", "two.toml", *options)).out
