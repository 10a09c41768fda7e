"""Load clients of a broker that filters by headers, equivalent to those of `network_load`, with the library pika.

A subscriber has one queue, with one binding per value that it subscribes to.

pika takes 78 µs of processor time per published message, as much as RabbitMQ with ten bindings: there it bounds the
speed (3,100 messages per second; 6,200 with frames that are encoded in advance). With a thousand bindings the broker
bounds it (597 and 528). The processor time of the broker per message does not depend on the client.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any

import pika

from cbnet.errors import CbnetError, InputError
from cbnet.language.constraint import Op
from cbnet.language.syntax.parser import parse
from cbnet.network.client.load_clients import STAMP, Deliveries, DeliveryCount, Order, Pace, PublishTiming
from cbnet_lab.bench.network.load_processes import LoadProcesses, shares

if TYPE_CHECKING:
    from cbnet_lab.bench.network.traffic import ExpectedDeliveries, Traffic

_SILENCE = 0.01  # poll interval for the next order, in seconds


def broker_load(
    port: int, traffic: Traffic, expected: ExpectedDeliveries, payload: int, processes: int
) -> LoadProcesses:
    """Return the clients of a broker: subscribers in `processes` processes, and one publisher."""
    subscribers = [(number, bindings(own)) for number, own in enumerate(traffic.subscribers)]
    exchange = f"{traffic.name}-{traffic.filters}"
    with connected(port) as connection:
        connection.channel().exchange_declare(exchange, "headers")
    publisher = (publish, (port, exchange, traffic.contents, expected.deliveries, payload))
    return LoadProcesses(publisher, [(receive, (port, exchange, share)) for share in shares(subscribers, processes)])


def bindings(predicates: Sequence[str]) -> list[dict[str, object]]:
    """Return the header bindings of equality filters; a broker cannot express other filters."""
    found: list[dict[str, object]] = []
    for text in predicates:
        for filter in parse(text).filters:
            if filter.tags or any(constraint.op is not Op.EQ for constraint in filter.constraints):
                raise InputError(f"a headers exchange cannot express {filter}", hint="use equality constraints only")
            found.append({constraint.name: constraint.value for constraint in filter.constraints})
    return found


def headers(content: Mapping[str, object]) -> dict[str, object]:
    """Return the headers of a message; pika has decimal numbers, but no floats."""
    return {name: Decimal(repr(value)) if isinstance(value, float) else value for name, value in content.items()}


@contextmanager
def connected(port: int) -> Iterator[Any]:
    """Connect to a broker on this machine for the time of a block."""
    try:
        with pika.BlockingConnection(pika.ConnectionParameters("127.0.0.1", port, heartbeat=0)) as connection:
            yield connection
    except pika.exceptions.AMQPError as error:
        raise CbnetError(f"the broker refused: {error!r}") from None


def publish(
    port: int,
    exchange: str,
    contents: Sequence[Mapping[str, object]],
    deliveries: Sequence[int],
    payload: int,
    tally: DeliveryCount,
    next_command: Callable[[], Any],
    answer: Callable[[Any], None],
) -> None:
    """Carry out orders until the end; messages are transient, and their contents are headers."""
    properties = [pika.BasicProperties(headers=headers(content), delivery_mode=1) for content in contents]
    filling = bytes(max(0, payload - STAMP.size))
    with connected(port) as connection:
        channel = connection.channel()
        answer("ready")
        while (order := next_command()) != "end":
            if not isinstance(order, Order):
                time.sleep(_SILENCE)
                continue
            pace, began = Pace(order, deliveries, tally), time.monotonic_ns()
            for number in range(order.first, order.first + order.count):
                while (seconds := pace.wait(number)) > 0:
                    time.sleep(seconds)
                body = STAMP.pack(number, time.monotonic_ns()) + filling
                channel.basic_publish(exchange, "", body, properties[number % len(properties)])
            answer(PublishTiming(began, time.monotonic_ns(), pace.late))


def receive(
    port: int,
    exchange: str,
    share: Sequence[tuple[int, Sequence[Mapping[str, object]]]],
    process: int,
    tally: DeliveryCount,
    next_command: Callable[[], Any],
    answer: Callable[[Any], None],
) -> None:
    """Consume the queues of subscribers, without acknowledgements, until the end."""
    received = Deliveries()

    def note(subscriber: int, _channel: Any, _method: Any, _properties: Any, body: bytes) -> None:
        received.note(subscriber, [body], time.monotonic_ns())
        tally.add(process, 1)

    with connected(port) as connection:
        channel = connection.channel()
        for number, own in share:
            queue = f"{exchange}-{number}"
            channel.queue_declare(queue)
            for each in own:
                channel.queue_bind(queue, exchange, arguments={"x-match": "all", **each})
            channel.basic_consume(queue, partial(note, number), auto_ack=True)
        answer("ready")
        while (command := next_command()) != "end":
            if command is not None:
                answer(received)
                received = Deliveries()
            connection.process_data_events(_SILENCE)
