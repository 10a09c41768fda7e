"""Commands of the live network, end to end."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import httpx
import pytest
from support.waiting import wait_until


@contextmanager
def running(*arguments, **options):
    """Run a command as a process, and kill it at the end."""
    command = [sys.executable, "-m", "cbnet", *map(str, arguments)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def rows(text):
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A network of four routers in a line, started by `cbnet up`."""
    folder = tmp_path_factory.mktemp("network")
    (folder / "line.txt").write_text("a b\nb c\nc d\n")
    (folder / "network.toml").write_text('[topology]\ngraph = "line.txt"\n[network]\nname = "test"\n')
    with running("up", folder / "network.toml", "--output", folder, "--json") as up:
        started = [json.loads(up.stdout.readline()) for _ in range(4)]
        assert [(row["router"], row["neighbours"]) for row in started] == [
            ("a", ["b"]), ("b", ["a", "c"]), ("c", ["b", "d"]), ("d", ["c"]),
        ]  # fmt: skip
        assert "4 routers connected after" in up.stderr.readline()
        yield folder
        up.send_signal(signal.SIGTERM)
        assert up.wait(timeout=60) == 0
        assert not (folder / "running.toml").exists()
        for row in started:
            with pytest.raises(ProcessLookupError):
                os.kill(row["pid"], 0)


@contextmanager
def subscriber(folder, predicate, *arguments):
    """Run `cbnet sub`, and wait until all routers have the subscription."""
    with running("sub", predicate, "--network", folder, "--router", "d", "--wait", *arguments) as process:
        assert process.stderr.readline() == "subscribed at d; confirmed for 4 routers\n"
        yield process


def test_sub_prints_published_messages(cbnet, folder):
    with subscriber(folder, "price < 500", "--count", "2") as process:
        outcome = cbnet(
            "pub", "price=300", "dest=MXP", "#up", "--payload", "seat 7A", "--network", folder, "--router", "a"
        )
        assert (outcome.code, outcome.out, outcome.err) == (0, "", "published 1 message at a\n")
        cbnet("pub", "price=700", "--network", folder)
        cbnet("pub", "price=-0.5", "ok=true", 'code="7"', "--network", folder)
        out, _ = process.communicate(timeout=60)
        assert process.returncode == 0
        # attributes in order, tags, payload
        assert out == 'price = 300, dest = "MXP", #up  seat 7A\nprice = -0.5, ok = true, code = "7"\n'


def test_pub_publishes_json_lines_and_reports_invalid_ones(cbnet, folder):
    with subscriber(folder, "x >= 0", "--count", "2", "--json") as process:
        lines = b'{"x": 1}\nnonsense\n\n{"x": -1}\n{"x": 2, "#": ["t"]}\n'
        outcome = cbnet("pub", "--network", folder, "--router", "a", "--json", stdin=lines)
        assert outcome.code == 2
        error, published = rows(outcome.out)
        assert (error["line"], published) == (2, {"published": 3, "router": "a"})
        out, _ = process.communicate(timeout=60)
        assert rows(out) == [
            {"message": {"x": 1}, "payload": "", "source": "a"},
            {"message": {"x": 2, "#": ["t"]}, "payload": "", "source": "a"},
        ]


def test_the_output_of_sub_is_the_input_of_pub(cbnet, folder, tmp_path):
    payload = tmp_path / "payload"
    payload.write_bytes(b"\xff")
    with subscriber(folder, "x >= 0", "--count", "2", "--json") as process:
        cbnet("pub", "x = 1", "#t", "--payload", f"@{payload}", "--network", folder)
        cbnet("pub", "x=2", "--payload", "@@home", "--network", folder)
        out, _ = process.communicate(timeout=60)
    with subscriber(folder, "x >= 0", "--count", "2", "--json") as process:
        (tmp_path / "printed.jsonl").write_text(out)
        assert cbnet("pub", "--network", folder, "--input", tmp_path / "printed.jsonl").code == 0
        again, _ = process.communicate(timeout=60)
    assert [(row["message"], row["payload"]) for row in rows(again)] == [
        ({"x": 1, "#": ["t"]}, "/w=="), ({"x": 2}, "@home"),
    ]  # fmt: skip


def test_nested_messages_are_printed_and_published_again_unchanged(cbnet, folder):
    pattern = '{"detail": {"state": ["on", {"prefix": "o"}]}}'
    printed = []
    message = {"detail": {"state": "on", "list": [1, {"deep": None}, []], "é": 2**63 - 1}, "none": None, "#": ["t"]}
    lines = json.dumps({"message": message, "payload": "AP8=", "encoding": "base64"}).encode()
    for _ in range(2):
        with subscriber(folder, pattern, "--count", "1", "--json", "--dialect", "eventbridge") as process:
            assert cbnet("pub", "--network", folder, stdin=lines).code == 0
            lines = process.communicate(timeout=60)[0].encode()
        printed += rows(lines.decode())
    expected = {"message": message, "payload": "AP8=", "encoding": "base64"}
    assert [{**row, "source": None} for row in printed] == [{**expected, "source": None}] * 2


def test_sub_selects_nested_events_by_conditions(cbnet, folder):
    with subscriber(folder, 'detail.state = "on" and not (name ^= "x")', "--count", "3") as process:
        for words in (
            ['{"name": "xerox", "detail": {"state": "on"}}'],
            ['{"detail": {"state": "on"}}'],  # without a name the test is unknown
            ['{"name": "lamp", "detail": {"state": ["off", "on"], "owner": null}}'],
            ["detail.state=on", "name=lamp"],
            ["name=[1]", 'detail={"state": "on"}'],
            ["name=lamp", 'detail=[{"state": "on"}]', "at=null"],
        ):
            assert cbnet("pub", *words, "--network", folder, "--router", "a").code == 0
        out, _ = process.communicate(timeout=60)
    assert out == (
        'name = "lamp", detail.state = ["off", "on"], detail.owner = null\n'
        'detail.state = "on", name = "lamp"\n'
        'name = "lamp", detail.state = "on", at = null\n'
    )


def test_sub_refuses_a_predicate_at_the_place_of_the_mistake(cbnet, folder):
    outcome = cbnet("sub", "detail.state in (1, ", "--network", folder)
    assert outcome.code == 2
    assert "1:21" in outcome.err


def test_pub_keeps_the_rate(cbnet, folder):
    began = time.monotonic()
    assert cbnet("pub", "x=1", "--count", "11", "--rate", "20", "--network", folder).code == 0
    assert time.monotonic() - began >= 0.5  # the eleventh message is 10/20 s after the first


def test_trace_shows_the_path_and_the_closest_filter(cbnet, folder):
    with subscriber(folder, "k = 1 and #t"):
        near = cbnet("trace", "k=1", "--dry", "--network", folder, "--router", "a").out
        assert "published at    router a (dry run: nothing is delivered)" in near
        assert "not to b (3 routers): no filter matches; closest: k = 1 and #t: #t fails" in near
        assert "tree            0, rooted at b" in near
        assert "no reachable subscription matches it" in near
        far = cbnet("trace", "k=1", "#t", "--network", folder, "--router", "a").out
        assert [line.strip(" │└├─►").partition(":")[0] for line in far.splitlines() if ": matches" in line] == [
            "router b (3 routers on its side)", "router c (2 routers on its side)", "router d (1 router on its side)",
        ]  # fmt: skip
        assert "delivered to subscription 1 of" in far
        assert "it was delivered to subscriptions at router d" in far
        hops = rows(cbnet("trace", "k=1", "#t", "--network", folder, "--router", "a", "--json").out)
        assert [row.get("router") for row in hops] == ["a", "b", "c", "d", None]
        assert hops[-1] == {"missing": []}


def test_trace_of_a_hypothetical_subscriber(cbnet, folder):
    trace = ("trace", "price=700", "--network", folder, "--router", "a", "--at", "c")
    assert "yes: a subscriber at router c with price > 500 gets it" in cbnet(*trace, "--of", "price > 500").out
    no = cbnet(*trace, "--of", "price < 500").out
    assert "no: a subscriber at router c with price < 500 does not get it" in no
    assert "price is 700" in no
    unknown = cbnet("trace", "x=1", "--of", "x = 1", "--at", "z", "--network", folder).out
    assert "no: it does not reach router z" in unknown


def test_mistake_is_one_line_and_exit_code_2(cbnet, folder, tmp_path):
    for arguments, problem in [
        (("sub", "x <", "--network", folder), "a value is missing"),
        (("sub", "x = 1", "--network", folder, "--when-full", "wait"), "unknown policy 'wait'"),
        (("sub", "x = 1", "--network", tmp_path), "no running network in this folder"),
        (("sub", "x = 1", "--router", "nowhere"), "'nowhere' is not an address"),
        (("pub", "x", "--network", folder), "'x' is neither an attribute nor a tag"),
        (("pub", "x=1", "x=2", "--network", folder), "the attribute 'x' is given twice"),
        (("pub", "x=1", "--network", folder, "--router", "z"), "no router 'z' in this network; use one of a, b, c, d"),
        (
            ("up", "--topology", "ring:3", "--scheme", "psf"),
            "unknown scheme 'psf' of a live network; use multitree or pif; `cbnet lab simulate`",
        ),
        (("up", "--topology", "ring:3", "--commit", "client"), "unknown value 'client' of `commit`"),
        (("router", "--name", "a", "--scheme", "drp"), "unknown scheme 'drp' of a live network"),
        (("trace", "x=1", "--at", "a", "--network", folder), "--at needs --of"),
        (("up",), "give exactly one of"),
        (("up", "--topology", "ring:2"), "ring"),
        (("router",), "the router has no name"),
        (("router", "--name", "a", "--listen", "0.0.0.0:1"), "is reachable from other machines"),
        (("router", "--name", "a", "--set", "speed"), "has no value"),
    ]:
        outcome = cbnet(*arguments)
        assert (outcome.code, outcome.out) == (2, ""), arguments
        assert problem in outcome.err, arguments
        assert outcome.err.startswith("error: ")


def test_unreachable_network_is_an_error(cbnet, monkeypatch):
    monkeypatch.setenv("CBNET_ROUTER", "127.0.0.1:1")
    outcome = cbnet("pub", "x=1")
    assert outcome.code == 1
    assert "no router listens on 127.0.0.1:1" in outcome.err


def test_router_runs_until_sigterm(cbnet):
    with running("router", "--name", "solo", "--listen", "127.0.0.1:0", "--json") as router:
        started = json.loads(router.stdout.readline())
        assert started["router"] == "solo"
        assert (
            cbnet("pub", "x=1", "--router", started["address"], "--json").out == '{"published": 1, "router": "solo"}\n'
        )
        with running("router", "--name", "other", "--listen", started["address"]) as other:
            assert (other.wait(timeout=60), "cannot listen on" in other.stderr.read()) == (2, True)
        router.send_signal(signal.SIGTERM)
        assert router.wait(timeout=60) == 0
        assert "router solo has stopped" in router.stderr.read()


def test_router_configuration_is_printed_and_checked(cbnet, tmp_path, monkeypatch):
    path = tmp_path / "router.toml"
    path.write_text('name = "a"\nscheme = "pif"\n[neighbours]\nb = "127.0.0.1:4002"\n')
    monkeypatch.setenv("CBNET_LISTEN", "127.0.0.1:4009")
    printed = cbnet("router", "-c", path, "--print", "--set", "dead=9").out.splitlines()
    assert f'scheme = "pif"  # {path}' in printed
    assert 'listen = "127.0.0.1:4009"  # environment CBNET_LISTEN' in printed
    assert "dead = 9.0  # option" in printed
    assert "trees = 1  # default" in printed
    assert cbnet("router", "-c", path, "--check").out == "the configuration of a is valid\n"
    (row,) = rows(cbnet("router", "-c", path, "--print", "--json").out)
    assert row["neighbours"] == {"value": {"b": "127.0.0.1:4002"}, "source": str(path)}


def test_up_reports_a_killed_router():
    with running("up", "--topology", "ring:3", "--json") as up:
        pids = [json.loads(up.stdout.readline())["pid"] for _ in range(3)]
        up.stderr.readline()
        os.kill(pids[1], signal.SIGKILL)
        assert up.stderr.readline() == "router 1 was killed by signal 9; 2 routers left\n"
        for pid in (pids[0], pids[2]):
            os.kill(pid, signal.SIGKILL)
        assert up.wait(timeout=60) == 1
        assert "all routers have stopped" in up.stdout.read()


def test_up_opens_the_page_of_the_first_router_in_the_browser(tmp_path):
    opened = tmp_path / "opened"
    browser = tmp_path / "browser"
    browser.write_text(f"#!/bin/sh\necho $1 > {opened}\n")
    browser.chmod(0o755)
    environment = {**os.environ, "BROWSER": str(browser)}
    with running("up", "--topology", "ring:3", "--open", "--json", env=environment) as up:
        pages = [json.loads(up.stdout.readline())["page"] for _ in range(3)]
        wait_until(lambda: opened.exists() and opened.read_text(), timeout=60)
        assert opened.read_text().strip() == pages[0]
        for page in pages:
            assert "<title>cbnet</title>" in httpx.get(page).text


def test_router_prints_the_address_of_its_page():
    options = ("--name", "a", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--page", "--json")
    with running("router", *options) as router:
        page = json.loads(router.stdout.readline())["page"]
        assert "<title>cbnet</title>" in httpx.get(page).text


def test_page_without_an_http_address_has_the_usual_one(cbnet):
    printed = cbnet("router", "--name", "a", "--page", "--print", "--json")
    assert json.loads(printed.out)["http"] == {"value": "127.0.0.1:9090", "source": "option"}


@pytest.mark.parametrize("arguments", [["sub", "price << 5"], ["trace", "x=1", "--of", "price << 5"]])
def test_invalid_predicate_is_reported_without_a_router(cbnet, arguments):
    done = cbnet(*arguments, "--router", "127.0.0.1:1")  # nothing listens there
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("error: 1:7: unknown operator `<<`")
