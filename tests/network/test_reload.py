"""Routers in processes that read their configuration again: on SIGHUP, and on `cbnet reload`."""

import json
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest
from support.certificates import Authority
from support.router_processes import router_processes
from support.waiting import wait_until

from cbnet import connect
from cbnet.network import Tls
from cbnet.network.errors import NetworkError, NotTrusted, Refused
from cbnet.network.security.record_signatures import new_key_pair, public_key_line
from cbnet.network.security.tokens import new_token
from cbnet.network.service.reserved_ports import free_ports
from cbnet.toml_files import toml

OPERATOR, TICKER = new_token("operator"), new_token("ticker")
RIGHTS = 'publish = "true"\nsubscribe = "true"\n'


class Configured:
    """A router with a file, in a process."""

    def __init__(self, folder, name="a", **values):
        self.address = f"127.0.0.1:{free_ports(1)[0]}"
        self.file = folder / f"{name}.toml"
        self.clients = folder / "clients.toml"
        self.values = {"name": name, "listen": self.address, "clients": "clients.toml", "log": "json", **values}
        self.write()
        self.write_clients(ticker=RIGHTS)

    def write(self, **values):
        self.values |= values
        self.file.write_text("".join(f"{key} = {toml(value)}\n" for key, value in self.values.items()))

    def write_clients(self, **clients):
        tokens = {"ticker": TICKER, "operator": OPERATOR}
        tables = {"operator": "manage = true\nwatch = true\n", **clients}
        self.clients.write_text(
            "".join(f'[clients.{name}]\ntoken = "{tokens[name].hash}"\n{rights}' for name, rights in tables.items())
        )

    @contextmanager
    def running(self):
        command = [sys.executable, "-m", "cbnet", "router", "--config", str(self.file)]
        log = self.file.with_suffix(".log")
        with log.open("w") as stream:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stream, text=True)
            try:
                assert "listens on" in self.process.stdout.readline()
                yield self
            finally:
                self.process.kill()
                self.process.communicate()

    def events(self, name):
        lines = self.file.with_suffix(".log").read_text().splitlines()
        return [event for line in lines if (event := json.loads(line))["event"] == name]

    def connect(self, token=TICKER, **options):
        return connect(self.address, token=token.token, **options)

    def command(self, *arguments):
        command = [sys.executable, "-m", "cbnet", *arguments, "--router", self.address, "--token", OPERATOR.token]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        return done.returncode, done.stdout, done.stderr

    def reload(self):
        return self.command("reload", "--confirm", self.values["name"])


@pytest.fixture
def router(tmp_path):
    with Configured(tmp_path).running() as running:
        yield running


def test_rights_change_and_connections_stay(router):
    with router.connect() as client:
        narrow, wide = client.subscribe("x = 1", wait=True), client.subscribe("x > 0", wait=True)
        router.write_clients(ticker='publish = "true"\nsubscribe = "x = 1"\n')
        assert router.reload() == (0, "a: clients: changed ticker\n", "")
        with pytest.raises(Refused, match="you may only subscribe to `x = 1`"):
            wide.get(timeout=60)
        client.publish({"x": 1}, b"still here")
        assert narrow.get(timeout=60).payload == b"still here"
        assert client.reconnects == 0


def test_removed_client_is_closed_with_the_reason(router):
    with router.connect() as client:
        subscription = client.subscribe("x = 1", wait=True)
        router.write_clients()
        assert router.reload() == (0, "a: clients: removed ticker\n", "")
        with pytest.raises(NetworkError, match=r"refuses this client: (the client 'ticker' was removed|unknown token)"):
            subscription.get(timeout=60)
    router.write_clients(ticker=RIGHTS)
    assert router.reload() == (0, "a: clients: added ticker\n", "")
    with router.connect() as client:
        client.publish({"x": 1}, wait=True)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (
            lambda router: router.clients.write_text("[clients.a\n"),
            "clients.toml:1:11: not TOML: Expected ']' at the end of a table declaration",
        ),
        (
            lambda router: router.write_clients(ticker='publsh = "true"\n'),
            "clients.toml:5: unknown key 'publsh' in [clients.ticker]; did you mean 'publish'?",
        ),
        (lambda router: router.write(trees=2), "trees is 2 in "),
        (
            lambda router: router.write(queue_bytes=0),
            "a.toml:5: `queue_bytes` is 0",
        ),
    ],
)
def test_mistake_changes_nothing_and_is_explained(router, change, reason):
    with router.connect() as client:
        subscription = client.subscribe("x = 1", wait=True)
        change(router)
        code, out, error = router.reload()
        assert (code, out) == (1, "")
        assert error.startswith(f"error: {router.address}: ")
        assert reason in error
        assert error.endswith("; nothing changed\n")
        client.publish({"x": 1})
        assert subscription.get(timeout=60) is not None
        assert reason in wait_until(lambda: router.events("reload failed"))[0]["reason"]
        assert router.events("reloaded") == []


def test_sighup_reloads(router):
    router.write(log_level="warning", queue_bytes=1 << 20)
    router.process.send_signal(signal.SIGHUP)
    time.sleep(0.1)
    router.write_clients(ticker=RIGHTS + "watch = true\n")
    with router.connect() as client:

        def is_reloaded():
            router.process.send_signal(signal.SIGHUP)
            return len(client.status().peers) == 1

        wait_until(is_reloaded, timeout=60)
        assert client.reconnects == 0


def test_a_router_without_a_file_logs_that_on_sighup_and_goes_on():
    with router_processes("a") as routers:
        router = routers["a"]
        router.process.send_signal(signal.SIGHUP)
        router.wait_until_ready()
        with connect(router.address) as client:
            client.publish({"x": 1}, wait=True)
        code, log = router.stop()
        reasons = [event["reason"] for event in log if event["event"] == "reload failed"]
        assert (code, reasons) == (0, ["this router has no file to reload; start the router with --config FILE"])


def test_reload_needs_the_right(router):
    with router.connect() as client, pytest.raises(Refused, match="you may not reload the configuration"):
        client.reload("a")


def test_new_certificates_are_for_new_connections(tmp_path):
    old, new = Authority(tmp_path, "old"), Authority(tmp_path, "new")
    current = tmp_path / "current.pem"
    current.write_bytes(old.issue("127.0.0.1", "a").read_bytes())
    router = Configured(tmp_path, certificate="current.pem", authority="old.pem")
    with router.running(), router.connect(tls=Tls(old.file)) as client:
        subscription = client.subscribe("x = 1", wait=True)
        current.write_bytes(new.issue("127.0.0.1", "a").read_bytes())
        with router.connect(OPERATOR, tls=Tls(old.file)) as operator:
            assert operator.reload("a") == ["certificates: read again, for new connections"]
        with pytest.raises(NotTrusted):
            router.connect(tls=Tls(old.file))
        with router.connect(tls=Tls(new.file)) as other:
            other.publish({"x": 1})
            assert subscription.get(timeout=60) is not None
        assert client.reconnects == 0


def test_neighbours_come_and_go(tmp_path):
    b = Configured(tmp_path, "b", routers=["a"])
    a = Configured(tmp_path, "a")
    with a.running(), b.running(), a.connect() as publisher, b.connect() as subscriber:
        subscription = subscriber.subscribe("x = 1", wait=True)
        a.write(neighbours={"b": b.address})
        assert a.reload() == (0, "a: neighbours: added b\n", "")
        wait_until(lambda: publisher.status().reachable == 2)
        wait_until(lambda: publisher.publish({"x": 1}) or subscription.get(timeout=0.1))
        a.write(neighbours={})
        assert a.reload() == (0, "a: neighbours: removed b\n", "")
        wait_until(lambda: publisher.status().reachable == 1)
        assert (publisher.reconnects, subscriber.reconnects) == (0, 0)


def test_keys_are_introduced_and_removed_without_a_restart(tmp_path):
    pairs = {name: new_key_pair(name) for name in "ab"}

    def list_keys(*names):
        lines = [public_key_line(name, pairs[name].public) for name in names]
        (tmp_path / "keys.toml").write_text("\n".join(["[public_keys]", *lines]))

    b = Configured(tmp_path, "b", routers=["a"])
    a = Configured(tmp_path, "a", neighbours={"b": b.address})
    list_keys("a", "b")
    with b.running(), a.running(), a.connect() as client:
        for router in (a, b):
            name = router.values["name"]
            (tmp_path / f"{name}.key").write_text(pairs[name].private)
            router.write(signing_key=f"{name}.key")
            assert router.reload()[0] == 0
        for router in (a, b):
            router.write(public_keys="keys.toml")
            name = router.values["name"]
            assert router.reload() == (0, f"{name}: public_keys: added a, b\n", "")
        wait_until(lambda: client.status().reachable == 2)
        list_keys("a")
        assert a.reload() == (0, "a: public_keys: removed b\n", "")
        wait_until(lambda: client.status().reachable == 1)
        (removed,) = a.events("record removed")
        assert (removed["owner"], removed["reason"]) == ("b", "public_keys has no key of 'b'")
        code, _, error = b.reload()
        assert (code, "write the line b = " in error) == (1, True)
        list_keys("a", "b")
        assert a.reload()[0] == 0
        wait_until(lambda: client.status().reachable == 2)
        assert client.reconnects == 0


def test_gateway_reloads_its_file(tmp_path):
    file, log = tmp_path / "gateway.toml", tmp_path / "gateway.log"
    north, south = (f"127.0.0.1:{port}" for port in free_ports(2))

    def write(outside="exact", queue_bytes=1 << 30):
        file.write_text(
            f'name = "g"\nlog = "json"\noutside = "{outside}"\nqueue_bytes = {queue_bytes}\n'
            f'[[domain]]\nnetwork = "north"\nlisten = "{north}"\n[[domain]]\nnetwork = "south"\nlisten = "{south}"\n'
        )

    def events(name):
        return [event for line in log.read_text().splitlines() if (event := json.loads(line))["event"] == name]

    write()
    with log.open("w") as stream:
        command = [sys.executable, "-m", "cbnet", "gateway", str(file)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stream, text=True)
        try:
            for _ in range(2):
                assert "listens on" in process.stdout.readline()
            write(queue_bytes=1 << 20)
            with connect(south, network="south") as client:
                assert client.reload("g") == ["queue_bytes: 1048576 instead of 1073741824"] * 2
                write(outside="names")
                with pytest.raises(
                    Refused, match="outside: 'names'; the gateway runs with 'exact'; restart the gateway"
                ):
                    client.reload("g")
                write()
                process.send_signal(signal.SIGHUP)
                wait_until(lambda: len(events("reloaded")) == 2)
                assert client.reconnects == 0
            assert len(events("reload failed")) == 1
        finally:
            process.kill()
            process.communicate()
