"""Random HTTP requests and WebSocket frames, sent to a router's HTTP server over connections in memory.

python -m tests.support.http_fuzz --seconds 600 prints the first request of each kind of failure, with the seed that repeats it.
"""

import argparse
import asyncio
import json
import logging
import random
import re
import struct
import sys
import tempfile
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.http_servers import running_http

NUMBERS = [
    0, 1, -1, 2**31, 2**63 - 1, 2**63, -(2**63), 10**23, 10**400, 1e308, 0.5, -0.0, True, "1", "1e999", "nan", "0x1", "９", "9" * 5000,
]  # fmt: skip
TEXTS = [
    "", "x", "x = 1", "x <", "#t", "exists x", "é", "\x00", "\ud800", "a.b", ".", "a" * 300, "x = 1 or " * 50 + "y = 2", '{"x": [1]}',
    '[{"exact": {"type": "a"}}]', "type = 'a'", "first", "1h", "9d", "99999999999999999999999", "1" * 5000, "base64", "utf-8", "/w==",
    "cbnet", "eventbridge", "cloudevents", "cesql", "selector", "a.boss", "true", "false", "a",
]  # fmt: skip
MEMBERS = [
    "message", "payload", "encoding", "predicate", "dialect", "wide", "narrow", "narrow_dialect", "request", "timeout", "max_holders",
    "fresh", "trace", "dry", "of", "at", "id", "number", "wait", "durable", "require", "from", "up_to", "keep", "token", "x", "#", "specversion",
    "source", "type", "data", "data_base64", "time", "error", "line", "column", "hint",
]  # fmt: skip
# Valid objects of each operation and path, of which one member is then replaced.
OPERATIONS = {
    "publish": {"message": {"x": 1}, "payload": "p", "encoding": "utf-8", "durable": False, "timeout": 1, "number": 1},
    "subscribe": {"id": 1, "predicate": "x = 1", "dialect": "cbnet", "wait": True, "timeout": 1, "from": "first"},
    "unsubscribe": {"id": 1},
    "acknowledge": {"id": 1, "up_to": 1},
    "request": {"request": {"y": 1}, "timeout": 0.01, "max_holders": 1, "fresh": True, "trace": True, "number": 1},
    "offer": {"id": 2, "predicate": "exists y", "wait": True, "timeout": 1},
    "answer": {"number": 1, "message": {"y": 1}, "payload": "p", "encoding": "utf-8", "keep": 1},
    "trace": {"message": {"x": 1}, "payload": "p", "dry": True, "of": "x = 1", "at": "a", "timeout": 1, "number": 1},
    "withdraw": {"id": 2},
    "hello": {"token": "x"},
    "nonsense": {},
}
POSTS = {
    "/publish": {"message": {"x": 1}, "payload": "p", "encoding": "utf-8"},
    "/request": {"request": "y = 1", "timeout": 0.01, "max_holders": 1, "fresh": True, "trace": True},
    "/trace": {"message": {"x": 1}, "payload": "p", "dry": True, "of": "x = 1", "at": "a", "timeout": 1},
    "/check": {"predicate": "x = 1", "dialect": "cbnet"},
    "/covers": {"wide": "x > 1", "narrow": "x > 2", "dialect": "cbnet", "narrow_dialect": "cbnet"},
    "/explain": {"message": {"x": 1}, "predicate": "x > 1", "dialect": "cbnet"},
}
GETS = [
    "/subscribe", "/subscribe", "/subscribe", "/status", "/watch", "/subscriptions", "/metrics", "/healthz", "/readyz", "/openapi.json", "/", "/page/page.js", "/ws",
    "/page/..%2f..%2fsetup.py", "/%ff", "//", "*", "http://a/status", "/page/\u00e9",
]  # fmt: skip
TYPES = [
    "application/json", "application/x-ndjson", "application/cloudevents+json", "application/cloudevents-batch+json",
    "application/cloudevents+avro", "text/plain; charset=\xff", "image/png", "",
]  # fmt: skip


class Connection(asyncio.Transport):
    """A connection of a client in memory; `output` is what the server has sent."""

    def __init__(self, server):
        super().__init__({"peername": ("127.0.0.1", 1), "sockname": tuple(server.server.address)})
        self.output = bytearray()
        self.is_closed = False
        self.is_paused = False  # whether the server reads nothing for the moment
        self.protocol = server.server._protocol()
        self.protocol.connection_made(self)

    def send(self, data):
        """Let the server receive bytes, in pieces of the size that it reads."""
        while data and not self.is_closed:
            buffer = self.protocol.get_buffer(-1)
            count = min(len(buffer), len(data))
            buffer[:count], data = data[:count], data[count:]
            self.protocol.buffer_updated(count)

    def write(self, data):
        self.output += data

    def close(self):
        if not self.is_closed:
            self.is_closed = True
            asyncio.get_running_loop().call_soon(lambda: self.protocol.connection_lost(None))

    abort = close

    def is_closing(self):
        return self.is_closed

    def set_protocol(self, protocol):
        self.protocol = protocol

    def get_protocol(self):
        return self.protocol

    def get_write_buffer_size(self):
        return 0

    def pause_reading(self):
        self.is_paused = True

    def resume_reading(self):
        self.is_paused = False


def value(rng, depth=3):
    """Return a random JSON value."""
    kind = rng.random()
    if depth and kind < 0.25:
        return members(rng, depth - 1)
    if depth and kind < 0.4:
        return [value(rng, depth - 1) for _ in range(rng.choice([0, 1, 2, 20]))]
    if kind < 0.45:
        return rng.choice([None, True, False])
    return rng.choice(NUMBERS if kind < 0.7 else TEXTS)


def members(rng, depth=2):
    """Return a random JSON object, often with members that an operation knows."""
    return {rng.choice(MEMBERS): value(rng, depth) for _ in range(rng.choice([0, 1, 2, 4, 8]))}


def almost(rng, valid):
    """Return a valid object, of which one member is perhaps replaced."""
    kind = rng.random()
    changed = rng.choice(NUMBERS) if kind < 0.4 else value(rng, 1)
    return {**valid, rng.choice([*valid, "x"]): changed} if kind < 0.8 else valid


def dumped(rng, document):
    """Return a JSON text, now and then with a mistake in it."""
    text = json.dumps(document, ensure_ascii=rng.random() < 0.5).encode("utf-8", "surrogatepass")
    return mutated(rng, text) if rng.random() < 0.1 else text


def mutated(rng, data):
    """Return bytes with some changed, removed or repeated."""
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 3])):
        at = rng.randrange(len(data) + 1)
        kind = rng.random()
        if kind < 0.4:
            data[at : at + 1] = rng.choice([b"\x00", b"\xff", b"\r\n", b":", b"{", b'"', b" ", rng.randbytes(2)])
        elif kind < 0.7:
            del data[at : at + rng.choice([1, 5])]
        else:
            data[at:at] = data[at : at + rng.choice([1, 50])]
    return bytes(data)


def body(rng):
    """Return a random body."""
    kind = rng.random()
    if kind < 0.1:
        return rng.randbytes(rng.choice([0, 1, 30]))
    if kind < 0.2:
        return (
            b"[" * 3000
            if rng.random() < 0.5
            else json.dumps([members(rng) for _ in range(3)]).encode("utf-8", "replace")
        )
    return b"\n".join(dumped(rng, members(rng)) for _ in range(1 if kind < 0.8 else 4))


def quoted(text):
    """Return a text percent-encoded, half of a surrogate pair too."""
    return "".join(f"%{byte:02x}" for byte in text.encode("utf-8", "surrogatepass"))


def request(rng):
    """Return a random request."""
    is_post = rng.random() < 0.6
    path = rng.choice([*POSTS] if is_post else GETS)
    options = ["durable", "require", "timeout", "predicate", "dialect", "wait", "from", "router", "nonsense"]
    query = "&".join(
        f"{rng.choice(options)}={quoted(str(rng.choice(TEXTS + NUMBERS)))[:3000]}"
        for _ in range(rng.choice([0, 0, 1, 2]))
    )
    if path == "/subscribe" and rng.random() < 0.3:
        query = f"predicate=x&from={str(rng.choice(NUMBERS))[:3000]}"
    elif path == "/subscribe" and rng.random() < 0.7:
        query = f"predicate={quoted(rng.choice(TEXTS))}&from={quoted(str(rng.choice(TEXTS + NUMBERS)))[:3000]}"
    content = b"" if not is_post else body(rng) if rng.random() < 0.5 else dumped(rng, almost(rng, POSTS[path]))
    method = rng.choice(["POST" if is_post else "GET"] * 8 + ["HEAD", "OPTIONS", "CONNECT", "get"])
    headers = ["Host: " + rng.choice(["127.0.0.1"] * 9 + ["[::1", "evil.example", "\xff", "a:b:c"])]
    extra = [
        "Expect: 100-continue", "Upgrade: websocket", "Connection: upgrade", "Connection: close", "Authorization: Bearer é", "Origin: null",
        "Authorization: basic x", "ce-id: %ff", "ce-specversion: 1.0", "ce-type: t", "ce-source: /s", "Origin: http://[", "X: " + "a" * 9000,
        "Content-Length: 5", "Transfer-Encoding: chunked", "Cookie: a=b; c", "Sec-WebSocket-Key: x", "Sec-WebSocket-Version: 13",
    ]  # fmt: skip
    headers += rng.sample(extra, rng.choice([0, 0, 0, 1, 2, 4]))
    headers.append("Content-Type: " + rng.choice(TYPES))
    if rng.random() < 0.3:
        headers.append("Transfer-Encoding: chunked")
        content = b"%x\r\n%s\r\n0\r\n\r\n" % (len(content), content) if content else b"0\r\n\r\n"
    elif content:
        headers.append(f"Content-Length: {len(content)}")
    target = path + ("?" + query if query else "")
    head = "\r\n".join([f"{method} {target} HTTP/{rng.choice(['1.1'] * 9 + ['1.0', '2.0'])}", *headers, "", ""])
    return head.encode("latin-1", "replace") + content


HANDSHAKE = (
    b"GET /ws HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)


def frame(rng):
    """Return a random WebSocket frame, often an operation."""
    if rng.random() < 0.1:
        return rng.randbytes(rng.choice([1, 2, 20]))
    op = rng.choice([*OPERATIONS])
    data = dumped(rng, {"op": op, **(almost(rng, OPERATIONS[op]) if rng.random() < 0.7 else members(rng))})
    if rng.random() < 0.1:
        data = body(rng)
    first = rng.choice([0x81] * 12 + [0x82, 0x01, 0x80, 0x89, 0x88, 0x83, 0xC1])
    data = data[:100] if first in (0x88, 0x89) else data
    length = bytes([0x80 | len(data)]) if len(data) < 126 else b"\xfe" + struct.pack(">H", min(len(data), 65_535))
    return bytes([first]) + length + bytes(4) + data[:65_535]


def conversation(rng):
    """Return what a client sends, in parts."""
    if rng.random() < 0.4:
        return [HANDSHAKE, *(frame(rng) for _ in range(rng.choice([1, 3, 6])))]
    parts = [request(rng) for _ in range(rng.choice([1, 1, 2, 3]))]
    return [mutated(rng, part) if rng.random() < 0.15 else part for part in parts]


class Failures(logging.Handler):
    """The errors that are logged: an exception that a client's input caused."""

    def __init__(self):
        super().__init__(logging.ERROR)
        self.found = []

    def emit(self, record):
        error = record.exc_info[1] if record.exc_info else record.args
        self.found.append(
            "".join(traceback.format_exception(error)) if isinstance(error, Exception) else record.getMessage()
        )


async def converse(server, parts):
    """Send the parts of a conversation; return all that the server answers."""
    connection = Connection(server)
    for part in parts:
        connection.send(part)
        length, quiet = -1, 0
        while quiet < 10 and not connection.is_closed:
            quiet = quiet + 1 if len(connection.output) == length else 0
            length = len(connection.output)
            await asyncio.sleep(0.0002)
    connection.close()
    await asyncio.sleep(0)
    return bytes(connection.output)


def failures_of(server, seed):
    """Run the conversation of a seed; return the failures: answers that are server errors, and exceptions."""
    handler = Failures()
    rng = random.Random(seed)
    parts = conversation(rng)
    loggers = [logging.getLogger(name) for name in ("uvicorn.error", "asyncio", "cbnet")]
    context = []
    server.loop.set_exception_handler(lambda _, problem: context.append(problem))
    for logger in loggers:
        logger.addHandler(handler)
    try:
        output = server.call(converse(server, parts))
    except Exception as error:  # in the code that receives bytes
        return parts, ["".join(traceback.format_exception(error))]
    finally:
        for logger in loggers:
            logger.removeHandler(handler)
    found = handler.found + [
        "".join(traceback.format_exception(each["exception"])) for each in context if "exception" in each
    ]
    found += [
        f"HTTP {status.decode()}"
        for status in re.findall(rb"HTTP/1\.1 (5\d\d)", output)
        if status not in (b"503", b"504")
    ]
    found += [
        f"status {status.decode()}"
        for status in re.findall(rb'"status":(5\d\d)', output)
        if status not in (b"503", b"504")
    ]
    return parts, found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    kinds, seed, end = {}, options.seed, time.monotonic() + options.seconds
    with tempfile.TemporaryDirectory() as journal, running_http(journal=Path(journal), history="x >= 0") as server:
        while time.monotonic() < end:
            parts, found = failures_of(server, seed)
            for each in found:
                kind = " | ".join(
                    re.findall(r"(line \d+, in \w+|^\w+Error|^HTTP.*|^status.*)", each, re.MULTILINE)[-2:]
                )
                if kind not in kinds:
                    print(f"--- seed {seed}: {[part[:300] for part in parts]}\n{each}", flush=True)
                kinds[kind] = kinds.get(kind, 0) + 1
            seed += 1
        assert server.is_healthy()
    print(f"{seed - options.seed:,} conversations, {sum(kinds.values()):,} failures", *kinds.items(), sep="\n")
    sys.exit(bool(kinds))


if __name__ == "__main__":
    main()
