"""Attacks by frames of clients: expensive matching, floods, slow readers, and guesses of tokens."""

from __future__ import annotations

import secrets
import socket
import time
from collections.abc import Sequence
from functools import partial
from typing import Final

import numpy as np

from cbnet.errors import CbnetError
from cbnet.network.protocol.frames import DurableSubscribe, Frame, Ping, Publish, Subscribe, Unsubscribe
from cbnet.network.protocol.wire import encode
from cbnet_lab.bench.router.router_client import RouterClient
from cbnet_lab.faults.attacks.attacker import ENDED, Attacker, Work

_CONDITIONS, _VALUES = 58, 1_000  # as many as the default rights allow
_QUANTIFIERS, _ITEMS = 235, 4_000  # as many as the default rights allow
_PATTERNS, _TEXT = 120, 4_000  # subscriptions, and characters: within the default rights
_LONG = 900  # filters of the longest predicates
_WIDE, _CONJUNCTION = 160, 12  # filters of one with long filters, and conditions of each
_LARGE, _CONSTANT = 40, 65_000  # subscriptions of a link, and characters
_EMPTY = 10_000  # subscriptions of a link
_PUBLISHERS: Final = 8
_LINKS: Final = 16  # as many as the default rights allow
_FILTERS = 100  # of a subscription in a flood
_SLOW: Final = 15  # links that do not read
_SMALL: Final = 4_096  # receive buffer of a slow reader, in bytes
_PAYLOAD = bytes(10_000)
_KEEP_ALIVE = 0.5  # seconds
_BATCH = 16  # frames in a write
_BOGUS = 43  # characters of the secret in a token
_FEWEST_GUESSES = 20  # of each kind, to compare their times


def conditions(attacker: Attacker) -> Sequence[Work]:
    """Subscribe to conditions over five attributes, and publish messages with many values of each."""
    attacker.link().subscribe([f"p + q + r + s + {n} < 0" for n in range(_CONDITIONS)])
    attacker.did("subscriptions", _CONDITIONS)
    message = encode(Publish(1, {name: list(range(_VALUES)) for name in "pqrs"}, [], b"", True))
    return link_floods(attacker, _PUBLISHERS, message, 1, "messages")


def quantifiers(attacker: Attacker) -> Sequence[Work]:
    """Subscribe to different quantifiers over one array, and publish long arrays."""
    attacker.link().subscribe([f"count(p (@ > {n} and @ != 2)) = {_ITEMS + n}" for n in range(_QUANTIFIERS)])
    attacker.did("subscriptions", _QUANTIFIERS)
    message = encode(Publish(1, {"p": list(range(_ITEMS))}, [], b"", True))
    short = encode(Publish(1, {"p": list(range(_QUANTIFIERS))}, [], b"", True))
    return link_floods(attacker, _PUBLISHERS, message + short, 2, "messages")


def regexes(attacker: Attacker) -> Sequence[Work]:
    """Subscribe to expensive regular expressions, and publish long texts, also right after subscribing."""
    patterns = [f'x =~ "(?:a?){{150}}a{{150}}[xy]{n}"' for n in range(_PATTERNS)]  # over 400 steps for a character
    attacker.link().subscribe(patterns, _PATTERNS)
    attacker.did("subscriptions", _PATTERNS)
    message = encode(Publish(1, {"x": "a" * _TEXT}, [], b"", True))
    fresh = " or ".join(f"{each} and y = 1" for each in patterns[: _PATTERNS // 4])
    recent = encode(Publish(2, {"x": "a" * _TEXT, "y": 1}, [], b"", True))
    newest = b"".join((encode(Subscribe(2, fresh, 0)), recent, encode(Unsubscribe(2))))
    publishers = link_floods(attacker, _PUBLISHERS, message, 1, "messages")
    return [*publishers, *link_floods(attacker, 1, newest, 1, "messages")]


def messages(attacker: Attacker) -> Sequence[Work]:
    """Publish small messages over as many links as an account may have."""
    frame = encode(Publish(0, {"airline": "YY", "price": 1}, [], b"", False))
    last = encode(Publish(1, {"airline": "YY", "price": 1}, [], b"", True))
    return link_floods(attacker, _LINKS, frame * (_BATCH - 1) + last, _BATCH, "messages")


def subscriptions(attacker: Attacker) -> Sequence[Work]:
    """Subscribe to overlapping filters, and unsubscribe, over many links."""
    names = ("x", "z")
    predicates = [" or ".join(f"{name} != {n} and y != {n}" for n in range(_FILTERS)) for name in names]
    frames: list[Frame] = [Subscribe(id, text, 0) for id, text in enumerate(predicates, 1)]
    frames += [Unsubscribe(id) for id in range(1, len(names) + 1)]
    data = b"".join(map(encode, frames))
    return link_floods(attacker, _PUBLISHERS, data, len(names), "subscriptions")


def predicates(attacker: Attacker) -> Sequence[Work]:
    """Subscribe to the longest predicates, others over each link, to some beyond the rights, and unsubscribe."""
    return [
        work for link in range(_LINKS) for work in link_floods(attacker, 1, _long_predicates(link), 4, "subscriptions")
    ]


def _long_predicates(link: int) -> bytes:
    """Return frames with predicates that no other link has: what routers keep of decoded filters is of no use."""
    short = " or ".join(f'a{link}_{n} like "%a{n}_b%c" and b not in (1, 2, {n})' for n in range(_LONG))
    wide = (" and ".join(f'a{n}_{k} like "%a{link}_b%c{n}%"' for k in range(_CONJUNCTION)) for n in range(_WIDE))
    long = " or ".join(wide)
    refused = " or ".join(f'a{n} + b > {link} and lower(c) = "x{n}"' for n in range(_LONG))
    frames: list[Frame] = [
        Subscribe(1, short, 0), Unsubscribe(1), Subscribe(2, long, 0), Unsubscribe(2), Subscribe(3, refused, 0),
        DurableSubscribe(4, "long", refused, 0.0, 1, ENDED, None),
    ]  # fmt: skip
    return b"".join(map(encode, frames))


def empty_subscriptions(attacker: Attacker) -> Sequence[Work]:
    """Subscribe as often as possible to nothing, over many links."""
    frames = (encode(Subscribe(id, "false", 0)) for id in range(1, _EMPTY))
    return link_floods(attacker, _LINKS, b"".join(frames), _EMPTY, "subscriptions")


def large_filters(attacker: Attacker) -> Sequence[Work]:
    """Subscribe to the longest constants, over many links."""
    frames = (encode(Subscribe(id, f'x = "{id:06}{"x" * _CONSTANT}"', 0)) for id in range(1, _LARGE + 1))
    return link_floods(attacker, _LINKS, b"".join(frames), _LARGE, "subscriptions")


def link_floods(attacker: Attacker, links: int, data: bytes, count: int, what: str, pause: float = 0.0) -> list[Work]:
    """Return works that send the same frames over many links; count: of what they do. pause: between two sends."""
    opened = [attacker.link() for _ in range(links)]

    def flood() -> None:
        client = opened.pop() if opened else attacker.link()
        client.link.end_greeting()
        while True:
            client.link.send(memoryview(data))
            attacker.did(what, count)
            attacker.did("answers", attacker.hear([*client.received()]))
            if attacker.is_over.wait(pause):
                return

    return [flood] * links


def slow_readers(attacker: Attacker) -> Sequence[Work]:
    """Subscribe over many links, read nothing, and publish large messages."""
    readers = [attacker.link() for _ in range(_SLOW)]
    for reader in readers:
        reader.subscribe(['airline = "YY"'])
        reader.link.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _SMALL)
        attacker.did("links that do not read")
    frame = encode(Publish(0, {"airline": "YY"}, [], _PAYLOAD, False))
    return [*link_floods(attacker, 1, frame * _BATCH, _BATCH, "messages"), partial(_keep_alive, attacker, readers)]


def _keep_alive(attacker: Attacker, readers: list[RouterClient]) -> None:
    """Send pings, so that no reader is taken for dead."""
    for reader in [*readers]:
        try:
            reader.send(Ping(0))
        except OSError as error:
            attacker.tell(f"a link that does not read was closed: {type(error).__name__}")
            readers.remove(reader)
    attacker.is_over.wait(_KEEP_ALIVE)


def tokens(attacker: Attacker) -> Sequence[Work]:
    """Guess tokens of an account that exists and of one that does not, and compare the answers and their times."""
    times: dict[str, list[float]] = {"prober": [], "nobody": []}
    reasons: dict[str, set[str]] = {name: set() for name in times}

    def guess() -> None:
        for name in times:
            access = attacker.target.access(attacker.account)._replace(token=f"{name}.{secrets.token_hex(_BOGUS // 2)}")
            began = time.perf_counter()
            try:
                access.connect("attacker")
            except CbnetError as error:
                reasons[name].add(attacker.tell(str(error)))
            else:
                attacker.harm(f"a guessed token of {name} was accepted")
            times[name].append(time.perf_counter() - began)
            attacker.did("guesses")

    def compare() -> None:
        if reasons["prober"] != reasons["nobody"]:
            attacker.harm(f"the answer tells whether an account exists: {reasons}")
        quarters = np.percentile([*times["prober"], *times["nobody"]], (25, 75))
        medians = [float(np.median(each)) for each in times.values()]
        if len(times["nobody"]) >= _FEWEST_GUESSES and abs(medians[0] - medians[1]) > (quarters[1] - quarters[0]) / 2:
            attacker.outcome.timed_harm.append(
                f"the time of the answer tells whether an account exists: {1e3 * medians[0]:.2f} and "
                f"{1e3 * medians[1]:.2f} ms"
            )

    attacker.resources.callback(compare)
    return [guess]
