"""Load clients of a broker that filters by headers, equivalent to those of `network_load`.

A subscriber has one queue, with one binding per value that it subscribes to.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from selectors import EVENT_READ, DefaultSelector
from typing import TYPE_CHECKING, Any

from cbnet.errors import InputError
from cbnet.language.constraint import Op
from cbnet.language.syntax.parser import parse
from cbnet.network.client.load_clients import STAMP, Deliveries, DeliveryCount, Order, Pace, PublishTiming
from cbnet_lab.bench.network.amqp import AmqpClient, publication
from cbnet_lab.bench.network.load_processes import LoadProcesses

if TYPE_CHECKING:
    from cbnet_lab.bench.network.traffic import ExpectedDeliveries, Traffic

_END = b"\xce"
_WRITE_BYTES = 1 << 16  # per write
_SILENCE = 0.01  # poll interval for the next order, in seconds


def broker_load(
    port: int, traffic: Traffic, expected: ExpectedDeliveries, payload: int, processes: int
) -> LoadProcesses:
    """Return the clients of a broker: subscribers in `processes` processes, and one publisher."""
    subscribers = [(number, bindings(own)) for number, own in enumerate(traffic.subscribers)]
    shares = [subscribers[index::processes] for index in range(min(processes, len(subscribers)))]
    exchange = f"{traffic.name}-{traffic.filters}"
    client = AmqpClient("127.0.0.1", port)
    client.declare_exchange(exchange)
    client.close()
    publisher = (_publishing, (port, exchange, traffic.contents, expected.deliveries, payload))
    return LoadProcesses(publisher, [(_receiving, (port, exchange, share)) for share in shares])


def bindings(predicates: Sequence[str]) -> list[dict[str, object]]:
    """Return the header bindings of equality filters; a broker cannot express other filters."""
    found: list[dict[str, object]] = []
    for text in predicates:
        for filter in parse(text).filters:
            if filter.tags or any(constraint.op is not Op.EQ for constraint in filter.constraints):
                raise InputError(f"a headers exchange cannot express {filter}", hint="use equality constraints only")
            found.append({constraint.name: constraint.value for constraint in filter.constraints})
    return found


def _publishing(
    port: int,
    exchange: str,
    contents: Sequence[Mapping[str, object]],
    deliveries: Sequence[int],
    payload: int,
    tally: DeliveryCount,
    next_command: Callable[[], Any],
    answer: Callable[[Any], None],
) -> None:
    client = AmqpClient("127.0.0.1", port)
    size = max(STAMP.size, payload)
    written = [publication(exchange, content, size) for content in contents]
    answer("ready")
    while isinstance(order := _next(next_command), Order):
        answer(_carry_out(order, client, written, size, Pace(order, deliveries, tally)))
    client.close()


def _carry_out(order: Order, client: AmqpClient, written: Sequence[bytes], size: int, pace: Pace) -> PublishTiming:
    end = bytes(size - STAMP.size) + _END
    waiting = bytearray()
    began = time.monotonic_ns()
    for number in range(order.first, order.first + order.count):
        while (seconds := pace.wait(number)) > 0:
            client.socket.sendall(waiting)
            waiting.clear()
            time.sleep(seconds)
        waiting += written[number % len(written)]
        waiting += STAMP.pack(number, time.monotonic_ns())
        waiting += end
        if len(waiting) > _WRITE_BYTES:
            client.socket.sendall(waiting)
            waiting.clear()
    client.socket.sendall(waiting)
    return PublishTiming(began, time.monotonic_ns(), pace.late)


def _receiving(
    port: int,
    exchange: str,
    share: Sequence[tuple[int, Sequence[Mapping[str, object]]]],
    process: int,
    tally: DeliveryCount,
    next_command: Callable[[], Any],
    answer: Callable[[Any], None],
) -> None:
    received = Deliveries()
    selector = DefaultSelector()
    for number, own in share:
        client = AmqpClient("127.0.0.1", port)
        queue = f"{exchange}-{number}"
        client.declare_queue(queue)
        client.bind(queue, exchange, own)
        client.consume(queue)
        selector.register(client.socket, EVENT_READ, (number, client))
    answer("ready")
    while True:
        for key, _ in selector.select(_SILENCE):
            number, client = key.data
            bodies = client.bodies()
            now = time.monotonic_ns()
            received.note(number, bodies, now)
            tally.add(process, len(bodies))
        command = next_command()
        if command == "end":
            return
        if command is not None:
            answer(received)
            received = Deliveries()


def _next(next_command: Callable[[], Any]) -> Any:
    while (command := next_command()) is None:
        time.sleep(_SILENCE)
    return command
