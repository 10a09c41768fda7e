"""`cbnet offer` ends when its offer does; the rest is tested with a network."""

from queue import Queue
from types import SimpleNamespace

import pytest

from cbnet.cli.network import offer as module
from cbnet.language import Message
from cbnet.network import Refused


def test_an_offer_that_is_refused_later_ends_the_command_after_the_last_answer(monkeypatch, capsys):
    monkeypatch.setattr(module, "_POLL_INTERVAL", 0.01)
    answered = Queue()
    answered.put((Message({"x": 1}), None))
    offered = SimpleNamespace(failure=Refused("you may not offer anything"))
    with pytest.raises(Refused, match="you may not offer anything"):
        module._print_all(offered, answered, None, as_json=False)
    assert capsys.readouterr().out == "x = 1  no item\n"
