"""A router whose access rules or limits change while clients and neighbours are linked."""

import msgspec
from support.memory_networks import hello, sent, shut

from cbnet.network.link.settings import Settings
from cbnet.network.protocol.frames import (
    OfferFrame,
    Publish,
    RefusedFrame,
    Reload,
    StatusRequest,
    Subscribe,
)
from cbnet.network.router.router import Router
from cbnet.network.security.access import OPEN_ACCESS, Access, Account
from cbnet.network.security.rights import read_rights
from cbnet.network.security.tokens import new_token

TICKER, OTHER = new_token("ticker"), new_token("ticker")


def access(routers=("b",), token=TICKER, **rights):
    return Access({"ticker": Account(read_rights(rights, "[clients.ticker]"), token.hash)}, frozenset(routers))


def client_hello(token):
    return msgspec.structs.replace(hello("client", "c", incarnation=0, link=0, scheme=""), token=token.token)


class Linked:
    """A router with links of the client ticker, 1 and 2, and of the router b, 3."""

    def __init__(self, **rights):
        self.router = Router(Settings("a"), 100, access(**rights))
        for link in (1, 2):
            self.open(link, client_hello(TICKER))
        self.open(3, hello("router", "b", incarnation=1, link=1, scheme=self.router.settings.routing))

    def open(self, link, said):
        self.router.opened(link, 0.0)
        return self.say(link, said)

    def say(self, link, frame):
        return self.router.received(link, frame, 0.0)

    def reload(self, rules, **settings):
        return self.router.reload(Settings("a", **settings), rules, 0.0)


def refusals(done):
    return [(frame.frame, frame.number, frame.reason) for frame in sent(done, RefusedFrame)]


def test_the_same_rules_change_nothing():
    linked = Linked(subscribe="true")
    linked.say(1, Subscribe(7, "x = 1", 0))
    done = linked.reload(access(subscribe="true"))
    assert (refusals(done), shut(done), len(linked.router.fib)) == ([], {}, 1)


def test_removed_client_is_told_and_closed_and_its_router_stays():
    linked = Linked(subscribe="true")
    linked.say(1, Subscribe(7, "x = 1", 0))
    done = linked.reload(Access({}, frozenset("b")))
    reason = "the client 'ticker' was removed; ask the operator of the router"
    assert refusals(done) == [(1, 0, reason)] * 2
    assert shut(done) == {1: reason, 2: reason}
    assert [link.hello.name for link in linked.router.links.all()] == ["b"]
    assert len(linked.router.fib) == 0


def test_client_with_a_new_token_must_use_it():
    linked = Linked()
    assert set(shut(linked.reload(access(token=OTHER)))) == {1, 2}
    linked.open(4, client_hello(OTHER))
    assert [link.hello.name for link in linked.router.links.all()] == ["b", "ticker"]


def test_removed_router_is_closed_and_clients_stay():
    done = Linked().reload(access(routers=()))
    assert shut(done) == {3: "router 'b' is not allowed to link; add it to `routers`"}


def test_subscriptions_and_offers_beyond_narrower_rights_are_refused_and_others_stay():
    linked = Linked(subscribe="true", offer="true")
    for id, text in ((7, "x = 1"), (8, "x > 0")):
        linked.say(1, Subscribe(id, text, 0))
        linked.say(1, OfferFrame(id + 10, text, 0))
    done = linked.reload(access(subscribe="x < 2 and x > 0", offer="x = 1"))
    assert [number for _, number, _ in refusals(done)] == [8, 18]
    assert "you may only subscribe to `x < 2 and x > 0`: `x > 0` also matches" in refusals(done)[0][2]
    assert [id for _, id, _ in linked.router.fib.local()] == [7]
    assert [id for _, id, _ in linked.router.offer_fib.local()] == [17]


def test_of_too_many_constraints_the_newest_subscriptions_go():
    linked = Linked(subscribe="true")
    for id in (7, 8, 9):
        linked.say(1, Subscribe(id, "x = 1 and y = 1", 0))
    done = linked.reload(access(subscribe="true", constraints=4))
    assert [number for _, number, _ in refusals(done)] == [9]


def test_of_too_many_links_the_newest_go():
    assert set(shut(Linked().reload(access(links=1)))) == {2}


def test_publishing_follows_the_new_rights():
    linked = Linked(publish="x = 1")
    publish = Publish(5, {"x": 2}, [], b"", True)
    assert len(refusals(linked.say(1, publish))) == 1
    linked.reload(access(publish="true"))
    assert refusals(linked.say(1, publish)) == []
    linked.reload(access(publish="x = 3"))
    assert "you may only publish `x = 3`" in refusals(linked.say(1, publish))[0][2]


def test_clients_of_an_open_router_must_authenticate_once_there_are_accounts():
    router = Router(Settings("a"), 100, OPEN_ACCESS)
    router.opened(1, 0.0)
    router.received(1, hello("client", "c", incarnation=0, link=0, scheme=""), 0.0)
    done = router.reload(Settings("a"), access(), 0.0)
    assert shut(done) == {1: "clients must authenticate from now on; use a token or a certificate"}


def test_accounts_may_go():
    linked = Linked()
    assert shut(linked.reload(OPEN_ACCESS)) == {}
    assert refusals(linked.say(1, Subscribe(7, "x = 1", 0))) == []
    linked.router.closed(1, 0.0)
    linked.router.closed(2, 0.0)


def test_lengths_of_links_are_announced_again():
    linked = Linked()
    assert linked.router.links.weights() == {"b": 1}
    linked.reload(access(), weights={"b": 5})
    assert linked.router.links.weights() == {"b": 5}


def test_reload_needs_a_right_and_a_file():
    linked = Linked()
    assert refusals(linked.say(1, Reload(4, "a"))) == [
        (54, 4, "you may not reload the configuration; ask the operator for `manage = true`")
    ]
    linked.reload(access(manage=True))
    assert refusals(linked.say(1, Reload(4, "a"))) == [
        (54, 4, "this router has no file to reload; start the router with --config FILE")
    ]
    requests = []
    linked.router.on_reload = lambda *request: requests.append(request)
    for other in ("", "A", "b"):
        assert refusals(linked.say(1, Reload(4, other))) == [
            (54, 4, f"this is router 'a', not {other!r}; confirm the name of the router to reload")
        ]
    assert requests == []
    linked.say(1, Reload(4, "a"))
    assert requests == [(1, 4)]
    assert linked.say(1, StatusRequest(1))
