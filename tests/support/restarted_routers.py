"""Three routers that are restarted in turn while messages are published durably.

    python -m tests.support.restarted_routers --acknowledged 100000

Each router is stopped and started again, then killed and started again, and so on, until so many messages are
acknowledged. Then the durable subscription must deliver all of them, once and in order.
"""

import argparse
import itertools
import tempfile
import threading
from dataclasses import dataclass, field
from pathlib import Path

from cbnet import connect
from cbnet.network import NotStored, ProcessNetwork, Settings

BATCH = 500
PAUSE = 3.0  # seconds between two restarts
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


def restart_under_load(folder, acknowledged):
    """Publish until so many messages are acknowledged, restart routers meanwhile, and receive everything."""
    outcome = RestartOutcome()
    settings = [Settings(name, heartbeat=0.5, dead=2.5, retry=0.5) for name in NAMES]
    with ProcessNetwork(settings, [("a", "b"), ("b", "c")], journals=folder) as network:
        network.wait()
        with connect(str(network.addresses["c"])) as consumer:
            consumer.subscribe("invoice >= 0", durable="billing", wait=True)
        load = threading.Thread(target=_publish, args=(str(network.addresses["a"]), acknowledged, outcome))
        load.start()
        for name, end in itertools.cycle(itertools.product("bca", (network.stop, network.kill))):
            load.join(PAUSE)
            if not load.is_alive():
                break
            end(name)
            network.start(name)
            outcome.restarts += 1
        _receive(str(network.addresses["c"]), outcome)
    return outcome


def _publish(address, acknowledged, outcome):
    with connect(address, timeout=TIMEOUT) as client:
        numbers = itertools.count()
        while len(outcome.stored) < acknowledged:
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
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        outcome = restart_under_load(Path(folder), options.acknowledged)
    is_ordered = outcome.received == sorted({*outcome.received})
    print(f"{len(outcome.stored):,} acknowledged, {outcome.restarts} restarts, {len(outcome.received):,} received")
    print(f"{len(outcome.lost):,} lost; once and in order: {is_ordered}")
    return bool(outcome.lost) or not is_ordered


if __name__ == "__main__":
    raise SystemExit(main())
