"""The table of rights names every frame of clients and every HTTP path; each needs these rights, and no others."""

import itertools
import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.guarded_router import GuardedRouter
from support.http_servers import running_http
from support.memory_networks import sent
from websockets.sync.client import connect as connect_socket

from cbnet import parse
from cbnet.network.http.http_server import http_application
from cbnet.network.http.web_socket import _Session
from cbnet.network.protocol import frames
from cbnet.network.protocol.reasons import ReasonCode
from cbnet.network.protocol.request_codec import as_request, request_to_bytes
from cbnet.network.security.access import Access, Account, SecurityPolicy
from cbnet.network.security.rights import Rights
from cbnet.network.security.tokens import new_token

DOCUMENT = Path(__file__).parents[2] / "docs" / "how-to" / "secure-the-network.md"
NAMES = ("publish", "subscribe", "offer", "request", "watch", "manage", "durable")
SETS = [frozenset(names) for size in range(len(NAMES) + 1) for names in itertools.combinations(NAMES, size)]
OWNER = "owner"  # of a durable subscription that others may list, limit and remove
REQUEST = request_to_bytes(as_request("x = 1"))
HISTORY = "x > -10"
LIMIT = ("billing", 5, None, None, None)


def table():
    """Return frames, HTTP paths, operations of `/ws` and rights, by operation."""
    section = DOCUMENT.read_text().partition("### What each right opens\n")[2]
    _, _, *lines = re.search(r"(?:^\|.*\n)+", section, re.MULTILINE)[0].splitlines()
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
    return {
        operation: (*(set(re.findall(r"`(.+?)`", cell)) for cell in cells), needs) for operation, *cells, needs in rows
    }


TABLE = table()


def is_opened(needs, rights):
    """Return whether a set of rights is sufficient, by the last column of a row."""
    named = re.findall(r"`(\w+)`", needs)
    assert named or needs in ("nothing", "no token")
    return any(each in rights for each in named) if " or " in needs else rights.issuperset(named)


def rights_of(names):
    given = {name: parse("true" if name in names else "false") for name in NAMES[:4]}
    return Rights(**given, **{name: name in names for name in NAMES[4:]})


# --- frames


def is_allowed(done):
    """Return whether the rights of a client allow a frame: a refusal for another reason is not theirs."""
    return all(each.code != ReasonCode.DENIED for each in sent(done, frames.RefusedFrame))


def shows(kind, member):
    """Return a function that returns whether an answer is there and shows something."""

    def is_shown(done):
        return any(member(each) for each in sent(done, kind))

    return is_shown


def pull(number, *, is_traced):
    return frames.PullFrame(
        number=number, request=REQUEST, timeout=1.0, max_holders=1, is_fresh=False, is_traced=is_traced
    )  # fmt: skip


# By operation: frames, and whether what a router does then shows that the client has the right to send it.
FRAMES = {
    "publish": [
        (frames.Publish(1, {"x": 1}, [], b"", True), is_allowed),
        (frames.DurablePublish(5, 1, 1, 5.0, {"x": 1}, [], b""), is_allowed),
    ],
    "subscribe, also in the past": [
        (frames.Subscribe(1, "x > 0", 0.0), is_allowed),
        (frames.Replay(3, "x > 0", 0.0, 10, frames.HistoryStart()), is_allowed),
    ],
    "subscribe durably": [(frames.DurableSubscribe(2, "own", "x > 0", 0.0, 10, 30.0, None), is_allowed)],
    "offer items": [(frames.OfferFrame(1, "x = 2", 0.0), is_allowed)],
    "request an item": [(pull(1, is_traced=False), is_allowed)],
    "request an item, with a trace": [(pull(2, is_traced=True), is_allowed)],
    "trace a message, also without delivery": [
        (frames.Trace(1, {"x": 1}, [], b"", is_dry, "", ""), is_allowed) for is_dry in (False, True)
    ],
    "totals of the router": [(frames.StatusRequest(1), shows(frames.Status, lambda status: status.filters))],
    "links, interfaces and counters of the router": [
        (frames.StatusRequest(1), shows(frames.Status, lambda status: status.peers))
    ],
    "status of other routers": [(frames.StatusRequest(1, "b"), is_allowed)],
    "subscriptions of all clients": [(frames.SubscriptionRequest(1, at), is_allowed) for at in ("", "b")],
    "tables, for `cbnet verify`": [
        (frames.TableRequest(1), is_allowed),
        (frames.FilterRequest(1, "", "", False, 0), is_allowed),
    ],
    "predicate of the history": [
        (frames.DurableQuery(1), shows(frames.DurableReport, lambda report: report.history.predicate))
    ],
    "list the durable subscriptions of the own account": [(frames.DurableQuery(1), is_allowed)],
    "list those of all accounts": [
        (
            frames.DurableQuery(1, after),
            shows(frames.DurableReport, lambda report: any(each.account == OWNER for each in report.subscriptions)),
        )
        for after in (None, ("", ""))
    ],
    "look at messages of the own account, and move them": [
        (frames.DurablePeek(1, "billing", 1, 0, 1), is_allowed),
        (frames.DurableMove(1, "billing", "other", [], 1, 0, 1), is_allowed),
    ],
    "look at messages of other accounts, and move them": [
        (frames.DurablePeek(1, "billing", 1, 0, 1, OWNER), is_allowed),
        (frames.DurableMove(1, "billing", "other", [], 1, 0, 1, OWNER), is_allowed),
    ],
    "limit and remove those of the own account, and their messages": [
        (frames.DurablePurge(1, "billing", [], 1, 0, 1), is_allowed),
        (frames.DurableLimit(1, *LIMIT), is_allowed),
        (frames.DurableRemove(1, "billing"), is_allowed),
    ],
    "limit and remove those of other accounts, and their messages": [
        (frames.DurablePurge(1, "billing", [], 1, 0, 1, OWNER), is_allowed),
        (frames.DurableLimit(1, *LIMIT, OWNER), is_allowed),
        (frames.DurableRemove(1, "other", OWNER), is_allowed),
    ],
    "forget a home of durable subscriptions": [(frames.ForgetHome(1, "z"), is_allowed)],
    "back up the journal": [(frames.JournalBackup(1, "monday"), is_allowed)],
    "reload the configuration": [(frames.Reload(1, "a"), is_allowed)],
    "end, acknowledge and answer what is one's own": [
        (frames.Unsubscribe(1), is_allowed),
        (frames.Withdraw(1), is_allowed),
        (frames.Acknowledge(1, [], 1), is_allowed),
        (frames.Answer(1, None), is_allowed),
        (frames.SlowPolicy("drop"), is_allowed),
    ],
}


def test_the_table_names_every_frame_of_a_client():
    router = GuardedRouter({}).router
    of_clients = {kind.__name__ for kind in router._client_handlers()}
    named = [names for names, *_ in TABLE.values()]
    assert set().union(*named) == of_clients | {"Hello", "Ping", "Pong", "Close"}
    tried = {operation: {type(frame).__name__ for frame, _ in samples} for operation, samples in FRAMES.items()}
    assert tried == {row: names for row, (names, *_) in TABLE.items() if names and row != "connect"}


@pytest.mark.parametrize("operation", FRAMES)
def test_a_frame_needs_the_rights_of_its_row_and_no_others(operation):
    rights = {OWNER: Rights()} | {str(n): rights_of(names) for n, names in enumerate(SETS)}
    net = GuardedRouter(dict.fromkeys(rights, Rights()), history=HISTORY, dead=600.0)
    has_own = operation == "look at messages of the own account, and move them"
    for link in range(1, len(rights) + 1 if has_own else 2):
        for id, name in enumerate(("billing", "other")):
            net.say(link, frames.DurableSubscribe(id, name, "x > 0", 0.0, 10, 30.0, None))
    net.change(rights)
    needs = TABLE[operation][-1]
    for frame, is_open in FRAMES[operation]:
        opened = {names for link, names in enumerate(SETS, 2) if is_open(net.say(link, frame))}
        assert len(net.router.links.all()) == 1 + len(SETS)
        assert opened == {names for names in SETS if is_opened(needs, names)}, frame


# --- HTTP

# By operation: method, path, query and body.
PATHS = {
    "publish": [("POST", "/publish", {}, {"x": 1})],
    "subscribe, also in the past": [
        ("GET", "/subscribe", {"predicate": "x > 0"}, None),
        ("GET", "/subscribe", {"predicate": "x > 0", "from": "first"}, None),
    ],
    "request an item": [("POST", "/request", {}, {"request": "x = 1"})],
    "request an item, with a trace": [("POST", "/request", {}, {"request": "x = 1", "trace": True})],
    "trace a message, also without delivery": [
        ("POST", "/trace", {}, {"message": {"x": 1}, "dry": is_dry}) for is_dry in (False, True)
    ],
    "totals of the router": [("GET", "/status", {}, None)],
    "links, interfaces and counters of the router": [("GET", "/status", {}, None)],
    "status of other routers": [("GET", "/watch", {}, None)],
    "subscriptions of all clients": [("GET", "/subscriptions", {}, None)],
    "metrics": [("GET", "/metrics", {}, None)],
    "connect": [("GET", "/ws", {}, None)],
    "examine predicates": [
        ("POST", "/check", {}, {"predicate": "x > 0"}),
        ("POST", "/covers", {}, {"wide": "x > 0", "narrow": "x > 1"}),
        ("POST", "/explain", {}, {"predicate": "x > 0", "message": {"x": 1}}),
    ],
    "health, web page, description of the paths": [
        *(("GET", path, {}, None) for path in ("/healthz", "/readyz", "/", "/page/{name}", "/openapi.json")),
    ],
}
OPERATIONS = {
    "publish": [{"op": "publish", "message": {"x": 1}}, {"op": "publish", "message": {"x": 1}, "durable": True}],
    "subscribe, also in the past": [
        {"op": "subscribe", "predicate": "x > 0"},
        {"op": "subscribe", "predicate": "x > 0", "from": "first"},
    ],
    "subscribe durably": [{"op": "subscribe", "predicate": "x > 0", "durable": "own"}],
    "offer items": [{"op": "offer", "predicate": "x = 2"}],
    "request an item": [{"op": "request", "request": "x = 1"}],
    "request an item, with a trace": [{"op": "request", "request": "x = 1", "trace": True}],
    "trace a message, also without delivery": [{"op": "trace", "message": {"x": 1}, "dry": True}],
    "end, acknowledge and answer what is one's own": [
        {"op": "unsubscribe"},
        {"op": "withdraw"},
        {"op": "acknowledge", "up_to": 1},
        {"op": "answer"},
    ],
}
# Each row is tried with its own rights, with each of them missing, and with all others.
TRIED = sorted(
    {
        rights
        for *_, needs in TABLE.values()
        for named in [frozenset(re.findall(r"`(\w+)`", needs))]
        for rights in [named, frozenset(NAMES) - named, *(frozenset(NAMES) - {name} for name in named), frozenset()]
    },
    key=sorted,
)
TOKENS = {rights: new_token(str(n)) for n, rights in enumerate(TRIED)}


@pytest.fixture(scope="module")
def secured(tmp_path_factory):
    accounts = {str(n): Account(rights_of(rights), TOKENS[rights].hash) for n, rights in enumerate(TRIED)}
    security = SecurityPolicy(Access(accounts, frozenset()))
    with running_http(security, journal=tmp_path_factory.mktemp("journal"), history=HISTORY) as running:
        with running.client(TOKENS[frozenset(NAMES)].token) as client:
            client.post("/publish", json={"x": 1})  # so that there are counters
        yield running


def test_the_table_names_every_path_and_every_operation_of_a_web_socket(secured):
    routes = http_application(secured.router, ()).routes
    paths = {
        f"{method} {route.path}"
        for route in routes
        for method in (getattr(route, "methods", None) or {"GET"}) - {"HEAD"}
    }
    assert set().union(*(names for _, names, *_ in TABLE.values())) == paths
    tried = {row: {f"{method} {path}" for method, path, *_ in samples} for row, samples in PATHS.items()}
    assert tried == {row: names for row, (_, names, *_) in TABLE.items() if names}
    assert set().union(*(names for *_, names, _ in TABLE.values())) == {
        *_Session(None, SimpleNamespace())._handlers,
        "hello",
    }
    tried = {row: {sample["op"] for sample in samples} for row, samples in OPERATIONS.items()}
    assert tried == {row: names for row, (*_, names, _) in TABLE.items() if names and row != "connect"}


def answer(client, operation, method, path, query, body):
    """Return whether a client may do something."""
    if path == "/ws":
        with connect_socket(
            f"ws://{client.base_url.netloc.decode()}/ws",
            additional_headers={"authorization": client.headers["authorization"]},
        ) as socket:
            return json.loads(socket.recv(timeout=60))["op"] == "welcome"
    path = path.replace("{name}", "main.js")
    with client.stream(method, path, params=query, json=body) as response:
        if operation.startswith("links"):
            return bool(json.loads(response.read())["counters"])
        return response.status_code not in (401, 403)


@pytest.mark.parametrize("operation", PATHS)
def test_a_path_needs_the_rights_of_its_row_and_no_others(secured, operation):
    needs = TABLE[operation][-1]
    for sample in PATHS[operation]:
        for rights in TRIED:
            with secured.client(TOKENS[rights].token) as client:
                assert answer(client, operation, *sample) == is_opened(needs, rights), (sample, rights)
        if sample[1] != "/ws":
            with secured.client() as client:
                assert answer(client, "", *sample) == (needs == "no token"), sample


@pytest.mark.parametrize("rights", TRIED, ids=lambda rights: "-".join(sorted(rights)) or "none")
def test_an_operation_of_a_web_socket_needs_the_rights_of_its_row_and_no_others(secured, rights):
    headers = {"Authorization": f"Bearer {TOKENS[rights].token}"}
    with connect_socket(f"ws://{secured.http}/ws", additional_headers=headers) as socket:
        assert json.loads(socket.recv(timeout=60))["op"] == "welcome"
        for id, (operation, sample) in enumerate((row, each) for row in OPERATIONS for each in OPERATIONS[row]):
            reference = (
                {"id": id}
                if sample["op"] in ("subscribe", "offer", "unsubscribe", "withdraw", "acknowledge")
                else {"number": id}
            )
            socket.send(json.dumps(sample | reference))
            socket.send(json.dumps({"op": "that is all", "number": -1}))
            statuses = set()
            while (frame := json.loads(socket.recv(timeout=60))).get("number") != -1:
                statuses.add(frame.get("status"))
            assert (403 not in statuses) == is_opened(TABLE[operation][-1], rights), sample
