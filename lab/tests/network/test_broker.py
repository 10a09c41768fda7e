import os
from pathlib import Path

import pytest

from cbnet.errors import CbnetError, InputError
from cbnet.network.client.load_clients import STAMP, DeliveryCount, Order
from cbnet_lab.bench.network import broker as brokers
from cbnet_lab.bench.network import broker_load
from cbnet_lab.bench.network.broker import broker_process, find_broker
from cbnet_lab.bench.network.broker_load import bindings


@pytest.fixture
def programs(monkeypatch, tmp_path):
    """Return the path of a start script that fails, with an epmd beside it that runs."""
    epmd, script = tmp_path / "epmd", tmp_path / "rabbitmq-server"
    epmd.write_text("#!/bin/sh\nexec sleep 100\n")
    script.write_text("#!/bin/sh\necho cannot do that\nexit 3\n")
    for each in (epmd, script):
        each.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return str(script)


def test_everything_of_a_broker_is_in_its_folder_and_on_loopback(programs):
    broker = broker_process(programs)
    environment = broker.setup.environment
    folder = environment["HOME"]
    assert {environment[f"RABBITMQ_{name}_BASE"] for name in ("MNESIA", "LOG")} == {folder}
    assert environment["RABBITMQ_CONFIG_FILE"].startswith(folder)
    assert environment["RABBITMQ_ENABLED_PLUGINS_FILE"].startswith(folder)
    assert environment["RABBITMQ_NODE_IP_ADDRESS"] == environment["ERL_EPMD_ADDRESS"] == "127.0.0.1"
    assert str(os.getpid()) in environment["RABBITMQ_NODENAME"]
    ports = {environment[name] for name in ("RABBITMQ_NODE_PORT", "RABBITMQ_DIST_PORT", "ERL_EPMD_PORT")}
    assert len(ports) == 3
    assert not ports & {"5672", "25672", "4369"}  # those of an installed one
    broker.close()
    assert not Path(folder).exists()


def test_a_broker_that_does_not_start_is_an_error_and_leaves_nothing(programs):
    broker = broker_process(programs)
    folder = broker.setup.environment["HOME"]
    with pytest.raises(CbnetError, match="rabbitmq-server did not start: cannot do that"), broker:
        pass
    assert not Path(folder).exists()
    assert all(process.poll() is not None for process in broker._processes)


def test_debians_script_is_preferred_to_what_stands_in_the_path(monkeypatch, tmp_path):
    installed = tmp_path / "installed"
    installed.touch(0o755)
    monkeypatch.setattr(brokers, "_SCRIPTS", (str(installed),))
    assert find_broker() == str(installed)
    monkeypatch.setattr(brokers, "_SCRIPTS", ())
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_broker() is None


def test_equalities_are_bindings_and_nothing_else_is():
    assert bindings(['a = "x" or b = 2 and c = true']) == [{"a": "x"}, {"b": 2, "c": True}]
    for text in ("a < 3", "#tag", 'a = 1 and b ^= "x"', "exists a"):
        with pytest.raises(InputError, match="a headers exchange cannot express"):
            bindings([text])


class HeadersExchange:
    """A connection, its channel and the broker behind it: one headers exchange, with x-match all."""

    def __init__(self):
        self.bound, self.consumers, self.published = [], {}, []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def channel(self):
        return self

    def queue_declare(self, queue):
        self.consumers[queue] = None

    def queue_bind(self, queue, exchange, arguments):
        assert (exchange, arguments.pop("x-match")) == ("x", "all")
        self.bound.append((queue, arguments))

    def basic_consume(self, queue, callback, auto_ack):
        assert auto_ack
        self.consumers[queue] = callback

    def basic_publish(self, exchange, key, body, properties):
        assert (exchange, key, properties.delivery_mode) == ("x", "", 1)
        self.published.append((properties.headers, body))

    def process_data_events(self, _seconds):
        for headers, body in self.published:
            for queue in dict.fromkeys(q for q, wanted in self.bound if wanted.items() <= headers.items()):
                self.consumers[queue](self, None, None, body)
        self.published = []


def test_clients_publish_numbered_messages_and_note_what_they_consume(monkeypatch):
    broker = HeadersExchange()
    monkeypatch.setattr(broker_load, "connected", lambda _port: broker)
    tally, answers = DeliveryCount([0]), []
    contents = [{"symbol": "a", "price": 0.5}, {"symbol": "b", "price": 1.5}]
    orders = iter([Order(10, 4, window=100), "end"])
    broker_load.publish(0, "x", contents, [1, 1], 32, tally, lambda: next(orders), answers.append)
    assert [STAMP.unpack_from(body)[0] for _, body in broker.published] == [10, 11, 12, 13]
    assert {len(body) for _, body in broker.published} == {32}
    commands = iter([None, "report", "end"])
    share = [(0, [{"symbol": "a"}, {"symbol": "z"}]), (7, [{"symbol": "b"}])]
    broker_load.receive(0, "x", share, 0, tally, lambda: next(commands), answers.append)
    ready, timing, ready_too, received = answers
    assert (ready, ready_too, timing.late) == ("ready", "ready", 0.0)
    assert list(received.subscribers) == [0, 7, 0, 7]
    assert tally.total() == 4
