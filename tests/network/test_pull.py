"""Offers, requests and replies between router processes, by programs and by commands."""

import asyncio
import json
import signal
import subprocess
import sys
import threading
import time
from itertools import pairwise

import pytest

from cbnet import InputError, connect, connect_async
from cbnet.network import Item, NoReply, NotConnected, ProcessNetwork, Settings, Timeout

CHAIN = [f"r{n}" for n in range(6)]
QUICK = {"heartbeat": 0.5, "dead": 2.5, "answer": 0.5, "cache_age": 30.0}


@pytest.fixture(scope="module")
def network():
    with ProcessNetwork([Settings(name, **QUICK) for name in CHAIN], list(pairwise(CHAIN))) as started:
        started.wait()
        yield started


def at(network, name):
    return connect(str(network.addresses[name]))


def test_cache_answers_after_the_first_reply_even_without_the_holder(network):
    with at(network, "r0") as client:
        with at(network, "r5") as holder:
            offer = holder.offer("exists symbol and #quote", lambda _: b"12.50", wait=True)
            assert (offer.confirmation.is_confirmed, offer.confirmation.routers) == (True, 6)
            reply = client.request('symbol = "A" and #quote', trace=True)
            assert (reply.message, reply.payload) == ({"symbol": "A", "#": ["quote"]}, b"12.50")
            assert (reply.holder, reply.cache, reply.asked) == ("r5", "", 1)
            assert [step.router for step in reply.steps] == [*CHAIN, *CHAIN[-2::-1]]
            again = client.request({"symbol": "A", "#": ["quote"]}, trace=True)
            assert (again.payload, again.holder, again.cache) == (b"12.50", "r5", "r0")
            assert offer.answered == 1
        assert client.request('symbol = "A" and #quote').cache == "r0"
        with pytest.raises(NoReply) as raised:
            client.request('symbol = "A" and #quote', fresh=True)
        assert (raised.value.asked, str(raised.value)[:9]) == (0, "no reply:")


def test_next_holder_is_asked_when_one_lacks_the_item(network):
    with at(network, "r1") as near, at(network, "r2") as broken, at(network, "r3") as far, at(network, "r0") as client:
        near.offer("exists k", lambda _: None, wait=True)
        broken.offer("exists k", lambda _: 1 / 0, wait=True)
        far.offer(
            "exists k", lambda r: Item({**r.attributes, "v": 1}, b"far") if r.attributes["k"] == 1 else None, wait=True
        )
        reply = client.request({"k": 1})
        assert (reply.message, reply.payload, reply.holder, reply.asked) == ({"k": 1, "v": 1}, b"far", "r3", 3)
        with pytest.raises(NoReply, match="none of the 3 holders asked has it") as raised:
            client.request({"k": 2})
        assert (raised.value.tried, raised.value.asked) == (3, 3)
        with pytest.raises(NoReply, match="the holder asked does not have it"):
            client.request({"k": 2}, max_holders=1)


def test_slow_holder_times_out(network):
    with at(network, "r0") as client, at(network, "r2") as slow:
        released = threading.Event()
        slow.offer("exists z", lambda _: b"late" if released.wait(60) else None, wait=True)
        with pytest.raises(Timeout, match=r"no reply within 0.3 s"):
            client.request({"z": 1}, timeout=0.3)
        began = time.monotonic()
        with pytest.raises(NoReply):
            client.request({"z": 2}, timeout=60)
        assert time.monotonic() - began < 50
        released.set()


def test_invalid_requests_and_offers_are_input_errors(network):
    with at(network, "r0") as client:
        for wrong in ("a < 1", "a = 1 or b = 2", "a = 1 and a = 2", "a =", "a < b", {"a": [1, 2]}, {"a": b""}):
            with pytest.raises(InputError):
                client.request(wrong)
        with pytest.raises(InputError, match="from 1 to 64"):
            client.request({"a": 1}, max_holders=0)
        with pytest.raises(InputError):
            client.offer("a <", lambda _: None)


def test_asyncio_handlers_may_await_and_offers_end_with_their_context(network):
    async def story():
        async def handler(request):
            await asyncio.sleep(0.01)
            return Item(request, b"x" * 500_000, keep=0)

        address = str(network.addresses["r4"])
        async with await connect_async(address) as holder, await connect_async(address) as client:
            async with await holder.offer("exists big", handler, wait=True):
                replies = await asyncio.gather(*(client.request({"big": n}) for n in range(20)))
                assert [reply.message for reply in replies] == [{"big": n} for n in range(20)]
                assert {len(reply.payload) for reply in replies} == {500_000}
            with pytest.raises(NoReply):
                await client.request({"big": 1})

    asyncio.run(story())


def test_client_can_answer_its_own_request(network):
    with at(network, "r0") as client, client.offer("exists own", lambda _: b"mine"):
        assert client.request({"own": 1}).payload == b"mine"


def test_offers_are_restored_after_a_reconnection():
    with ProcessNetwork([Settings("a", **QUICK)], []) as started:
        started.wait()
        with connect(str(started.addresses["a"])) as holder:
            holder.offer("exists s", lambda _: b"item")
            started.kill("a")
            started.start("a")
            started.wait()
            with connect(str(started.addresses["a"])) as client:
                assert retry(lambda: client.request({"s": 1}).payload) == b"item"


def retry(attempt, seconds=10):
    """Return the result of the first attempt that succeeds."""
    end = time.monotonic() + seconds
    while True:
        try:
            return attempt()
        except (NoReply, NotConnected):
            if time.monotonic() > end:
                raise
            time.sleep(0.1)


# --- commands


def started(*arguments):
    command = [sys.executable, "-m", "cbnet", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.fixture
def quotes(network, tmp_path):
    """Run `cbnet offer` at r3 with an item file."""
    file = tmp_path / "quotes.jsonl"
    rows = [
        {"message": {"sym": "A", "price": 1, "#": ["q"]}, "payload": "one"},
        {"message": {"sym": "A", "price": 2, "#": ["q"]}, "payload": "//8=", "encoding": "base64", "keep": 0},
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with started("offer", "exists sym", "--items", file, "--router", network.addresses["r3"], "--wait") as process:
        try:
            assert process.stderr.readline() == "offered at r3; confirmed for 6 routers\n"
            yield process
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=60)
        finally:
            process.kill()


def test_offer_and_request_by_command(cbnet, network, quotes):
    router = ["--router", network.addresses["r1"]]
    outcome = cbnet("request", 'sym = "A" and #q', *router)
    assert (outcome.code, outcome.out, outcome.err) == (0, 'sym = "A", price = 1, #q  one\n', "")
    outcome = cbnet("request", 'sym = "A" and price = 2', "--json", *router)
    row = json.loads(outcome.out)
    assert row == {
        "message": {"sym": "A", "price": 2, "#": ["q"]}, "payload": "//8=", "encoding": "base64",
        "holder": "r3", "cache": None, "age": 0.0, "asked": 1,
    }  # fmt: skip
    outcome = cbnet("request", 'sym = "B"', *router)
    assert (outcome.code, outcome.out, outcome.err) == (0, "", "no reply: the holder asked does not have it\n")
    outcome = cbnet("request", 'sym = "B"', "--json", *router)
    assert json.loads(outcome.out) == {
        "message": None, "why": "no reply: the holder asked does not have it", "tried": 1, "asked": 1
    }  # fmt: skip
    assert [quotes.stdout.readline() for _ in range(3)] == [
        'sym = "A", #q  answered\n', 'price = 2, sym = "A"  answered\n', 'sym = "B"  no item\n',
    ]  # fmt: skip


@pytest.mark.usefixtures("quotes")
def test_traced_request_shows_its_path(cbnet, network):
    outcome = cbnet("request", 'sym = "A" and price = 1', "--trace", "--router", network.addresses["r1"])
    lines = outcome.out.splitlines()
    assert lines[:4] == ['request         sym = "A", price = 1', "requested at    router r1", "",
                         "router r1   sent toward r2, whose side offers it"]  # fmt: skip
    assert lines[4] == "router r2   sent toward r3, whose side offers it"
    assert lines[5].endswith("was asked: it has the item")
    assert lines[6:] == [
        "the reply came back over r2, r1", "", "answered by a holder at router r3; 1 holder asked",
        'sym = "A", price = 1, #q  one',
    ]  # fmt: skip
    outcome = cbnet("request", 'sym = "A" and price = 1', "--trace", "--router", network.addresses["r1"], "--json")
    row = json.loads(outcome.out)
    assert (row["cache"], [step["router"] for step in row["steps"]]) == ("r1", ["r1"])


def test_command_answers_with_its_output(cbnet, network):
    process = started(
        "offer", "exists word", "--exec", "grep -q hello && printf found", "--count", 1, "--wait", "--json",
        "--router", network.addresses["r2"],
    )  # fmt: skip
    assert process.stderr.readline() == "offered at r2; confirmed for 6 routers\n"
    router = ["--router", network.addresses["r4"]]
    assert cbnet("request", 'word = "bye"', *router).err.startswith("no reply")
    assert cbnet("request", 'word = "hello"', *router).out == 'word = "hello"  found\n'
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "")
    assert [json.loads(line) for line in out.splitlines()] == [
        {"request": {"word": "bye"}, "answered": False}, {"request": {"word": "hello"}, "answered": True},
    ]  # fmt: skip


def test_invalid_command_arguments_are_reported(cbnet, network, tmp_path):
    router = ["--router", network.addresses["r0"]]
    outcome = cbnet("request", "a < 1", *router)
    assert (outcome.code, outcome.err) == (2, "error: a request cannot contain `a < 1`; use `=` and tags only\n")
    assert (
        cbnet("offer", "a = 1", *router).err
        == "error: no source of replies given; give exactly one of --items FILE and --exec COMMAND\n"
    )
    assert cbnet("offer", "a = 1", "--items", tmp_path / "none").code == 2
    file = tmp_path / "bad.jsonl"
    file.write_text(
        '{"message": {"a": 1}}\n[]\n{"payload": "x"}\n{"message": {"a": 1e999}}\n{"message": {}, "keep": -1}\n'
    )
    outcome = cbnet("offer", "a = 1", "--items", file)
    assert outcome.code == 2
    assert [line.split(":")[2] for line in outcome.err.splitlines()] == ["2", "3", "4", "5"]


def test_timeout_is_a_failure(cbnet, network):
    with at(network, "r5") as holder:
        holder.offer("exists late", lambda _: time.sleep(1), wait=True)
        outcome = cbnet("request", "late = 1", "--timeout", 0.2, "--router", network.addresses["r5"])
    assert (outcome.code, outcome.err) == (1, "error: no reply within 0.2 s\n")
