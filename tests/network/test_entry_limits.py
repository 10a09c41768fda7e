"""Input beyond every limit of docs/how-to/http.md and docs/reference/http.md, on every path and WebSocket operation.

Each refusal is a clear error that names the limit, and has no other effect: the next request is answered.
"""

import json
import socket

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect as connect_socket

EVENT = {"specversion": "1.0", "id": "1", "source": "/shop", "type": "order.paid"}
MIB = 1 << 20


@pytest.fixture(scope="module")
def ask(server):
    """Return a function that sends an object over a WebSocket that stays open, and returns the answer."""
    with connect_socket(f"ws://{server.http}/ws") as page:
        page.recv(timeout=60)

        def ask(**members):
            page.send(json.dumps(members, separators=(",", ":")))
            return json.loads(page.recv(timeout=60))

        yield ask


def nested(levels):
    """Return a message of so many levels."""
    message = {"x": 1}
    for _ in range(levels - 1):
        message = {"a": message}
    return message


# --- messages: docs/reference/protocol.md, "Values"

MESSAGES = {
    "values": ({f"k{number}": 1 for number in range(4_097)}, "4,096"),
    "array": ({"a": [1] * 4_096}, "4,096"),  # and the array itself
    "many values": ({f"k{number}": 1 for number in range(60_000)}, "4,096"),
    "many empty arrays": ({"a": [[]] * 300_000}, "4,096"),
    "tags": ({"#": [f"t{number}" for number in range(1_025)]}, "1,024"),
    "levels": (nested(65), "64"),
    "names": ({"x" * 300_000: dict.fromkeys("abcd", 1)}, "1,048,576"),
    "many names": ({"x" * 500_000: {f"k{number}": 1 for number in range(4_000)}}, "1,048,576"),
    "integer": ({"x": 2**63}, "64 bits"),
    "long integer": ({"x": int("9" * 4_000)}, ""),  # msgspec has a limit of its own, which it does not name
    "float": ({"x": float("1e308") * 10}, ""),
}
JSON, LINES = {"content-type": "application/json"}, {"content-type": "application/x-ndjson"}
EVENTS = {"content-type": "application/cloudevents+json"}
BATCH = {"content-type": "application/cloudevents-batch+json"}
BINARY = {**JSON, **{f"ce-{name}": value for name, value in EVENT.items()}}
HTTP_ENTRIES = {
    "message": ("/publish", JSON, lambda message: message),
    "item": ("/publish", JSON, lambda message: {"message": message, "payload": "p"}),
    "line": ("/publish", LINES, lambda message: message),
    "event": ("/publish", EVENTS, lambda message: {**EVENT, "data": message}),
    "batch": ("/publish", BATCH, lambda message: [{**EVENT, "data": {"x": 1}}, {**EVENT, "data": message}]),
    "binary event": ("/publish", BINARY, lambda message: message),
    "trace": ("/trace", JSON, lambda message: {"message": message, "dry": True}),
    "explain": ("/explain", JSON, lambda message: {"message": message, "predicate": "x = 1"}),
    "request": ("/request", JSON, lambda message: {"request": message}),
}
SOCKET_ENTRIES = {
    "publish": lambda message: {"message": message},
    "trace": lambda message: {"message": message, "dry": True},
    "request": lambda message: {"request": message},
}


def text_of(document):
    """Return a document as JSON with the infinity as JSON writes it."""
    return json.dumps(document, separators=(",", ":")).replace("Infinity", "1e999")


def is_data(entry):
    """Return whether the message is the data of a CloudEvent: one level deeper, and `#` has no special meaning."""
    return "event" in entry or entry == "batch"


def is_named(limit, problem):
    """Return whether a problem document names a limit, or its body was too large for the path before that."""
    text = problem["detail"] + problem.get("hint", "")
    return limit in text or (problem["status"] == 413 and "65,536 bytes" in text)


@pytest.mark.parametrize("case", MESSAGES)
@pytest.mark.parametrize("entry", HTTP_ENTRIES)
def test_message_beyond_a_limit_is_refused_on_every_path(client, entry, case):
    path, headers, document = HTTP_ENTRIES[entry]
    message, limit = MESSAGES[case]
    if is_data(entry) and case == "tags":
        message = {"#": ["t"] * 4_097}  # values of an attribute
        limit = "4,096"
    if entry == "request" and case in ("values", "array", "tags", "levels"):
        limit = "64" if case == "levels" else ""  # of a request, or of the message
    answer = client.post(path, content=text_of(document(message)), headers=headers)
    problem = answer.json()
    assert answer.status_code == problem["status"]
    assert answer.status_code in (400, 413)
    assert is_named(limit, problem), problem
    assert client.post("/publish", json={"x": 1}).status_code == 200


@pytest.mark.parametrize("case", MESSAGES)
@pytest.mark.parametrize("operation", SOCKET_ENTRIES)
def test_message_beyond_a_limit_is_refused_on_a_web_socket_that_stays_open(ask, operation, case):
    message, limit = MESSAGES[case]
    members = {"op": operation, "number": 1, **SOCKET_ENTRIES[operation](message)}
    answer = ask(**json.loads(text_of(members))) if case != "float" else ask(**{**members, "message": {"x": 2**63}})
    assert (answer["op"], answer["status"]) == ("error", 400)
    if operation != "request":
        assert is_named(limit, answer), answer
    assert ask(op="publish", number=2, message={"x": 1}) == {"op": "published", "number": 2}


def test_payload_beyond_its_limit_is_refused_on_every_entry(client, ask):
    item = {"message": {"x": 1}, "payload": "p" * 524_289}
    for answer in (
        client.post("/publish", json=item).json(),
        client.post("/publish", content=json.dumps(item), headers=LINES).json(),
        client.post("/trace", json=item).json(),
        ask(op="publish", number=1, **item),
        ask(op="trace", number=1, **item),
    ):
        assert answer["status"] == 400
        assert "524,288" in answer["detail"]


def test_request_beyond_its_limits_is_refused(client, ask):
    for wanted, limit in (
        ({f"k{number}": 1 for number in range(65)}, "64"),
        (" and ".join(f"k{number} = 1" for number in range(65)), "64"),
        ({"k": "x" * 4_097}, "4,096"),
        ("#" + "x" * 16_384, "16,384"),
    ):
        for answer in (client.post("/request", json={"request": wanted}).json(), ask(op="request", request=wanted)):
            assert answer["status"] == 400
            assert limit in answer["detail"]


# --- predicates

FILTERS = " or ".join(f"x{number} = 1" for number in range(1_001))
CONSTRAINTS = " and ".join(f"x{number} = 1" for number in range(257))
PREDICATES = [("x = 1" + " " * 65_536, "65,536"), (FILTERS, "1,000"), (CONSTRAINTS, "256")]


@pytest.mark.parametrize(("predicate", "limit"), PREDICATES, ids=["characters", "filters", "constraints"])
def test_predicate_beyond_a_limit_is_refused_on_every_entry(client, ask, predicate, limit):
    answers = [
        ask(op="subscribe", id=1, predicate=predicate),
        ask(op="offer", id=1, predicate=predicate),
    ]
    if limit == "256":  # the others are longer than a head; a trace adds no filters to a table
        answers.append(client.get("/subscribe", params={"predicate": predicate}).json())
    else:
        answers.append(ask(op="trace", number=1, message={"x": 1}, of=predicate))
        answers.append(client.post("/trace", json={"message": {"x": 1}, "of": predicate}).json())
    for answer in answers:
        assert answer["status"] in (400, 403)
        assert limit in answer["detail"]


def test_predicate_of_the_page_beyond_a_limit_is_refused(client):
    for predicate, limit in (
        ("x = 1" + " " * 10_000, "10,000"),
        (" or ".join(f"x{number}=1" for number in range(201)), "200"),
        (" and ".join(f"(a{n} = 1 or b{n} = 1)" for n in range(7)) + " and " + " and ".join("cdefghijklmnopqrs"), ""),
        ({"a": [1] * 16_385}, "16,384"),
    ):
        for path, members in (
            ("/check", {"predicate": predicate}),
            ("/covers", {"wide": predicate, "narrow": "x = 1"}),
            ("/explain", {"message": {"x": 1}, "predicate": predicate}),
        ):
            answer = client.post(path, json=members).json()
            assert answer["status"] == 400
            assert is_named(limit, answer), answer


# --- numbers: 64 bits at most, and the limits of each option

HUGE = [2**63, 10**23, int("9" * 4_000)]
OPTIONS = [
    ("request", "timeout", [0, -1, 3_601, "nan", "1e999", None, *HUGE], "3,600"),
    ("request", "max_holders", [0, 0.5, 65, -1, *HUGE], "64"),
    ("trace", "timeout", [3_601, *HUGE], "3,600"),
    ("publish", "timeout", [3_601, *HUGE], "3,600"),
    ("subscribe", "timeout", [3_601, *HUGE], "3,600"),
    ("subscribe", "from", [0, -1, "9" * 5_000, *HUGE], "9,223,372,036,854,775,807"),
    ("subscribe", "id", [None, True, 1.5, "x" * 257, [1], *HUGE], "256"),
    ("publish", "number", [1.5, "x" * 257, {"a": 1}, *HUGE], "256"),
    ("acknowledge", "up_to", [0, True, *HUGE], "9,223,372,036,854,775,807"),
]
VALID = {
    "request": {"request": "y = 1"},
    "trace": {"message": {"x": 1}},
    "publish": {"message": {"x": 1}, "number": 1},
    "subscribe": {"id": 7, "predicate": "x = 1"},
    "acknowledge": {"id": 7},
}


@pytest.mark.parametrize(("operation", "option", "values", "limit"), OPTIONS, ids=lambda each: str(each)[:20])
def test_number_beyond_its_limits_is_refused_on_a_web_socket_that_stays_open(ask, operation, option, values, limit):
    for value in values:
        answer = ask(op=operation, **{**VALID[operation], option: value})
        assert (answer["op"], answer["status"]) == ("error", 400)
        is_long = isinstance(value, int) and value > 10**400  # refused before its member is known
        assert is_long or limit in answer["detail"] + answer["hint"]
        assert ask(op="publish", number=2, message={"x": 1}) == {"op": "published", "number": 2}


@pytest.mark.parametrize(
    ("method", "path", "values", "limit"),
    [
        (
            "GET",
            "/subscribe?predicate=exists+x&from=",
            [0, -1, 2**63, 10**23, "9" * 5_000],
            "9,223,372,036,854,775,807",
        ),
        ("GET", "/subscribe?predicate=exists+x&timeout=", [0, 3_601, "nan", "9" * 5_000], "3,600"),
        ("POST", "/publish?timeout=", [0, 3_601, "inf", "9" * 5_000], "3,600"),
    ],
)
def test_number_in_a_query_beyond_its_limits_is_refused(client, method, path, values, limit):
    for value in values:
        answer = client.request(method, f"{path}{value}", content=b'{"x": 1}' if method == "POST" else None)
        assert answer.status_code == 400
        text = answer.json()["detail"] + answer.json().get("hint", "")
        assert limit in text or "invalid start" in text


# --- heads, bodies, frames


def exchanged(server, *parts):
    """Send bytes over a TCP connection, and return all that the server answers until it closes."""
    with socket.create_connection(tuple(server.http), timeout=60) as connection:
        for part in parts:
            connection.sendall(part)
        connection.shutdown(socket.SHUT_WR)
        answer = bytearray()
        while data := connection.recv(65_536):
            answer += data
    return bytes(answer)


def head(size, start=b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n"):
    """Return the head of a request of so many bytes."""
    return start + b"X: " + b"a" * (size - len(start) - 7) + b"\r\n\r\n"


CLOSING = head(80, b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n")
MANY_HEADERS = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n" + b"a: b\r\n" * 10_000 + b"\r\n"
LONG_LINE = b"GET /healthz?" + b"a" * 16_384 + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


def test_head_of_16_kib_is_accepted(server):
    answer = exchanged(server, head(16_384), CLOSING)
    assert answer.count(b"HTTP/1.1 200") == 2


@pytest.mark.parametrize("size", [1, 1_000, MIB], ids=["bytes", "pieces", "whole"])
@pytest.mark.parametrize("long", [head(16_385), head(60_000), MANY_HEADERS, LONG_LINE])
def test_longer_head_is_refused_whatever_pieces_it_arrives_in(server, long, size):
    parts = [long[at : at + size] for at in range(0, len(long), size)][:17_000]
    try:
        answer = exchanged(server, *parts, CLOSING)
    except OSError:  # closed while the client still sends
        return
    assert answer.count(b"HTTP/1.1") == 1
    assert b"16,384 bytes" in answer


def test_longer_head_behind_another_request_is_refused(server):
    answer = exchanged(server, head(100) + head(16_385) + CLOSING)
    assert (answer.count(b"HTTP/1.1 200"), answer.count(b"HTTP/1.1 400"), answer.count(b"HTTP/1.1")) == (1, 1, 2)


def test_request_of_more_than_128_headers_is_refused(server):
    first = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
    for more, status in ((126, b"200"), (127, b"400")):
        answer = exchanged(server, first + b"a: b\r\n" * more + b"\r\n")
        assert answer.startswith(b"HTTP/1.1 " + status)
    assert b"128 headers" in answer


@pytest.mark.parametrize(
    "lengths", [b"Content-Length: 5\r\nTransfer-Encoding: chunked", b"transfer-encoding: chunked\r\ncontent-length: 0"]
)
def test_request_with_two_lengths_is_refused_and_the_one_behind_it_not_answered(server, lengths):
    request = b"POST /publish HTTP/1.1\r\nHost: 127.0.0.1\r\n" + lengths + b"\r\n\r\n0\r\n\r\n"
    answer = exchanged(server, request + CLOSING)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.count(b"HTTP/1.1") == 1
    assert b"Content-Length and Transfer-Encoding" in answer


@pytest.mark.parametrize(
    "headers", [JSON, LINES, EVENTS, BATCH, BINARY], ids=["json", "line", "event", "batch", "binary"]
)
def test_body_of_more_than_a_mebibyte_is_refused(client, headers):
    for content in (b" " * (MIB + 1), iter([b" " * MIB, b" "])):  # with its length, and in chunks
        answer = client.post("/publish", content=content, headers=headers)
        assert (answer.status_code, "1,048,576 bytes" in answer.json()["detail"]) == (413, True)


def test_body_for_the_page_of_more_than_64_kib_is_refused(client):
    for path in ("/check", "/covers", "/explain"):
        answer = client.post(path, content=b" " * 65_537)
        assert (answer.status_code, "65,536 bytes" in answer.json()["detail"]) == (413, True)


def test_batch_of_too_many_values_is_refused(client):
    answer = client.post("/publish", content=json.dumps([1] * 131_073), headers=BATCH)
    assert (answer.status_code, "131,072" in answer.json()["detail"]) == (400, True)


def test_batch_with_an_event_beyond_a_limit_publishes_nothing(server, client):
    before = server.router.router.counters["published"]
    events = [{**EVENT, "data": {"x": 1}}, {**EVENT, "data": {"x": [1] * 4_097}}]
    answer = client.post("/publish", content=json.dumps(events), headers=BATCH).json()
    assert (answer["status"], answer["detail"].startswith("event 2: ")) == (400, True)
    assert server.router.router.counters["published"] == before


def test_frame_of_more_than_a_mebibyte_closes_its_web_socket(server):
    with connect_socket(f"ws://{server.http}/ws") as page:
        page.recv(timeout=60)
        page.send(" " * (MIB + 1))
        with pytest.raises(ConnectionClosed) as closed:
            page.recv(timeout=60)
    assert closed.value.rcvd.code == 1009  # message too big [RFC 6455 §7.4.1]
