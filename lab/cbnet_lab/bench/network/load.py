"""Load clients of a network: publishers and subscribers, distributed over routers and processes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from cbnet.network.client.load_clients import DeliveryCount, publish, receive
from cbnet.network.transport.event_loop import run
from cbnet_lab.bench.network.load_processes import LoadProcesses

if TYPE_CHECKING:
    from cbnet_lab.bench.network.traffic import ExpectedDeliveries, Traffic


def network_load(
    routers: Sequence[str],
    publish_at: Sequence[str],
    traffic: Traffic,
    expected: ExpectedDeliveries,
    payload: int,
    processes: int,
) -> LoadProcesses:
    """Return the clients of a network: subscribers round-robin over routers and processes, and publishers.

    routers, publish_at: addresses.
    """
    subscribers = [
        (number, routers[number % len(routers)], own) for number, own in enumerate(traffic.subscribers)
    ]  # fmt: skip
    shares = [subscribers[index::processes] for index in range(min(processes, len(subscribers)))]
    publisher = (_publishing, (publish_at, traffic.contents, expected.deliveries, payload))
    return LoadProcesses(publisher, [(_receiving, (share,)) for share in shares])


def _publishing(
    routers: Sequence[str],
    contents: Sequence[dict[str, Any]],
    deliveries: Sequence[int],
    payload: int,
    tally: DeliveryCount,
    next_command: Callable[[], Any],
    answer: Callable[[Any], None],
) -> None:
    run(publish(routers, contents, deliveries, payload, tally, next_command, answer))


def _receiving(
    share: Sequence[tuple[int, str, Sequence[str]]],
    process: int,
    tally: DeliveryCount,
    next_command: Callable[[], Any],
    answer: Callable[[Any], None],
) -> None:
    run(receive(share, process, tally, next_command, answer))
