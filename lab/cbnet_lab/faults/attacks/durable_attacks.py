"""Attacks on what routers keep: durable subscriptions, homes that are away, and records of other routers."""

from __future__ import annotations

import secrets
import socket
import ssl
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import count
from typing import Final

from cbnet.network import DurableLimits
from cbnet.network.durable.histories.followers import MAX_CLIENT_REPLAYS
from cbnet.network.link.settings import Settings
from cbnet.network.protocol.fields import Frame
from cbnet.network.protocol.frames import (
    DurableSubscribe,
    Hello,
    HistoryStart,
    HomeRecord,
    Ping,
    Pong,
    Publish,
    RecordSummary,
    Replay,
)
from cbnet.network.protocol.wire import VERSION, FrameReader, encode
from cbnet_lab.faults.attacks.attacker import ENDED, Attacker, Work
from cbnet_lab.faults.attacks.ring import ATTACKED, HISTORY, OUTSIDER

_HOME: Final = "d"  # of the victim's second durable subscription
_NAME: Final = "orders"
_DISTANT: Final = "invoices"  # routers may not know yet that the first one was removed
_ORDERS = 20  # messages that the victim has not read yet
_FILTERS, _TEXT = 70, 900  # filters of a large subscription, and characters of each
_REPLAYED = 1_000  # messages of a history
_LINKS: Final = 15  # and the publisher
_SUBSTRINGS = 20  # of a replay
_THREADS, _WINDOW = 4, 8  # threads, and large subscriptions of each: 2 MB
_SMALL = 200  # durable subscriptions of one filter: with the large ones, fewer than the quota of an account
_FULL = 30  # durable subscriptions that keep one message
_TIMEOUT = 1.0  # of a durable publication, in seconds
_KEEP_ALIVE = 0.5  # seconds
_FORGED = 0.1  # seconds between two forged records
_PACE = 0.02  # seconds between two durable messages
_NEWEST = 1 << 60  # incarnation of a forged record


def durable_filters(attacker: Attacker) -> Sequence[Work]:
    """Create large durable subscriptions and remove them, again and again, beside many small ones."""

    def churn(thread: int) -> None:
        client = attacker.client()
        for number in count():
            text = " or ".join(f'text = "{number}-{n}-{"f" * _TEXT}"' for n in range(_FILTERS))
            with attacker.told():
                client.subscribe(text, durable=f"large-{thread}-{number}", timeout=ENDED).unsubscribe()
                attacker.did("subscriptions")
            if number >= _WINDOW:
                with attacker.told():
                    client.remove_durable(f"large-{thread}-{number - _WINDOW}", timeout=ENDED)
                    attacker.did("removals")
            if attacker.is_over.is_set():
                return

    def add() -> None:
        client = attacker.link()
        subscriptions = (DurableSubscribe(n, f"small-{n}", f"small = {n}", 0.0, 1, ENDED, None) for n in range(_SMALL))
        client.link.send(memoryview(b"".join(map(encode, subscriptions))))
        client.link.end_greeting()
        while not attacker.is_over.wait(_KEEP_ALIVE):
            client.send(Ping(0))
            attacker.did("small subscriptions", attacker.hear([*client.received()]))

    return [*(partial(churn, thread) for thread in range(_THREADS)), add]


def full_subscriptions(attacker: Attacker) -> Sequence[Work]:
    """Create durable subscriptions to everything that keep one message; those of other accounts must get the others."""
    client, victim = attacker.client(), attacker.client("victim")
    victim.subscribe("order >= 0", durable=_NAME, wait=True, timeout=ENDED).unsubscribe()
    names = [f"full-{n}" for n in range(_FULL)]
    for name in names:
        client.subscribe("true", durable=name, limits=DurableLimits(messages=1), timeout=ENDED).unsubscribe()
        attacker.did("subscriptions")
    orders = count()

    def publish() -> None:
        attacker.did("refusals", attacker.publish_stored(victim, {"order": next(orders)}, ENDED))
        attacker.is_over.wait(_PACE)

    def remove() -> None:
        victim.remove_durable(_NAME, timeout=ENDED)
        for name in names:
            client.remove_durable(name, timeout=ENDED)

    attacker.resources.callback(remove)
    return [publish]


def replays(attacker: Attacker) -> Sequence[Work]:
    """Replay a history from its beginning over many links, again and again, with constraints that take long to test."""
    texts = (f"{'ab' * (_TEXT // 2)}{n}" for n in range(_REPLAYED))
    messages = (Publish(n, {"replayed": 1, "text": text}, [], b"", True) for n, text in enumerate(texts, 1))
    publisher = attacker.link()
    publisher.link.send(memoryview(b"".join(map(encode, messages))))
    published = 0
    while published < _REPLAYED:
        published += attacker.hear([*publisher.received()])
    opened = [attacker.link() for _ in range(_LINKS)]
    frames: list[Frame] = []
    for id in range(1, MAX_CLIENT_REPLAYS + 1):
        tests = " and ".join(f'text *= "ab{id}{n}"' for n in range(_SUBSTRINGS)) if id % 2 else "exists text"
        frames.append(Replay(id, f"{HISTORY} and {tests}", 0.0, _REPLAYED, HistoryStart()))
    data = b"".join(map(encode, frames))

    def replay() -> None:
        client = opened.pop() if opened else attacker.link()
        while not attacker.is_over.is_set():
            client.link.send(memoryview(data))
            attacker.did("replays", len(frames))
            heard = 0
            while heard < _REPLAYED:
                received = attacker.hear([*client.received()])
                attacker.did("messages", received)
                heard += received

    return [replay] * _LINKS


def others(attacker: Attacker) -> Sequence[Work]:
    """Join, limit and remove the durable subscription of another account."""
    victim = attacker.client("victim")
    victim.subscribe("order >= 0", durable=_NAME, wait=True, timeout=ENDED).unsubscribe()
    for order in range(_ORDERS):
        victim.publish({"order": order}, durable=True, timeout=ENDED)
    client = attacker.client()
    acts: dict[str, Callable[[], object]] = {
        "removed": lambda: client.remove_durable(_NAME),
        "removed by its name": lambda: client.remove_durable(_NAME, account="victim"),
        "limited": lambda: client.limit_durable(_NAME, messages=1),
        "limited by its name": lambda: client.limit_durable(_NAME, messages=1, account="victim"),
        "joined": lambda: client.subscribe("", durable=_NAME),
    }

    def attempt() -> None:
        for what, act in acts.items():
            attacker.did("attempts")
            with attacker.told(f"the subscription of another account was {what}"):
                act()

    def check() -> None:
        own = attacker.client("victim").subscribe("", durable=_NAME, timeout=ENDED)
        received: set[int] = set()
        while len(received) < _ORDERS and (batch := own.take(timeout=ENDED)):
            received.update(delivery.message["order"] for delivery in batch)
            for delivery in batch:
                delivery.acknowledge()  # type: ignore[attr-defined]
        if len(received) < _ORDERS:
            attacker.harm(f"the other account received {len(received)} of {_ORDERS} messages")
        attacker.client("victim").remove_durable(_NAME)

    attacker.resources.callback(check)
    return [attempt]


def forget_home(attacker: Attacker) -> Sequence[Work]:
    """Make routers forget a home that is away, with the right to watch; messages for it must not get receipts."""
    attacker.client("victim", _HOME).subscribe("order >= 0", durable=_DISTANT, wait=True, timeout=ENDED).unsubscribe()
    victim, watcher = attacker.client("victim"), attacker.client("watcher")
    attacker.ask("kill", _HOME)
    attacker.resources.callback(attacker.ask, "start", _HOME)
    orders = count()

    def forget() -> None:
        attacker.did("attempts")
        with attacker.told("a home was forgotten"):
            watcher.forget_home(_HOME)
        with attacker.told("a message for a home that is away got a receipt, and is lost"):
            victim.publish({"order": next(orders)}, durable=True, timeout=_TIMEOUT)

    return [forget]


def forged_homes(attacker: Attacker) -> Sequence[Work]:
    """Link as a router, and flood records that say that another router has no durable subscriptions."""
    victim = attacker.client("victim", _HOME)
    victim.subscribe("order >= 0", durable=_DISTANT, wait=True, timeout=ENDED).unsubscribe()
    publisher = attacker.client("victim")
    orders = count()
    # A router that has just started waits three seconds for others that know further homes.
    publisher.publish({"order": next(orders)}, durable=True, timeout=ENDED)

    def forge() -> None:
        link, reader = _router_link(attacker), FrameReader()
        incarnation, sequence = _NEWEST, 0
        while True:
            sequence += 1  # newer than all that are known
            link.sendall(encode(HomeRecord(_HOME, incarnation, sequence, "", [], [])))
            attacker.did("forged records")
            if attacker.is_over.is_set():
                return
            end = time.monotonic() + _FORGED
            while (left := end - time.monotonic()) > 0:
                for frame in _received(link, reader, left):
                    attacker.hear([frame])
                    if isinstance(frame, Ping):
                        link.sendall(encode(Pong(frame.number)))
                    elif isinstance(frame, HomeRecord) and frame.owner == _HOME:
                        incarnation, sequence = frame.incarnation, frame.sequence

    def publish() -> None:
        attacker.did("durable messages")
        attacker.publish_stored(publisher, {"order": next(orders)}, _TIMEOUT)
        attacker.is_over.wait(_FORGED / 2)

    attacker.resources.callback(lambda: attacker.client("victim", _HOME).remove_durable(_DISTANT, timeout=ENDED))
    return [forge, publish]


def _router_link(attacker: Attacker) -> socket.socket:
    """Return a link of a router that may link."""
    certificate = attacker.target.certificate
    context = ssl.create_default_context(cafile=certificate.file)
    context.load_cert_chain(certificate.file, certificate.key)
    plain = socket.create_connection(("127.0.0.1", attacker.target.ports[ATTACKED]))
    link = context.wrap_socket(plain, server_hostname="127.0.0.1")
    attacker.flood(link)
    incarnation, session = secrets.randbits(48), secrets.randbits(32)
    hello = Hello(
        low=VERSION, high=VERSION, role="router", name=OUTSIDER, network="cbnet", incarnation=incarnation, link=session,
        scheme=Settings(OUTSIDER).routing,
    )  # fmt: skip
    link.sendall(b"".join(map(encode, (hello, RecordSummary("links", []), RecordSummary("homes", [])))))
    return link


def _received(link: socket.socket, reader: FrameReader, seconds: float) -> list[Frame]:
    """Return the frames that arrive within some seconds."""
    link.settimeout(seconds)
    try:
        data = link.recv(1 << 16)
    except TimeoutError:
        return []
    finally:
        link.settimeout(None)
    if not data:
        raise ConnectionError("closed by the router")
    return [*reader.feed(data)]
