"""A router with an HTTP server, in a thread, and a reader of server-sent events."""

import asyncio
import json
import threading
from contextlib import contextmanager

import httpx

from cbnet.network import Settings, TcpRouter
from cbnet.network.http.http_server import HttpServer
from cbnet.network.protocol.addresses import Address
from cbnet.network.security.access import OPEN_POLICY

HERE = Address("127.0.0.1", 0)
PLAIN = {"verify": False}  # no TLS: loading the certificates of the system takes longer than a request


class RunningHttp:
    """A router, its server, and the event loop in which they run."""

    def __init__(self, loop, router, server):
        self.loop = loop
        self.router = router
        self.server = server
        self.address = str(router.address)
        self.http = server.address
        self.url = f"http://{server.address}"

    def call(self, coroutine):
        """Run a coroutine in the loop of the router, and return its result."""
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(timeout=60)

    def client(self, token=None, **options):
        """Return an HTTP client."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return httpx.Client(base_url=self.url, headers=headers, timeout=60, **PLAIN, **options)

    def is_healthy(self):
        """Return whether the health check succeeds within seconds."""
        return httpx.get(f"{self.url}/healthz", timeout=10, **PLAIN).json() == {"healthy": True}


@contextmanager
def running_http(security=OPEN_POLICY, *, origins=(), sessions=100, http=HERE, journal=None, history=""):
    """Run a router with a server."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    async def start():
        router = TcpRouter(Settings("a", history=history), HERE, {}, security, journal=journal)
        await router.start()
        server = HttpServer(router, http, origins=origins, sessions=sessions)
        await server.start()
        return RunningHttp(loop, router, server)

    async def stop():
        await running.server.stop()
        await running.router.stop()

    try:
        running = asyncio.run_coroutine_threadsafe(start(), loop).result(timeout=60)
        try:
            yield running
        finally:
            running.call(stop())
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


@contextmanager
def event_stream(client, predicate, **params):
    """Subscribe, and yield an iterator over events: (name, id, data)."""
    with client.stream("GET", "/subscribe", params={"predicate": predicate, **params}) as response:
        assert response.status_code == 200, response.read()
        events = _events(response.iter_bytes())
        assert next(events)[0] == "subscribed"
        yield events


def _events(parts):
    waiting = []
    for part in parts:
        *ended, rest = part.split(b"\n\n")
        for block in ended:
            lines = b"".join((*waiting, block)).decode().split("\n")
            waiting = []
            members = dict(line.split(": ", 1) for line in lines)
            if "data" in members:
                yield members.get("event", "message"), members.get("id"), json.loads(members["data"])
        waiting.append(rest)
