"""Gateways as processes: two networks over TCP with two gateways side by side."""

import json
import signal
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager

import pytest

from cbnet.network import connect

PATIENCE = 40.0  # seconds


@contextmanager
def running(*arguments):
    """Run a command as a process of its own, give it with the first lines that it says, and end it."""
    command = [sys.executable, "-m", "cbnet", *map(str, arguments), "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.fixture
def domains(tmp_path):
    """The routers n of the network north and s of south, and the gateways g and h between them."""
    with ExitStack() as stack:
        at = {}
        for name, network, scheme in (("n", "north", "psf"), ("s", "south", "multitree")):
            set_network = ("--set", f"network={network}")
            router = ("router", "--name", name, "--listen", "127.0.0.1:0", "--scheme", scheme, *set_network)
            process = stack.enter_context(running(*router))
            at[name] = json.loads(process.stdout.readline())["address"]
        gateways = {}
        for name in "gh":
            file = tmp_path / f"{name}.toml"
            file.write_text(
                f'name = "{name}"\noutside = "names"\n'
                f'[[domain]]\nnetwork = "north"\nlisten = "127.0.0.1:0"\nneighbours = {{ n = "{at["n"]}" }}\n'
                f'[[domain]]\nnetwork = "south"\nscheme = "multitree"\nlisten = "127.0.0.1:0"\n'
                f'neighbours = {{ s = "{at["s"]}" }}\n'
            )
            gateways[name] = stack.enter_context(running("gateway", file))
            told = [json.loads(gateways[name].stdout.readline()) for _ in range(2)]
            assert [(row["gateway"], row["network"]) for row in told] == [(name, "north"), (name, "south")]
        yield at, gateways


def wait_until_through(client, subscription, x):
    """Publish until a message has come through."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        client.publish({"x": x})
        delivery = subscription.get(timeout=0.2)
        if delivery is not None and delivery.message["x"] == x:
            return
    raise AssertionError("nothing comes through")


def numbers(subscription, count):
    """Return the numbers of the next messages that have one."""
    found = []
    while len(found) < count:
        delivery = subscription.get(timeout=PATIENCE)
        assert delivery is not None
        assert delivery.source == "n"
        found += [delivery.message["number"]] if "number" in delivery.message else []
    return found


def test_messages_cross_by_one_gateway_and_another_takes_over(domains):
    at, gateways = domains
    with connect(at["n"], network="north") as north, connect(at["s"], network="south") as south:
        wanted = south.subscribe("x > 0")
        wait_until_through(north, wanted, 1)
        gateways["g"].send_signal(signal.SIGKILL)
        wait_until_through(north, wanted, 2)
        for number in range(50):
            north.publish({"x": 3, "number": number})
        assert sorted(numbers(wanted, 50)) == list(range(50))
        assert wanted.get(timeout=0.5) is None  # each came once
        north.publish({"x": -1})
        assert wanted.get(timeout=0.5) is None
        gateways["h"].send_signal(signal.SIGTERM)
        assert gateways["h"].wait(timeout=PATIENCE) == 0
