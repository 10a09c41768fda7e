"""TLS, tokens and rights between real routers and clients, in the event loops of asyncio and uvloop."""

import asyncio
import functools
import json
from contextlib import asynccontextmanager

import pytest
from support.certificates import Authority
from support.router_processes import running_command
from support.waiting import wait_until_async

from cbnet import InputError, connect, parse
from cbnet.network import NotConnected, NotTrusted, Refused, Settings, TcpRouter, Tls, connect_async, statuses
from cbnet.network.protocol.addresses import Address
from cbnet.network.protocol.reasons import ReasonCode
from cbnet.network.security.access import OPEN_POLICY, Access, Account, SecurityPolicy
from cbnet.network.security.rights import ALL_RIGHTS, Rights
from cbnet.network.security.tls import TlsContexts, client_context
from cbnet.network.security.tokens import new_token
from cbnet.network.transport.event_loop import new_loop

HERE = "127.0.0.1"
EU = Rights(parse('region = "EU"'), parse('region = "EU"'), watch=False)
TICKER = new_token("ticker")
CLIENTS = {"ticker": Account(EU, TICKER.hash), "card": Account(ALL_RIGHTS)}


@pytest.fixture(scope="module")
def ours(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("ours"), "ours")


@pytest.fixture(scope="module")
def theirs(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("theirs"), "theirs")


@pytest.fixture(params=[asyncio.new_event_loop, new_loop], ids=["asyncio", "uvloop"])
def run(request):
    """Run a coroutine in an event loop."""

    def run_in_loop(story):
        with asyncio.Runner(loop_factory=request.param) as runner:
            return runner.run(story)

    return run_in_loop


def secured(tls, *, routers=frozenset(), needs=False, clients=CLIENTS):
    return SecurityPolicy(Access(clients, frozenset(routers), has_certificates=True), tls, needs)


@asynccontextmanager
async def router(security, name="a", neighbours=()):
    started = TcpRouter(Settings(name), Address(HERE, 0), dict(neighbours), security)
    await started.start()
    try:
        yield started
    finally:
        await started.stop()


def logged(caplog):
    """Return the reasons in the log."""
    return [str(getattr(record, "members", {}).get("reason", "")) for record in caplog.records]


# --- clients


def test_client_over_tls_has_its_rights_and_no_more(run, ours):
    async def story():
        async with (
            router(secured(ours.tls(HERE, "a"))) as a,
            await connect_async(str(a.address), tls=ours.tls(), token=TICKER.token) as client,
        ):
            with pytest.raises(Refused, match='write `region = "EU" and price > 10`'):
                await client.subscribe("price > 10")
            subscription = await client.subscribe('region = "EU" and price > 10', wait=True)
            with pytest.raises(Refused, match='this message does not match `region = "EU"`'):
                await client.publish({"price": 11}, wait=True)
            await client.publish({"price": 11, "region": "EU"}, b"x" * 100_000)
            delivery = await anext(subscription)
            with pytest.raises(Refused, match="you may not observe the network"):
                await client.trace({"price": 11, "region": "EU"})
            return len(delivery.payload), [link.hello.name for link in a.router.links.all()]

    assert run(story()) == (100_000, ["ticker"])


@pytest.mark.parametrize("case", ["unknown authority", "another name", "expired"])
def test_router_certificate_that_a_client_rejects_is_explained_on_both_sides(run, ours, theirs, caplog, case):
    shown, trusts, client_says, router_says = {
        "unknown authority": (
            ours.tls(HERE, "a"),
            theirs,
            "from an untrusted authority",
            "trust the authority",
        ),
        "another name": (ours.tls("elsewhere.example"), ours, "is for another address; dial an address", "dialled"),
        "expired": (ours.tls(HERE, is_expired=True), ours, "has expired; renew it", "has expired; renew it"),
    }[case]

    async def story():
        async with router(secured(shown)) as a:
            with pytest.raises(NotTrusted) as raised:
                await connect_async(str(a.address), tls=Tls(trusts.file), token=TICKER.token)
            await wait_until_async(lambda: a.router.counters["denied.tls"])
            return str(raised.value)

    error = run(story())
    assert error.startswith(f"the certificate of {HERE}:")
    assert client_says in error
    assert any(router_says in reason for reason in logged(caplog))


@pytest.mark.parametrize("case", ["none", "expired", "unknown authority"])
def test_client_certificate_that_a_router_rejects_is_explained_on_both_sides(run, ours, theirs, caplog, case):
    shown, client_says, router_says = {
        "none": (
            ours.tls(),
            "requires a certificate; configure a certificate",
            "presents no certificate, which is required",
        ),
        "expired": (ours.tls("card", is_expired=True), "certificate: it has expired; renew it", "has expired"),
        "unknown authority": (
            theirs.tls("card", trusts=ours),
            "does not trust the authority",
            "from an untrusted authority",
        ),
    }[case]

    async def story():
        async with router(secured(ours.tls(HERE, "a"), needs=True)) as a:
            with pytest.raises(NotTrusted) as raised:
                await connect_async(str(a.address), name="card", tls=shown)
            return str(raised.value)

    assert client_says in run(story())
    assert any(router_says in reason for reason in logged(caplog))


def test_clients_need_a_token_or_a_certificate(run, ours, caplog):
    async def outcome(a, **shown):
        try:
            async with await connect_async(str(a.address), **shown):
                return [link.hello.name for link in a.router.links.all()]
        except Refused as error:
            return str(error)

    async def story():
        async with router(secured(ours.tls(HERE, "a"))) as a:
            card, tls = ours.tls("card"), ours.tls()
            assert await outcome(a, tls=tls, token=TICKER.token) == ["ticker"]
            assert await outcome(a, tls=card) == await outcome(a, tls=card, name="ticker") == ["card"]
            assert "a refuses this client: a token is required" in await outcome(a, tls=tls)
            assert "unknown token" in await outcome(a, tls=tls, token=new_token("ticker").token)
            assert "no client has a certificate for b" in await outcome(a, tls=ours.tls("b"), name="card")
            return a.router.counters["denied.client"]

    assert run(story()) == 3
    assert any("unknown token" in reason for reason in logged(caplog))
    assert TICKER.token not in caplog.text


def test_tls_on_one_side_only_is_explained(run, ours, caplog):
    async def story():
        async with router(secured(ours.tls(HERE, "a"))) as a, router(OPEN_POLICY, "b") as b:
            with pytest.raises(
                NotConnected, match="the peer closed the connection without sending anything; it may require TLS"
            ):
                await connect_async(str(a.address), timeout=0.3)
            with pytest.raises(NotTrusted, match="does not use TLS; enable TLS on both sides"):
                await connect_async(str(b.address), tls=ours.tls())

            failures = {}
            asking = functools.partial(statuses, {"a": a.address}, timeout=0.5, on_failure=failures.__setitem__)
            assert await asyncio.to_thread(asking) == {}
            assert "it may require TLS" in str(failures["a"])

    run(story())
    assert any("the peer uses TLS, which is not enabled here" in reason for reason in logged(caplog))


def test_token_is_not_sent_without_tls():
    for address in ("192.0.2.1:4001", "example.org:4001"):
        with pytest.raises(InputError, match=r"the token would be sent to .* without TLS"):
            connect([f"{HERE}:1", address], token=TICKER.token)


def test_client_uses_a_router_that_accepts_it_and_gives_up_when_none_does(run, ours):
    async def story():
        strict, lenient = secured(ours.tls(HERE, "a"), clients={}), secured(ours.tls(HERE, "b"))
        async with router(strict) as a, router(lenient, "b") as b:
            addresses = [str(a.address), str(b.address)]
            async with await connect_async(addresses, tls=ours.tls(), token=TICKER.token) as client:
                assert client.router == "b"
                subscription = await client.subscribe('region = "EU"')
                offer = await client.offer('region = "EU"', lambda _: None)
                assert offer.failure is None
                b.router.links.access = strict.access  # revokes the client's token
                for link in b.router.links.all():
                    b.perform(b.router.failed(link.id, "come again", ReasonCode.OTHER, b.now))
                with pytest.raises(Refused, match="unknown token"):
                    await anext(subscription)
                assert "unknown token" in str(offer.failure)
                with pytest.raises(Refused, match="unknown token"):
                    await client.publish({"region": "EU"}, timeout=1)

    run(story())


# --- routers


def test_routers_link_with_certificates_for_their_names(run, ours):
    async def story():
        async with router(secured(ours.tls(HERE, "a"), routers={"b"})) as a:
            there = secured(ours.tls(HERE, "b"), routers={"a"})
            async with router(there, "b", {"a": a.address}) as b:
                await wait_until_async(lambda: len(a.router.version) == len(b.router.version) == 2)
                tls, token = ours.tls(), TICKER.token
                async with await connect_async(str(a.address), tls=tls, token=token) as at_a:
                    subscription = await at_a.subscribe('region = "EU"', wait=True)
                    async with await connect_async(str(b.address), tls=tls, token=token) as at_b:
                        await at_b.publish({"region": "EU"}, b"over two links")
                        return (await anext(subscription)).payload

    assert run(story()) == b"over two links"


@pytest.mark.parametrize("case", ["not listed", "the name of another", "no certificate", "expired", "other authority"])
def test_router_that_may_not_link_is_refused_and_both_sides_log_why(run, ours, theirs, caplog, case):
    name, tls, reason = {
        "not listed": ("c", ours.tls("c"), "router 'c' is not allowed to link; add it to `routers`"),
        "the name of another": ("b", ours.tls("c"), "the certificate of router 'b' is for c"),
        "no certificate": ("b", ours.tls(), "router 'b' presents no certificate"),
        "expired": ("b", ours.tls("b", is_expired=True), "has expired"),
        "other authority": ("b", theirs.tls("b", trusts=ours), "trust"),
    }[case]

    async def story():
        async with router(secured(ours.tls(HERE, "a"), routers={"b"})) as a:
            dialling = TcpRouter(Settings(name), Address(HERE, 0), {"a": a.address})
            dialling._contexts = TlsContexts(None, client_context(tls, checks_host=False))  # it has none to listen with
            await dialling.start()
            try:
                await wait_until_async(lambda: sum(reason in each for each in logged(caplog)) >= 2)
                return a.router.links.neighbours(), dialling.router.links.neighbours()
            finally:
                await dialling.stop()

    assert run(story()) == ({}, {})


# --- commands


def test_commands_authenticate_with_tokens_and_certificates(cbnet, ours, tmp_path, monkeypatch):
    token = json.loads(cbnet("token", "ticker", "--json").out)
    (tmp_path / "token").write_text(token["token"])
    (tmp_path / "router.toml").write_text(
        f'name = "a"\nlisten = "127.0.0.1:0"\nrouters = []\n'
        f'certificate = "{ours.issue(HERE, "a")}"\nauthority = "{ours.file}"\n'
        f'[clients.ticker]\ntoken = "{token["hash"]}"\nsubscribe = \'region = "EU"\'\npublish = \'region = "EU"\'\n'
        f'[clients.card]\npublish = "true"\n'
    )
    printed = cbnet("router", "-c", tmp_path / "router.toml", "--print").out
    assert token["hash"] in printed
    assert token["token"] not in printed
    with running_command("router", "-c", tmp_path / "router.toml", "--json") as router:
        address = json.loads(router.stdout.readline())["address"]
        options = ("--router", address, "--authority", ours.file)
        token_option = ("--token", f"@{tmp_path / 'token'}")
        denied = cbnet("sub", "price > 10", *options, *token_option)
        assert denied.code == 1
        assert denied.err.endswith('; write `region = "EU" and price > 10`\n')
        with running_command(
            "sub", 'region = "EU" and price > 10', *options, *token_option, "--wait", "--count", "1"
        ) as sub:
            assert sub.stderr.readline() == "subscribed at a; confirmed for 1 router\n"
            monkeypatch.setenv("CBNET_TOKEN", token["token"])
            forbidden = cbnet("pub", "price=11", "region=US", *options)
            assert forbidden.code == 1
            assert "error: a refused 1 message: you may only publish" in forbidden.err
            assert cbnet("pub", "price=11", "region=EU", *options).code == 0
            assert sub.stdout.readline() == 'price = 11, region = "EU"\n'
        assert "you may not observe the network" in cbnet("trace", "region=EU", *options).err
        row = json.loads(cbnet("top", *options, "--json").out)
        assert (row["router"], row["is_detailed"]) == ("a", False)
        assert "need the right `watch`" in cbnet("top", *options, "--once").err
        monkeypatch.delenv("CBNET_TOKEN")
        assert (
            cbnet("pub", "price=11", *options, "--certificate", ours.issue("card")).err == "published 1 message at a\n"
        )
        refused = cbnet("pub", "price=11", *options)
        assert (refused.code, "a token is required" in refused.err) == (1, True)
        untrusted = cbnet("pub", "price=11", "--router", address, "--authority", "system")
        assert "from an untrusted authority" in untrusted.err
