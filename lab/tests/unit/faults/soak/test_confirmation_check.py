"""Which confirmations are checked: those of a network that is connected, as far as its links are up."""

from support.memory_networks import Lab

from cbnet.language.message import Message
from cbnet.language.syntax.parser import parse
from cbnet.network.protocol.frames import Subscribed
from cbnet_lab.faults.soak.confirmation_check import ConfirmationCheck


def checked_after(lab, seconds):
    """Confirm a subscription to everything after some seconds; return how many messages are checked, and missed."""
    lab.clients["a"].subscribe(1, "exists x")
    lab.run(seconds)
    published = []

    def publish(client, message):
        published.append(str(len(published)).encode())
        client.publish(dict(message.attributes), published[-1])
        return published[-1]

    check = ConfirmationCheck(
        lab.memory, {f"{each}.0": lab.clients[each] for each in lab.names}, [Message({"x": 1})], publish
    )
    check.subscribed(lab.clients["a"], 1, parse("exists x"))
    lab.memory.after(0.01, lambda: lab.clients["a"].on_answer(Subscribed(1, True, 2, [])))
    lab.run(5)
    return check.checked, len(check.missed)


def test_confirmation_in_a_connected_network_is_checked():
    results = [checked_after(Lab("a-b", seed), 2) for seed in range(5)]
    assert sum(checked for checked, _ in results) > 0
    assert sum(missed for _, missed in results) == 0


def test_confirmation_is_not_checked_while_the_only_link_is_being_dialled():
    for seed in range(5):
        lab = Lab("a-b", seed)
        lab.memory.cut("a", "b")
        lab.run(2)
        lab.memory.repair("a", "b")
        assert checked_after(lab, 0.0) == (0, 0)
