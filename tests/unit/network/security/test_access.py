"""Who may link to a router, decided by tokens, certificates and names."""

import pytest
from support.memory_networks import Alone, hello, sent, shut

from cbnet import InputError, parse
from cbnet.network.link.settings import Settings
from cbnet.network.protocol.frames import Hello, Ping, Pong, RefusedFrame
from cbnet.network.protocol.reasons import ReasonCode
from cbnet.network.router.router import Router
from cbnet.network.security.access import Access, Account, read_account
from cbnet.network.security.rights import ALL_RIGHTS, Denied, Rights
from cbnet.network.security.tokens import new_token

TICKER = new_token("ticker")
RIGHTS = Rights(watch=False)
CLIENTS = Access({"ticker": Account(RIGHTS, TICKER.hash), "card": Account(ALL_RIGHTS)})
ROUTERS = Access(routers=frozenset({"b"}), has_certificates=True)


def client(name="c", token=""):
    return Hello(
        low=5, high=5, role="client", name=name, network="cbnet", incarnation=0, link=0, scheme="", token=token
    )


def denial(access, said, names=None):
    with pytest.raises(Denied) as raised:
        access.admit(said, names)
    return raised.value.summary


def test_open_access_admits_all_peers():
    assert Access().admit(client("c", "x.y"), None) == ("c", ALL_RIGHTS)
    assert Access().admit(hello("router", "r"), None) == ("r", ALL_RIGHTS)


def test_token_determines_the_name_of_a_client():
    assert CLIENTS.admit(client("card", TICKER.token), frozenset({"card"})) == ("ticker", RIGHTS)


@pytest.mark.parametrize(
    "token",
    ["ticker.x", "nobody.x", "card.x", new_token("ticker").token, TICKER.token + "x"],
    ids=["short", "of nobody", "of no token", "another", "longer"],
)
def test_all_wrong_tokens_are_refused_in_the_same_words(token):
    assert denial(CLIENTS, client("ticker", token)) == "unknown token; ask the operator of the router for a new one"


def test_client_without_a_token_is_denied_with_a_hint():
    assert denial(CLIENTS, client("ticker")).startswith("a token is required; use --token")
    assert denial(CLIENTS, client("card")).startswith("a token is required")  # and presents no certificate


def test_a_client_may_show_a_certificate_instead_if_it_has_no_token():
    assert CLIENTS.admit(client("card"), frozenset({"card", "x"})) == ("card", ALL_RIGHTS)
    assert CLIENTS.admit(client("client-1f"), frozenset({"card", "ticker"})) == ("card", ALL_RIGHTS)
    assert "no client has a certificate for x" in denial(CLIENTS, client("card"), frozenset({"x"}))
    assert "no client has a certificate for" in denial(
        CLIENTS, client("ticker"), frozenset({"ticker"})
    )  # it has a token


def test_certificate_for_several_clients_needs_a_name():
    access, names = Access({"card": Account(ALL_RIGHTS), "disc": Account(RIGHTS)}), frozenset({"card", "disc"})
    assert access.admit(client("disc"), names) == ("disc", RIGHTS)
    assert denial(access, client("c"), names) == "the certificate is for card, disc; choose one of them with name=..."


def test_only_routers_of_the_list_may_link_and_with_their_own_names():
    assert ROUTERS.admit(hello("router", "b"), frozenset({"b"})) == ("b", ALL_RIGHTS)
    assert (
        denial(ROUTERS, hello("router", "c"), frozenset({"c"}))
        == "router 'c' is not allowed to link; add it to `routers`"
    )
    assert "the certificate of router 'b' is for c, d" in denial(ROUTERS, hello("router", "b"), frozenset({"c", "d"}))
    for names in (None, frozenset()):
        assert "router 'b' presents no certificate" in denial(ROUTERS, hello("router", "b"), names)


# --- at a router


def alone(access):
    new = Alone("a")
    new.router = Router(Settings("a"), 100, access)
    return new


def test_denied_client_gets_the_reason_and_the_link_is_closed():
    new = alone(CLIENTS)
    done = new.open(1, client("ticker", "ticker.wrong"))
    reason = "unknown token; ask the operator of the router for a new one"
    assert sent(done, RefusedFrame) == [RefusedFrame(1, 0, reason, ReasonCode.DENIED)]
    assert shut(done) == {1: reason}
    assert sent(new.say(1, Ping(1))) == []
    assert new.router.counters["denied.client"] == 1


def test_a_client_that_is_let_in_has_its_true_name_and_rights_and_its_token_is_forgotten():
    new = alone(CLIENTS)
    new.open(1, client("c", TICKER.token))
    assert sent(new.say(1, Ping(1)), Pong) == [Pong(1)]
    link = new.router.links.get(1)
    assert (link.hello.name, link.hello.token, link.rights) == ("ticker", "", RIGHTS)


def test_a_router_that_claims_the_name_of_another_is_not_let_in():
    new = alone(ROUTERS)
    new.router.opened(1, 0.0, frozenset({"c"}))
    assert "the certificate of router 'b' is for c" in shut(new.say(1, hello("router", "b")))[1]
    new.router.opened(2, 0.0, frozenset({"b"}))
    assert shut(new.say(2, hello("router", "b"))) == {}
    assert list(new.router.links.neighbours()) == ["b"]
    assert new.router.counters["denied.router"] == 1


def test_a_token_is_in_no_text_about_a_hello():
    assert TICKER.token not in repr(client("c", TICKER.token))


# --- from a file


def test_clients_are_read_from_tables():
    found = {
        name: read_account(name, table)
        for name, table in {"ticker": {"token": TICKER.hash, "publish": "x = 1"}, "card": {"watch": True}}.items()
    }
    assert found["ticker"].token == TICKER.hash
    nothing = parse("false")
    assert found["ticker"].rights == Rights(
        parse("x = 1"), nothing, nothing, nothing,
        watch=False, manage=False, constraints=4_000, text=4_096, links=16,
        durable=True, durable_subscriptions=256, durable_messages=1_000_000, durable_bytes=1 << 30,
    )  # fmt: skip
    assert (found["card"].token, found["card"].rights.watch) == (None, True)


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        (("a", 5), "clients.a must be a table; start it with [clients.a]"),
        (("a", {"tokn": "x"}), "unknown key 'tokn' in [clients.a]; did you mean 'token'?"),
        (("a", {"token": "a.secret"}), "token in [clients.a] is not the hash of a token"),
        (("a\n", {}), "is not a valid client name"),
    ],
)
def test_invalid_account_is_reported_without_quoting_the_token(said, problem):
    with pytest.raises(InputError) as raised:
        read_account(*said)
    assert problem in str(raised.value)
    assert "secret" not in str(raised.value)
