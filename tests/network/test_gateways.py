"""Gateway processes: two networks over TCP with two gateways between them."""

import json
import signal
import subprocess
import time
from contextlib import ExitStack

import pytest
from support.router_processes import running_command

from cbnet.network import Item, connect

TIMEOUT = 120.0  # seconds


@pytest.fixture
def domains(tmp_path):
    """The router n of the network north, s of south, and the gateways g and h between them."""
    with ExitStack() as stack:
        addresses = {}
        for name, network, scheme in (("n", "north", "pif"), ("s", "south", "multitree")):
            set_network = ("--set", f"network={network}")
            router = ("router", "--name", name, "--listen", "127.0.0.1:0", "--scheme", scheme, *set_network)
            process = stack.enter_context(running_command(*router, "--json", stderr=subprocess.DEVNULL))
            addresses[name] = json.loads(process.stdout.readline())["address"]
        gateways = {}
        for name in "gh":
            file = tmp_path / f"{name}.toml"
            file.write_text(
                f'name = "{name}"\noutside = "names"\n'
                f'[[domain]]\nnetwork = "north"\nscheme = "pif"\nlisten = "127.0.0.1:0"\n'
                f'neighbours = {{ n = "{addresses["n"]}" }}\n'
                f'[[domain]]\nnetwork = "south"\nscheme = "multitree"\nlisten = "127.0.0.1:0"\n'
                f'neighbours = {{ s = "{addresses["s"]}" }}\n'
            )
            gateways[name] = stack.enter_context(running_command("gateway", file, "--json", stderr=subprocess.DEVNULL))
            started = [json.loads(gateways[name].stdout.readline()) for _ in range(2)]
            assert [(row["gateway"], row["network"]) for row in started] == [(name, "north"), (name, "south")]
        yield addresses, gateways


def publish_until_received(client, subscription, x):
    """Publish a message repeatedly until it arrives."""
    end = time.monotonic() + TIMEOUT
    while time.monotonic() < end:
        client.publish({"x": x})
        delivery = subscription.get(timeout=0.2)
        if delivery is not None and delivery.message["x"] == x:
            return
    raise AssertionError("no message arrives")


def numbers(subscription, count):
    """Return the numbers of the next numbered messages."""
    found = []
    while len(found) < count:
        delivery = subscription.get(timeout=TIMEOUT)
        assert delivery is not None
        assert delivery.source == "n"
        found += [delivery.message["number"]] if "number" in delivery.message else []
    return found


def test_second_gateway_takes_over_when_the_first_is_killed(domains):
    addresses, gateways = domains
    with connect(addresses["n"], network="north") as north, connect(addresses["s"], network="south") as south:
        subscription = south.subscribe("x > 0")
        publish_until_received(north, subscription, 1)
        gateways["g"].send_signal(signal.SIGKILL)
        publish_until_received(north, subscription, 2)
        for number in range(50):
            north.publish({"x": 3, "number": number})
        assert sorted(numbers(subscription, 50)) == list(range(50))
        assert subscription.get(timeout=0.5) is None  # no duplicates
        north.publish({"x": -1})
        assert subscription.get(timeout=0.5) is None
        gateways["h"].send_signal(signal.SIGTERM)
        assert gateways["h"].wait(timeout=TIMEOUT) == 0


def test_wait_requests_and_traces_pass_gateways(domains):
    addresses, _ = domains
    with connect(addresses["n"], network="north") as north, connect(addresses["s"], network="south") as south:
        publish_until_received(north, south.subscribe("x > 0"), 1)  # a gateway joins the networks
        subscription = south.subscribe("y > 0", wait=True, timeout=TIMEOUT)
        north.publish({"y": 1})
        assert subscription.get(timeout=TIMEOUT).message == {"y": 1}
        with south.offer("exists s", lambda request: Item(dict(request.attributes), b"item"), wait=True):
            reply = north.request({"s": "A"}, trace=True)
        assert (reply.payload, reply.holder) == (b"item", "s")
        assert "passed to south, which offers it" in [step.what for step in reply.steps]
        traced = north.trace({"y": 1}, is_dry=True)
        assert [(hop.network, hop.router) for hop in traced.hops if hop.delivered][-1] == ("south", "s")
        assert traced.missing == []
