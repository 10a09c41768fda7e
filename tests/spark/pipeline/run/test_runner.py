import os
import shutil
from pathlib import Path

import pytest
from support.crowds import behind, minimal
from support.pipeline_runs import rows_of

from cbnet.errors import CbnetError, InputError
from cbnet.network.service.network_file import read_folder
from cbnet.pipeline.run.configuration import read_config
from cbnet.pipeline.run.leftovers import clean, leftovers
from cbnet.pipeline.run.plan import Selection, StageState, states
from cbnet.pipeline.run.runner import run
from cbnet.pipeline.run.stage import StageContext
from cbnet.pipeline.spark.lock import locked
from cbnet.pipeline.spark.results import read_result
from cbnet.topology import shortest_path_tree, topology

SMALL = """
seed = 3
[network]
graph = "aslike:40"
routers = 2
[population]
clusters = 60
[applications.web]
descriptors = 3
users = 400
[applications.video]
share = 0.5
descriptors = 2
"""
MADE = ["models", "population", "loads", "predicates", "fib", "table1"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("run")


def config_of(folder, text):
    (folder / "run.toml").write_text(text)
    return read_config(folder / "run.toml")


def new_stages(config, spark):
    return [outcome.name for outcome in run(config, lambda: spark) if outcome.is_new]


def stored(spark, config, stage):
    return read_result(spark, f"{config.out}/{stage}").frame(spark)


def files_of(folder):
    """Return the files of a folder, without its manifest and checksums."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.name[0] not in "._"]
    return {path.name: path.read_bytes() for path in files}


def no_session():
    raise AssertionError("Spark was started")


def state_of(config):
    return {each.name: each.state for each in states(config)}


@pytest.fixture(scope="module")
def small(spark, folder):
    """A run in an empty folder."""
    config = config_of(folder, SMALL)
    assert {*state_of(config).values()} == {StageState.MISSING}
    assert new_stages(config, spark) == MADE
    return config


@pytest.fixture
def copied(small, tmp_path):
    """The run in another folder, for a test that changes it."""
    shutil.copytree(small.out, tmp_path / "run")
    return config_of(tmp_path, SMALL)


def test_table_1_equals_a_plain_computation_from_the_population(spark, small):
    context = StageContext(spark, small)
    rows = [tuple(row) for row in stored(spark, small, "population").collect()]
    assert rows
    graph = topology("aslike:40", 3)
    tree = shortest_path_tree(graph, context.tree.root)
    results = {outcome.name: outcome.result for outcome in run(small, no_session)}
    facts = results["table1"].facts
    assert len(facts["rows"]) == 4  # two routers, each with all and with its largest interface
    for router in context.routers:
        neighbours = {*tree.children(router).tolist(), int(tree.parents[router])} - {-1}
        behind_interface = {neighbour: behind(rows, tree, router, neighbour) for neighbour in neighbours}
        whole = next(row for row in facts["rows"] if row["router"] == graph.name(router) and row["interface"] is None)
        assert whole["interfaces"] == len(neighbours)
        assert whole["destinations"] == len(graph) - 1
        assert whole["descriptors"] == sum(map(len, behind_interface.values()))
        assert whole["tags"] == sum(len(tags) for sets in behind_interface.values() for tags in sets)
        assert whole["kept"] == sum(len(minimal(sets)) for sets in behind_interface.values())
    offers = sum(row[2] == "offer" for row in rows)
    assert facts["roles"]["offer"]["descriptors"] == offers
    assert facts["roles"]["subscription"]["descriptors"] == len(rows) - offers


def test_second_run_needs_no_spark(small):
    again = [*run(small, no_session)]
    assert [(outcome.name, outcome.is_new) for outcome in again] == [(name, False) for name in MADE]
    assert {*state_of(small).values()} == {StageState.DONE}
    assert all(outcome.result.cost["shuffle_bytes"] >= 0 for outcome in again)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    ("before", "after", "stale"),
    [
        ("routers = 2", "routers = [3]", {"fib", "table1"}),
        ("routers = 2", "routers = 2\nroot = 5", {"fib", "table1"}),
        ("clusters = 60", "clusters = 61", {"population", "loads", "predicates", "fib", "table1"}),
        ("descriptors = 3", "descriptors = 4", {"population", "loads", "predicates", "fib", "table1"}),
        ("seed = 3", "seed = 4", {*MADE}),
        ("seed = 3", "# a comment\nseed = 3", set()),
    ],
)
def test_only_stages_that_depend_on_a_change_are_stale(folder, before, after, stale):
    found = state_of(config_of(folder, SMALL.replace(before, after)))
    assert {name for name, state in found.items() if state is StageState.STALE} == stale
    assert StageState.MISSING not in found.values()


@pytest.mark.usefixtures("copied")
def test_only_stale_and_new_stages_run(spark, tmp_path):
    more = "\n[all_routers]\ndistinct = true\n[folded]\nk = [1, 2]\n[router_tables]\nranges = 3\n[tables]\n[live]\n"
    config = config_of(tmp_path, SMALL.replace("routers = 2", "routers = [3, 0]\ntrees = 2") + more)
    added = ["all_routers", "distinct", "folded/1", "folded/2"]
    added += ["router_tables/descriptors", "router_tables/marks", "tables", "live"]
    assert new_stages(config, spark) == ["fib", "table1", *added]
    facts = {outcome.name: outcome.result.facts for outcome in run(config, no_session)}
    for row in facts["table1"]["rows"]:
        if row["interface"] is None:  # three computations of one number, and one upper bound
            name = str(row["router"])
            assert facts["all_routers"]["kept"][name] == row["kept"]
            assert facts["folded/1"]["rows"][[3, 0].index(row["router"])]["entries"] == row["kept"]
            assert row["kept"] <= facts["distinct"]["distinct"][name] <= row["descriptors"]
    counted = stored(spark, config, "all_routers").where("interface is null").groupBy().sum("kept").first()[0]
    assert facts["router_tables/marks"]["entries"][0] == counted
    assert {file.name for file in (tmp_path / "run" / "tables").glob("*.cbt")} == {"3.cbt", "0.cbt"}
    live = tmp_path / "run" / "live"
    assert "trees" not in (live / "network.toml").read_text()
    assert (live / "tables" / "3.cbt").exists()
    assert read_folder(tmp_path / "run" / "live").trees == 2


def test_result_without_a_manifest_is_computed_again(spark, tmp_path):
    config = config_of(tmp_path, "[network]\ngraph = 'ring:5'\n[population]\nclusters = 0\n")
    assert new_stages(config, spark) == MADE
    whole = [*run(config, no_session)][-1].result.facts["rows"][0]
    assert (whole["descriptors"], whole["kept"], whole["destinations"]) == (0, 0, 4)  # of nobody
    (tmp_path / "run" / "loads" / "_cbnet.json").unlink()
    assert new_stages(config, spark) == ["loads"]


def test_lost_part_file_is_noticed_and_computed_again(spark, copied, tmp_path):
    before = rows_of(spark, copied.out, "population")
    lost = next((tmp_path / "run" / "population").glob("part-*.parquet"))
    lost.unlink()
    damaged = {each.name: each.reason for each in states(copied) if each.state is StageState.DAMAGED}
    assert damaged.keys() == {"population"}
    assert damaged["population"].endswith(f"files missing: {lost.name}")
    assert new_stages(copied, spark) == ["population"]  # the stages after it were computed from the whole
    assert rows_of(spark, copied.out, "population") == before
    assert {*state_of(copied).values()} == {StageState.DONE}


def test_crash_between_write_and_switch_leaves_the_old_result(spark, copied, tmp_path, monkeypatch):
    before = rows_of(spark, copied.out, "table1")

    def crash(*_):
        raise MemoryError

    with monkeypatch.context() as patched:
        patched.setattr("cbnet.pipeline.spark.results.write_text", crash)
        with pytest.raises(MemoryError):
            [*run(copied, lambda: spark, selection=Selection(only=["table1"], force=True))]
    assert {*state_of(copied).values()} == {StageState.DONE}
    assert rows_of(spark, copied.out, "table1") == before
    assert leftovers(copied) == {}
    (tmp_path / "run" / "table1" / "_cbnet.json").unlink()
    assert new_stages(copied, spark) == ["table1"]
    assert leftovers(copied) == {}


def test_selected_stages_run_again_and_give_the_same_rows(spark, tmp_path):
    config = config_of(tmp_path, "[network]\ngraph = 'ring:5'\n[population]\nclusters = 9\n")
    outcomes = [*run(config, lambda: spark, selection=Selection(only=["models", "population"]))]
    assert [outcome.name for outcome in outcomes] == ["models", "population"]
    assert new_stages(config, spark) == MADE[2:]
    before = {stage: rows_of(spark, config.out, stage) for stage in MADE}
    again = [*run(config, lambda: spark, selection=Selection(start=["predicates"]))]
    assert [outcome.name for outcome in again if outcome.is_new] == ["predicates", "fib", "table1"]
    assert len(again) == len(MADE)
    assert {stage: rows_of(spark, config.out, stage) for stage in MADE} == before


def test_two_runs_at_once_are_kept_apart(spark, tmp_path):
    config = config_of(tmp_path, "[network]\ngraph = 'ring:5'\n[population]\nclusters = 9\n")
    first = run(config, lambda: spark)
    assert next(first).name == "models"
    with pytest.raises(CbnetError, match=f"in use by another run: process {os.getpid()} on"):
        [*run(config, lambda: spark)]
    assert [outcome.name for outcome in first] == MADE[1:]
    assert new_stages(config, spark) == []


def test_a_stage_that_has_lost_its_lock_publishes_nothing(spark, tmp_path):
    config = config_of(tmp_path, "[network]\ngraph = 'ring:5'\n[population]\nclusters = 9\n")
    lock = Path(config.out) / "_lock"

    def take_over(decision):
        if decision.name == "population":
            lock.write_text("of another run")

    with pytest.raises(CbnetError, match="another run has taken over the lock, which was not renewed"):
        [*run(config, lambda: spark, take_over)]
    assert lock.read_text() == "of another run"
    lock.unlink()
    assert [read_result(spark, f"{config.out}/{stage}") is not None for stage in MADE[:2]] == [True, False]
    assert new_stages(config, spark) == MADE[1:]


BOOKMARKS = [
    ("ann", "u1", "News Jazz"), ("ann", "u2", "news vinyl"), ("bob", "u1", "news"), ("bob", "u3", "piano"),
    ("eve", "u4", ""), ("eve", "u5", "running shoes"), ("fay", "u6", "runs news"), ("fay", "u7", "news cats"),
]  # fmt: skip


def traces(folder, top=None, rejected=0.5):
    """Write traces and a network, and return a run of them; top: the folder, as the run names it."""
    lines = ["user\titem\ttags", *("\t".join(row) for row in BOOKMARKS), "torn line"]
    (folder / "bookmarks.tsv").write_text("\n".join(lines) + "\n")
    (folder / "tweets.tsv").write_text("user\tlink\thashtags\nann\tl1\t#news #now\nbob\tl1\t#late\nbob\tl2\t\n")
    (folder / "follows.txt").write_text("eve ann\nfay ann\nfay bob\n")
    words = {"a": "guitar strings tuning guitar", "b": "garden soil roses garden"}
    posts = [(user, words[user]) for user in "ab" for _ in range(4)]
    (folder / "posts.tsv").write_text("".join(f"{user}\t{text}\n" for user, text in posts))
    (folder / "ring.txt").write_text("".join(f"{node} {(node + 1) % 6}\n" for node in range(6)))
    (folder / "users.csv").write_text("asn,users\n" + "".join(f"{node},{node + 1}\n" for node in range(6)))
    top = top or folder
    text = f"""
        [network]
        graph = "{top}/ring.txt"
        users = "{top}/users.csv"
        [population]
        clusters = 40
        [sources.bookmarks]
        preset = "bookmarks"
        path = "{top}/bookmarks.tsv"
        max_rejected = {rejected}
        [sources.tweets]
        preset = "tweets"
        path = "{top}/tweets.tsv"
        [sources.follows]
        preset = "followers"
        path = "{top}/follows.txt"
        [sources.posts]
        preset = "posts"
        path = "{top}/posts.tsv"
        [topics]
        topics = 2
        iterations = 2
        sample = 1.0
        [applications.web]
        read = "bookmarks"
        descriptors = 2
        [applications.blog]
        read = "posts"
        [applications.video]
        share = 0.0
        [applications.followed]
        kind = "social"
        read = "tweets"
        followers = "follows"
        [tables]
        [live]
    """
    return config_of(folder, text)


SOURCES = ["sources/bookmarks", "sources/posts", "sources/tweets", "sources/follows"]
TRACED = [*SOURCES, *(f"descriptors/{name}" for name in ("web", "blog", "followed")), "tags", "sets"]
TRACED += [*MADE, "tables", "live"]


@pytest.fixture(scope="module")
def traced(spark, tmp_path_factory):
    """The configuration of a run from traces to tables and a live network, all in plain paths."""
    config = traces(tmp_path_factory.mktemp("traces"))
    assert new_stages(config, spark) == TRACED
    return config


@pytest.mark.parametrize("remote", ["s3a"], indirect=True)  # runs on a cluster use the other one
def test_rows_are_the_same_at_uris_in_a_session_with_other_settings(spark, borrowed, traced, tmp_path, remote):
    traces(tmp_path, remote)
    there = read_config(tmp_path / "run.toml", out=f"{remote}/b")
    facts = {outcome.name: outcome.result.facts for outcome in run(there, lambda: borrowed)}
    assert [*facts] == TRACED
    for one in run(traced, no_session):
        assert {**facts[one.name], "aside": None} == {**one.result.facts, "aside": None}
        if one.name not in ("tables", "live"):
            assert rows_of(spark, there.out, one.name) == rows_of(spark, traced.out, one.name), one.name
    here = Path(traced.out)
    assert files_of(tmp_path / "b" / "tables") == files_of(here / "tables") != {}
    copy = read_result(spark, f"{there.out}/live").stored.folder.removeprefix(there.out).lstrip("/")
    networks = [read_folder(live) for live in (here / "live", tmp_path / "b" / copy)]
    assert {len(network.graph) for network in networks} == {6}
    assert networks[0].data.tables.keys() == networks[1].data.tables.keys() != set()
    assert {each.state for each in states(there, spark)} == {StageState.DONE}
    next((tmp_path / "b" / "loads").rglob("part-*.parquet")).unlink()
    assert {each.name for each in states(there, spark) if each.state is StageState.DAMAGED} == {"loads"}
    with locked(spark, there.out), pytest.raises(CbnetError, match="is in use by another run"):
        new_stages(there, spark)
    shutil.copytree(tmp_path / "b" / "fib", tmp_path / "b" / "old")
    assert {*clean(there, spark)} == {"old"}
    assert new_stages(there, spark) == ["loads"]


def test_too_many_malformed_rows_stop_a_run_and_are_stored(spark, tmp_path):
    config = traces(tmp_path, rejected=0.01)
    with pytest.raises(InputError, match="too many malformed rows") as raised:
        new_stages(config, spark)
    assert f"the rows are in {tmp_path}/run/rejected/bookmarks" in str(raised.value)
    ((file, row, reason, text),) = stored(spark, config, "rejected/bookmarks").collect()
    assert (file, row, text) == (f"{tmp_path}/bookmarks.tsv", 10, "torn line")
    assert reason
    assert state_of(config)["sources/bookmarks"] is StageState.MISSING


def test_from_traces_to_table_1(spark, traced):
    results = {outcome.name: outcome.result for outcome in run(traced, no_session)}
    assert results["sources/bookmarks"].facts["lines"] == 9
    assert sum(results["sources/bookmarks"].facts["rejected"].values()) == 1
    web = results["descriptors/web"].facts["yield"]
    assert (web["read"], web["users_read"], web["kept"], web["derived"], web["users"]) == (8, 4, 7, 7, 4)
    followed = results["descriptors/followed"].facts["yield"]
    # late, new, now describe l1: eve subscribes to it once, and fay, who follows both, once
    assert (followed["read"], followed["kept"], followed["derived"], followed["users"]) == (3, 2, 2, 2)
    assert results["descriptors/blog"].facts["yield"]["read"] == 8
    tags = {row.tag: row.id for row in stored(spark, traced, "tags").collect()}
    assert tags["news"] < tags["jazz"]
    used = {tag for row in stored(spark, traced, "population").where("app = 'web'").collect() for tag in row.tags}
    own = ["news", "jazz", "vinyl", "piano", "run", "shoe", "cat"]
    assert {tag for tag in used if tag < len(tags)} <= {tags[tag] for tag in own}
    assert used & {tags[tag] for tag in own}
    rows = [tuple(row) for row in stored(spark, traced, "population").collect()]
    context = StageContext(spark, traced)
    (router,), tree = context.routers, context.tree
    neighbours = {*tree.children(router).tolist(), int(tree.parents[router])} - {-1}
    kept = sum(len(minimal(behind(rows, tree, router, neighbour))) for neighbour in neighbours)
    assert results["table1"].facts["rows"][0]["kept"] == kept  # one tag is in half of all sets of the web


def test_changed_trace_makes_stages_stale(traced):
    os.utime(Path(traced.out).with_name("tweets.tsv"), (1000, 1000))
    stale = {name for name, state in state_of(traced).items() if state is StageState.STALE}
    assert stale == {"sources/tweets", "descriptors/followed", "tags", "sets", *MADE, "tables", "live"}


def test_empty_trace_is_named(spark, tmp_path):
    (tmp_path / "b.tsv").write_text("user\titem\ttags\n")
    text = "[network]\ngraph = 'ring:6'\n[sources.b]\npreset = 'bookmarks'\npath = 'b.tsv'\n[applications.web]\nread = 'b'\n"
    with pytest.raises(InputError, match="application 'web' has no tag sets"):
        new_stages(config_of(tmp_path, text), spark)


def test_missing_file_is_named_before_any_stage_runs(tmp_path):
    config = config_of(tmp_path, "[sources.b]\npreset = 'bookmarks'\npath = 'b.tsv'\n[applications.web]\nread = 'b'\n")
    with pytest.raises(InputError, match=r"no file matches '.*b\.tsv'"):
        [*run(config, no_session)]
