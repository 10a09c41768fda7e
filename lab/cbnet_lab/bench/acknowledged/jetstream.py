"""A nats-server with JetStream, and a raw client of it.

    PUB bench _INBOX.17 100 ──►  ◄── MSG _INBOX.17 1 30 {"stream": "BENCH", "seq": 17}

Its stream is a file. nats-server 2.9 answers when a message is written, and syncs the file every two minutes, so a
machine that fails loses acknowledged messages; cbnet syncs before it answers.
"""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, Self

from cbnet.errors import CbnetError
from cbnet.network.service.process_network import free_ports
from cbnet_lab.bench.acknowledged.publishing_run import number_of

PROGRAM: Final = "nats-server"
_SUBJECT, _INBOX, _STREAM = "bench", "_INBOX.bench", "BENCH"
_TIMEOUT = 20.0  # seconds


class JetStreamServer:
    """A running server; a context manager."""

    def __init__(self) -> None:
        (self.port,) = free_ports(1)
        self._folder = Path(tempfile.mkdtemp(prefix="cbnet-bench-"))
        command = [PROGRAM, "-a", "127.0.0.1", "-p", str(self.port), "-js", "-sd", str(self._folder)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    @staticmethod
    def version() -> str:
        """Return the version of the program."""
        ran = subprocess.run([PROGRAM, "-v"], capture_output=True, text=True, check=False)
        return ran.stdout.strip()

    @property
    def pid(self) -> int:
        """Its process."""
        return self._process.pid

    def __enter__(self) -> Self:
        end = time.monotonic() + _TIMEOUT
        while self._process.poll() is None and time.monotonic() < end:
            with socket.socket() as probe:
                if not probe.connect_ex(("127.0.0.1", self.port)):
                    return self
            time.sleep(0.05)
        self.__exit__()
        raise CbnetError(f"{PROGRAM} did not start")

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)


class _Connection:
    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=_TIMEOUT)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._rest = b""
        self.socket.recv(1 << 16)  # INFO
        self.socket.sendall(b'CONNECT {"verbose":false,"pedantic":false}\r\nPING\r\n')
        while b"PONG" not in self.socket.recv(1 << 16):
            pass

    def subscribe(self, subject: str, id: int) -> None:
        self.socket.sendall(f"SUB {subject} {id}\r\n".encode())

    def messages(self, data: bytes) -> Iterator[tuple[str, bytes]]:
        """Yield the subject and payload of messages in received bytes."""
        data = self._rest + data
        start = 0
        while (end := data.find(b"\r\n", start)) >= 0:
            head = data[start:end]
            following = end + 2
            if head.startswith(b"MSG "):
                _, subject, *_, size = head.split()
                following += int(size) + 2
                if following > len(data):
                    break
                yield subject.decode(), data[end + 2 : following - 2]
            elif head == b"PING":
                self.socket.sendall(b"PONG\r\n")
            elif head.startswith(b"-ERR"):
                raise CbnetError(f"{PROGRAM}: {head.decode()}")
            start = following
        self._rest = data[start:]

    def ask(self, subject: str, body: dict[str, Any]) -> dict[str, Any]:
        """Send a request, and return its answer."""
        data = json.dumps(body).encode()
        self.socket.sendall(f"PUB {subject} {_INBOX}.0 {len(data)}\r\n".encode() + data + b"\r\n")
        while received := self.socket.recv(1 << 16):
            for _, payload in self.messages(received):
                answer: dict[str, Any] = json.loads(payload)
                if "error" in answer:
                    raise CbnetError(f"{PROGRAM}: {answer['error']}")
                return answer
        raise CbnetError(f"{PROGRAM} closed the connection")


class NatsPlainLink:
    """Messages to one subscriber, without JetStream."""

    def __init__(self, port: int) -> None:
        publisher, self._subscriber = _Connection(port), _Connection(port)
        self._subscriber.subscribe("plain", 1)
        self._subscriber.socket.sendall(b"PING\r\n")
        while b"PONG" not in self._subscriber.socket.recv(1 << 16):
            pass
        self.publisher, self.answers = publisher.socket, self._subscriber.socket

    def publication(self, number: int, floor: int, payload: bytes) -> bytes:  # noqa: ARG002
        """Return a PUB frame."""
        return f"PUB plain {len(payload)}\r\n".encode() + payload + b"\r\n"

    def answered(self, data: bytes) -> Iterator[int]:
        """Yield the numbers of delivered messages."""
        return (number_of(payload) for _, payload in self._subscriber.messages(data))


class JetStreamLink:
    """Messages to a stream in a file, each acknowledged."""

    def __init__(self, port: int) -> None:
        """Connect, and create the stream."""
        self._connection = _Connection(port)
        self.publisher = self.answers = self._connection.socket
        self._connection.subscribe(f"{_INBOX}.*", 1)
        config = {"name": _STREAM, "subjects": [_SUBJECT], "storage": "file", "num_replicas": 1}
        self._connection.ask(f"$JS.API.STREAM.CREATE.{_STREAM}", config)

    def publication(self, number: int, floor: int, payload: bytes) -> bytes:  # noqa: ARG002
        """Return a PUB frame with a reply subject."""
        return f"PUB {_SUBJECT} {_INBOX}.{number} {len(payload)}\r\n".encode() + payload + b"\r\n"

    def answered(self, data: bytes) -> Iterator[int]:
        """Yield the numbers of stored messages."""
        for subject, payload in self._connection.messages(data):
            if b'"error"' in payload:
                raise CbnetError(f"{PROGRAM}: {payload.decode()}")
            yield int(subject.rpartition(".")[2])

    def stored(self, port: int, count: int) -> list[int]:
        """Return the numbers of all messages of the stream, in order, as a consumer receives them."""
        consumer = _Connection(port)
        consumer.subscribe(f"{_INBOX}.0", 1)
        consumer.subscribe("consumed", 2)
        config = {"deliver_subject": "consumed", "ack_policy": "none", "deliver_policy": "all"}
        create = json.dumps({"stream_name": _STREAM, "config": config}).encode()
        api = f"$JS.API.CONSUMER.CREATE.{_STREAM}"
        consumer.socket.sendall(f"PUB {api} {_INBOX}.0 {len(create)}\r\n".encode() + create + b"\r\n")
        numbers: list[int] = []
        with consumer.socket:
            while len(numbers) < count:
                messages = consumer.messages(consumer.socket.recv(1 << 18))
                numbers += [number_of(payload) for subject, payload in messages if subject == _SUBJECT]
        return numbers
