"""Three routers that are restarted in turn while messages are published durably.

    python -m tests.support.restarted_routers --acknowledged 100000 --restarts 24

Each router is stopped and started again, then killed and started again, and so on. The restarts are spread over the
messages, not over time, so that their number does not depend on the speed of the machine. In the end the durable
subscription must deliver every acknowledged message, once and in order.
"""

import argparse
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count, cycle, islice, product
from pathlib import Path

from cbnet import connect
from cbnet.network import NotStored, ProcessNetwork, Settings

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.waiting import wait_until

BATCH = 500
TIMEOUT = 60.0  # seconds
SILENCE = 10.0  # seconds without a message after which those that are missing count as lost
NAMES = ["a", "b", "c"]


@dataclass
class RestartOutcome:
    """The numbers of the messages."""

    stored: list[int] = field(default_factory=list)  # acknowledged
    failed: list[int] = field(default_factory=list)  # not acknowledged: they may be delivered or not
    received: list[int] = field(default_factory=list)
    restarts: int = 0

    @property
    def lost(self):
        """Acknowledged messages that were not delivered."""
        return {*self.stored}.difference(self.received)


def restart_under_load(folder, acknowledged, restarts):
    """Publish until so many messages are acknowledged, restart routers meanwhile, and receive everything."""
    outcome = RestartOutcome()
    settings = [Settings(name, heartbeat=0.5, dead=2.5, retry=0.5) for name in NAMES]
    with ProcessNetwork(settings, [("a", "b"), ("b", "c")], journals=folder) as network:
        network.wait()
        with connect(str(network.addresses["c"])) as consumer:
            consumer.subscribe("invoice >= 0", durable="billing", wait=True)
        is_last_batch = threading.Event()
        with ThreadPoolExecutor() as pool:
            load = pool.submit(_publish, str(network.addresses["a"]), acknowledged, is_last_batch, outcome)
            try:
                for name, end in islice(cycle(product("bca", (network.stop, network.kill))), restarts):
                    due = acknowledged * (outcome.restarts + 1) // (restarts + 1)
                    wait_until(lambda due=due: len(outcome.stored) >= due or load.done(), timeout=TIMEOUT)
                    end(name)
                    network.start(name)
                    outcome.restarts += 1
            finally:
                is_last_batch.set()
            load.result()
        _receive(str(network.addresses["c"]), outcome)
    return outcome


def _publish(address, acknowledged, is_last_batch, outcome):
    with connect(address, timeout=TIMEOUT) as client:
        numbers = count()
        while not is_last_batch.is_set() or len(outcome.stored) < acknowledged:
            batch = [next(numbers) for _ in range(BATCH)]
            try:
                client.publish_durably([{"invoice": n} for n in batch], timeout=TIMEOUT)
                outcome.stored += batch
            except NotStored as error:
                for number, receipt in zip(batch, error.receipts, strict=True):
                    (outcome.stored if receipt.is_stored else outcome.failed).append(number)


def _receive(address, outcome):
    awaited = {*outcome.stored}
    with connect(address, timeout=TIMEOUT) as consumer:
        subscription = consumer.subscribe("", durable="billing", ack_wait=600)
        while batch := subscription.take(timeout=SILENCE if awaited else 1.0):
            numbers = [delivery.message["invoice"] for delivery in batch]
            outcome.received += numbers
            awaited.difference_update(numbers)
            subscription.acknowledge_up_to(batch[-1].offset)


def main():
    parser = argparse.ArgumentParser(description="Restart routers under load, and compare what was acknowledged.")
    parser.add_argument("--acknowledged", type=int, default=100_000)
    parser.add_argument("--restarts", type=int, default=24)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        outcome = restart_under_load(Path(folder), options.acknowledged, options.restarts)
    is_ordered = outcome.received == sorted({*outcome.received})
    print(f"{len(outcome.stored):,} acknowledged, {outcome.restarts} restarts, {len(outcome.received):,} received")
    print(f"{len(outcome.lost):,} lost; once and in order: {is_ordered}")
    return bool(outcome.lost) or not is_ordered


if __name__ == "__main__":
    raise SystemExit(main())
