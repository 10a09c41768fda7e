"""Three routers that are restarted in turn under load: none of 100,000 acknowledged messages is lost."""

import itertools
import threading

from cbnet import connect
from cbnet.network import NotStored, ProcessNetwork, Settings

ACKNOWLEDGED = 100_000
BATCH = 500
PAUSE = 3.0  # seconds between two restarts
TIMEOUT = 60.0  # seconds


def publish(address, stored, failed):
    """Publish until enough are acknowledged."""
    with connect(address, timeout=TIMEOUT) as client:
        numbers = itertools.count()
        while len(stored) < ACKNOWLEDGED:
            batch = [next(numbers) for _ in range(BATCH)]
            try:
                client.publish_durably([{"invoice": n} for n in batch], timeout=TIMEOUT)
                stored += batch
            except NotStored as error:
                for number, receipt in zip(batch, error.receipts, strict=True):
                    (stored if receipt.is_stored else failed).append(number)


def test_no_acknowledged_message_is_lost_while_all_routers_are_restarted_under_load(tmp_path):
    names = ["a", "b", "c"]
    settings = [Settings(name, heartbeat=0.5, dead=2.5, retry=0.5) for name in names]
    with ProcessNetwork(settings, [("a", "b"), ("b", "c")], journals=tmp_path) as network:
        network.wait()
        with connect(str(network.addresses["c"])) as consumer:
            consumer.subscribe("invoice >= 0", durable="billing", wait=True)
        stored, failed, restarts = [], [], 0
        load = threading.Thread(target=publish, args=(str(network.addresses["a"]), stored, failed))
        load.start()
        for name, end in itertools.cycle(itertools.product("bca", (network.stop, network.kill))):
            load.join(PAUSE)
            if not load.is_alive():
                break
            end(name)
            network.start(name)
            restarts += 1
        received = []
        with connect(str(network.addresses["c"]), timeout=TIMEOUT) as consumer:
            subscription = consumer.subscribe("", durable="billing", ack_wait=600)
            while batch := subscription.take(timeout=10):
                received += [delivery.message["invoice"] for delivery in batch]
                subscription.acknowledge_up_to(batch[-1].offset)
    assert len(stored) >= ACKNOWLEDGED
    assert restarts >= 3
    assert not set(stored) - set(received)
    assert received == sorted(set(received))  # once, in order
    assert not set(received) - set(stored) - set(failed)
