"""A home group of three routers with a PostgreSQL database, whose holders are killed for good under load.

    python -m lab.tests.support.killed_homes --acknowledged 100000

Twice the router that holds the home is killed, or stopped for ever (`--fault stop`), as a machine that is gone: nobody
learns of it but by its silence. Or the database is killed, and started again after some seconds (`--fault database`);
or it is killed for good, its synchronous replica takes its place, and then the holder is killed (`--fault failover`).
The faults are spread over the messages. In the end the durable subscription must deliver every acknowledged message, in
order; what was not acknowledged in time by the subscriber may come twice.
"""

import argparse
import signal
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count, pairwise
from pathlib import Path

from cbnet import CbnetError, connect
from cbnet.network import NotStored, ProcessNetwork, Settings
from cbnet_lab.bench.postgres_server import PostgresServer, PostgresStandby

sys.path.insert(0, str(Path(__file__).parents[3] / "tests"))

from support.waiting import wait_until

BATCH = 100
KILLS = 2
TIMEOUT = 60.0  # seconds
LIMIT = 600.0  # seconds for all messages to be published
AWAY = 4.0  # seconds without the database
FAULTS = ("kill", "stop", "database", "failover")
NAMES = ["a", "b", "c"]
LINKS = [("a", "b"), ("b", "c"), ("c", "a")]


@dataclass
class TakeoverOutcome:
    """The numbers of the messages, and the times of the answers."""

    stored: list[int] = field(default_factory=list)  # acknowledged
    failed: list[int] = field(default_factory=list)  # not acknowledged: they may be delivered or not
    received: list[int] = field(default_factory=list)  # without repetitions
    repeated: int = 0
    killed: list[str] = field(default_factory=list)  # the holders of the home at the faults
    answers: list[float] = field(default_factory=list)  # times of the receipts
    arrivals: list[float] = field(default_factory=list)  # times of deliveries

    @property
    def lost(self):
        """Acknowledged messages that were not delivered."""
        return {*self.stored}.difference(self.received)

    @property
    def is_ordered(self):
        """Whether the first deliveries are in the order of publishing."""
        return self.received == sorted(self.received)


def longest_pause(times):
    """Return the longest time between two of these, in seconds."""
    return max((later - earlier for earlier, later in pairwise(times)), default=0.0)


def kill_homes(acknowledged, fault="kill"):
    """Publish until so many messages are acknowledged, kill the holders meanwhile, and receive everything."""
    outcome = TakeoverOutcome()
    settings = [Settings(name, home="g", heartbeat=0.5, dead=2.5, retry=0.5) for name in NAMES]
    with (
        PostgresServer() as server,
        PostgresStandby(server) as replica,
        ProcessNetwork(settings, LINKS, journals=server.uri_with(replica)) as network,
    ):
        network.wait()
        addresses = [str(network.addresses[name]) for name in NAMES]
        is_over = threading.Event()
        with connect(addresses, timeout=TIMEOUT) as consumer, ThreadPoolExecutor() as pool:
            subscription = consumer.subscribe("invoice >= 0", durable="billing", wait=True, timeout=TIMEOUT)
            load = pool.submit(_publish, addresses, acknowledged, outcome)
            receiving = pool.submit(_receive, subscription, is_over, outcome)
            try:
                for kill in range(KILLS):
                    due = acknowledged * (kill + 1) // (KILLS + 1)
                    wait_until(lambda due=due: len(outcome.stored) >= due or load.done(), timeout=10 * TIMEOUT)
                    holder = _holder(network, outcome.killed if fault != "database" else [])
                    outcome.killed.append(holder)
                    if fault == "stop":
                        network.signal(holder, signal.SIGSTOP)
                    elif fault == "kill" or (fault == "failover" and kill):
                        network.kill(holder)
                    elif fault == "failover":
                        server.kill()
                        replica.promote()
                        outcome.killed.pop()
                    else:
                        server.kill()
                        time.sleep(AWAY)
                        server.start()
                load.result()
                wait_until(lambda: not outcome.lost or receiving.done(), timeout=TIMEOUT)
            finally:
                is_over.set()
            receiving.result()
    return outcome


def _holder(network, dead):
    """Return the router that has the subscription, as long as one has it."""
    end = time.monotonic() + TIMEOUT
    while time.monotonic() < end:
        for name in [name for name in NAMES if name not in dead]:
            with connect(str(network.addresses[name]), timeout=TIMEOUT) as client:
                if client.durable_subscriptions().subscriptions:
                    return name
        time.sleep(0.1)
    raise AssertionError("no router holds the home")


def _publish(addresses, acknowledged, outcome):
    end = time.monotonic() + LIMIT
    with connect(addresses, timeout=TIMEOUT) as client:
        numbers = count()
        while len(outcome.stored) < acknowledged:
            assert time.monotonic() < end, f"only {len(outcome.stored):,} messages are acknowledged"
            batch = [next(numbers) for _ in range(BATCH)]
            try:
                client.publish_durably([{"invoice": n} for n in batch], timeout=TIMEOUT)
                outcome.stored += batch
            except NotStored as error:
                for number, receipt in zip(batch, error.receipts, strict=True):
                    (outcome.stored if receipt.is_stored else outcome.failed).append(number)
            except CbnetError:
                outcome.failed += batch
            outcome.answers.append(time.monotonic())


def _receive(subscription, is_over, outcome):
    known = set()
    while not is_over.is_set():
        for delivery in subscription.take(timeout=0.2):
            number = delivery.message["invoice"]
            outcome.arrivals.append(time.monotonic())
            if number in known:
                outcome.repeated += 1
            else:
                known.add(number)
                outcome.received.append(number)
            delivery.acknowledge()


def main():
    parser = argparse.ArgumentParser(description="Kill the holders of a home under load, and compare what was kept.")
    parser.add_argument("--acknowledged", type=int, default=100_000)
    parser.add_argument("--fault", choices=FAULTS, default="kill")
    options = parser.parse_args()
    began = time.monotonic()
    outcome = kill_homes(options.acknowledged, options.fault)
    print(f"{len(outcome.stored):,} acknowledged, {len(outcome.failed):,} not, in {time.monotonic() - began:.1f} s")
    print(
        f"{len(outcome.received):,} received, {outcome.repeated:,} again; {options.fault} of {', '.join(outcome.killed)}"
    )
    print(f"{len(outcome.lost):,} lost; in order: {outcome.is_ordered}")
    print(
        f"longest pause: {longest_pause(outcome.answers):.2f} s between receipts, "
        f"{longest_pause(outcome.arrivals):.2f} s between deliveries"
    )
    return bool(outcome.lost) or not outcome.is_ordered


if __name__ == "__main__":
    raise SystemExit(main())
