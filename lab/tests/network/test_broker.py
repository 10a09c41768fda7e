import os
from pathlib import Path

import pytest

from cbnet.errors import CbnetError, InputError
from cbnet_lab.bench.network import broker as brokers
from cbnet_lab.bench.network.broker import Broker, find_broker
from cbnet_lab.bench.network.broker_load import bindings


def test_all_that_a_broker_is_told_is_of_this_run_and_on_loopback():
    broker = Broker("/bin/true")
    told = broker.environment()
    folder = told["HOME"]
    assert {told[f"RABBITMQ_{name}_BASE"] for name in ("MNESIA", "LOG")} == {folder}
    assert told["RABBITMQ_CONFIG_FILE"].startswith(folder)
    assert told["RABBITMQ_ENABLED_PLUGINS_FILE"].startswith(folder)
    assert told["RABBITMQ_NODE_IP_ADDRESS"] == told["ERL_EPMD_ADDRESS"] == "127.0.0.1"
    assert str(os.getpid()) in told["RABBITMQ_NODENAME"]
    ports = {told[name] for name in ("RABBITMQ_NODE_PORT", "RABBITMQ_DIST_PORT", "ERL_EPMD_PORT")}
    assert len(ports) == 3
    assert not ports & {"5672", "25672", "4369"}  # those of an installed one
    broker.close()
    assert not Path(folder).exists()


def test_a_broker_that_does_not_start_is_told_and_leaves_nothing(monkeypatch, tmp_path):
    epmd = tmp_path / "epmd"
    epmd.write_text("#!/bin/sh\nexec sleep 100\n")
    script = tmp_path / "rabbitmq-server"
    script.write_text("#!/bin/sh\necho cannot do that\nexit 3\n")
    for each in (epmd, script):
        each.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    broker = Broker(str(script))
    folder = broker.environment()["HOME"]
    with pytest.raises(CbnetError, match="the broker did not start: cannot do that"), broker:
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
