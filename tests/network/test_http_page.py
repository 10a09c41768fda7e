"""The web page of a router, and the endpoints that it uses, against real routers."""

import json
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib.resources import files

import httpx
import pytest
from support.http_servers import running_http
from support.waiting import wait_until

from cbnet import connect
from cbnet.network.http import playground
from cbnet.network.router import inquiries
from cbnet.network.security.access import OPEN_POLICY, Access, Account, SecurityPolicy
from cbnet.network.security.rights import Rights
from cbnet.network.security.tokens import new_token


@contextmanager
def watching(client):
    """Watch the network, and yield an iterator over the states."""

    def states(response):
        for line in response.iter_lines():
            if line.startswith("data: "):
                yield json.loads(line.removeprefix("data: "))

    with client.stream("GET", "/watch") as response:
        assert response.status_code == 200
        yield states(response)


# --- the page


def test_the_page_and_its_files_are_local_and_have_a_strict_policy(client):
    page = client.get("/")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'; script-src 'self'" in policy
    assert "unsafe" not in policy
    for name in re.findall(r'(?:src|href)="(page/[^"]+)"', page.text):
        assert client.get(f"/{name}").status_code == 200
    assert client.get("/page/main.js").headers["content-type"] == "text/javascript; charset=utf-8"


def test_no_file_of_the_page_names_another_server_or_writes_html():
    for file in files("cbnet.network.http").joinpath("page").iterdir():
        text = file.read_text().replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"https?://|innerHTML|insertAdjacentHTML|document\.write|eval\(", text), file.name


@pytest.mark.parametrize("name", ["nothing.js", "..%2fopenapi.json", "%2e%2e/openapi.json"])
def test_other_files_are_not_served(client, name):
    assert client.get(f"/page/{name}").status_code == 404


# --- the state of the network


def test_the_state_of_the_network_changes_with_its_clients(server, client):
    with watching(client) as states:
        first = next(states)
        assert (first["router"], first["network"]) == ("a", "cbnet")
        (router,) = first["routers"]
        assert (router["router"], router["answers"], router["clients"], router["neighbours"]) == ("a", True, 0, [])
        with connect(server.address, name="c") as native:
            native.subscribe("x > 2", wait=True)
            native.publish({"x": 3}, wait=True)
            state = next(state["routers"][0] for state in states if state["routers"][0]["delivered"])
        assert (state["clients"], state["subscriptions"]) == (1, 1)
        assert [link["name"] for link in state["listed_clients"]] == ["c"]
        gone = next(state["routers"][0] for state in states if not state["routers"][0]["clients"])
        assert gone["subscriptions"] == 0


@pytest.mark.parametrize("has_tokens", [False, True])
def test_links_of_requests_are_not_clients_and_a_request_changes_no_state(has_tokens):
    """Else the page would request subscriptions again whenever it has requested some."""
    token = new_token("viewer")
    access = Access(clients={"viewer": Account(Rights(watch=True), token.hash)})
    with (
        running_http(SecurityPolicy(access) if has_tokens else OPEN_POLICY) as server,
        server.client(token.token) as page,
        server.client(token.token) as other,
        connect(server.address, name="viewer", token=token.token if has_tokens else None),
        watching(page) as states,
    ):
        before = next(states)["routers"][0]
        assert other.get("/subscriptions").status_code == 200
        status = other.get("/status").json()
        assert (status["clients"], [peer["name"] for peer in status["peers"]]) == (1, ["viewer"])
        after = next(states)["routers"][0]  # its rates are known now
        for state in (before, after):
            assert (state["clients"], [link["name"] for link in state["listed_clients"]]) == (1, ["viewer"])


def test_subscriptions_are_listed_with_their_clients(server, client):
    with connect(server.address, name="c") as native:
        native.subscribe("x > 2 and #a", wait=True)
        listed = client.get("/subscriptions", params={"router": "a"}).json()
    expected = {"subscriber": "c", "id": 1, "predicate": "x > 2 and #a", "is_whole": True, "group": ""}
    assert listed == {"router": "a", "subscriptions": [expected], "total": 1}


def test_an_unknown_router_is_not_found(client):
    answer = client.get("/subscriptions", params={"router": "z"})
    assert (answer.status_code, answer.json()["detail"]) == (404, "router 'z' is not reachable")


@pytest.mark.parametrize(("at", "limit", "status"), [("b", 10_000, 504), ("b", 0, 503), ("z", 0, 404)])
def test_a_router_that_does_not_answer_and_a_busy_one_have_their_own_status(monkeypatch, at, limit, status):
    monkeypatch.setattr(inquiries, "_MAX_WAITING", limit)
    with running_http() as server, server.client() as client:
        monkeypatch.setattr(server.router.router.versions.newest, "names", ("a", "b"))  # nothing leads there
        assert client.get("/subscriptions", params={"router": at}).status_code == status


# --- predicates


def test_predicates_are_checked_compared_and_explained(client):
    assert client.post("/check", json={"predicate": "x>1"}).json()["predicate"] == "x > 1"
    assert client.post("/covers", json={"wide": "x > 3", "narrow": "x > 2"}).json()["counterexample"] == {"x": 3}
    answer = client.post("/explain", json={"message": {"x": 1}, "predicate": "x > 2"}).json()
    assert answer["closest"] == [{"filter": "x > 2", "failures": ["x > 2 fails: x is 1"]}]


def test_a_mistake_in_a_predicate_has_its_place(client):
    answer = client.post("/check", json={"predicate": "x >"})
    assert answer.status_code == 400
    assert (answer.json()["line"], answer.json()["column"]) == (1, 4)


def test_few_requests_wait_and_large_ones_are_refused(monkeypatch):
    turn = threading.Event()
    monkeypatch.setattr(playground, "checked", lambda _: turn.wait(20) and {})
    with running_http() as server, server.client() as client, ThreadPoolExecutor(20) as threads:
        assert client.post("/check", json={"predicate": "x" * (1 << 16)}).status_code == 413
        body = {"predicate": "x > 1"}
        answers = [threads.submit(httpx.post, f"{server.url}/check", json=body, timeout=60) for _ in range(20)]
        wait_until(lambda: sum(each.done() for each in answers) == 4, timeout=60)
        assert server.is_healthy()
        turn.set()
        assert sorted(each.result().status_code for each in answers) == [200] * 16 + [503] * 4
        assert client.post("/check", json=body).status_code == 200


def test_predicates_count_as_sessions():
    with running_http(sessions=1) as server, server.client() as client, watching(client):
        assert httpx.post(f"{server.url}/check", json={"predicate": "x > 1"}).status_code == 503


# --- rights


def test_the_state_of_others_needs_the_right_to_watch_and_the_page_needs_no_token():
    tokens = {name: new_token(name) for name in ("all", "some")}
    accounts = {name: Account(Rights(watch=name == "all"), token.hash) for name, token in tokens.items()}
    policy = SecurityPolicy(access=Access(clients=accounts))
    with running_http(policy) as server:
        for path in ("/watch", "/subscriptions"):
            assert httpx.get(server.url + path).status_code == 401
            with server.client(tokens["some"].token) as client:
                assert client.get(path).status_code == 403
        assert httpx.post(f"{server.url}/check", json={"predicate": "x > 1"}).status_code == 401
        with server.client(tokens["some"].token) as client:
            assert client.post("/check", json={"predicate": "x > 1"}).status_code == 200
        assert httpx.get(server.url).status_code == 200
        with server.client(tokens["all"].token) as client, watching(client) as states:
            assert next(states)["router"] == "a"


def test_a_stream_ends_with_its_client(server):
    with server.client() as client, watching(client) as states:
        next(states)
    wait_until(lambda: not len(server.router.router.links), timeout=60)
