"""The verdict on an attack: each promise that is broken is named."""

from dataclasses import replace

import pytest

from cbnet.errors import InputError
from cbnet_lab.faults.attacks.attacks import ATTACKS, Attack
from cbnet_lab.faults.attacks.trial import AttackResult, Latencies, broken_promises, last_late
from cbnet_lab.faults.plans import AttacksPlan

CALM = Latencies(probes=100, p50_ms=1.0, p99_ms=3.0, max_ms=4.0, connect_ms=5.0)
HELD = AttackResult(
    attack="messages", seconds=1.0, load=0.1, busy=0.1, before=CALM, during=CALM, lost=0, memory_before_mb=80.0,
    memory_peak_mb=90.0, memory_after_mb=85.0, dead_links=0, tracebacks=0, recovery_s=0.0, did={"messages": 10},
    told={"403 you may not": 3}, broken=[], late=[],
)  # fmt: skip
ATTACK = Attack(lambda _: [], {"messages": 10}, "may not", growth_mb=10.0, kept_mb=6.0)


def broken(row=HELD, attack=ATTACK, harm=(), refused=()):
    return [*broken_promises(row, attack, harm, refused)]


def test_an_attack_that_broke_nothing_was_held():
    assert broken() == []
    assert (HELD.problem, HELD.verdict) == (None, "held")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"did": {"messages": 9}}, "the attacker did too little to attack anything: 9 messages of 10"),
        ({"did": {}}, "the attacker did too little to attack anything: 0 messages of 10"),
        ({"told": {"200 ": 3}}, "no answer to the attacker contains `may not`"),
        ({"lost": 1}, "1 messages of the prober lost"),
        ({"dead_links": 2}, "2 links closed as dead"),
        ({"tracebacks": 1}, "1 tracebacks of routers"),
        ({"memory_peak_mb": 91.0}, "a router grew by 11 MB, of 10 allowed"),
        ({"memory_after_mb": 87.0}, "a router kept 7 MB of its growth, of 6 allowed"),
    ],
)
def test_each_broken_promise_is_named(change, said):
    assert broken(replace(HELD, **change)) == [said]


def test_harm_and_refused_clients_are_counted():
    assert broken(harm=["a receipt is wrong"] * 3) == ["a receipt is wrong (3 times)"]
    assert broken(refused=["closed"]) == ["an honest client failed: closed (1 times)"]


def test_latencies_are_judged_on_an_idle_machine_only():
    late = replace(HELD, late=["p99 of 101 ms; the goal is 100"])
    assert (late.problem, late.verdict) == ("messages: p99 of 101 ms; the goal is 100", "BROKEN")
    busy = replace(late, busy=0.51)
    assert (busy.problem, busy.verdict) == (None, "held; too busy for latencies")
    assert replace(busy, broken=["1 links closed as dead"]).verdict == "BROKEN"


def test_recovery_lasts_until_the_last_late_message():
    # 1 in time; 2 late; 3 lost, as 4 has arrived; 5 is missing for a moment, 6 for longer
    sent = {1: 10.0, 2: 11.0, 3: 12.0, 4: 13.0, 5: 13.95, 6: 13.8}
    received = {1: 10.01, 2: 11.2, 4: 13.01}
    assert last_late({n: sent[n] for n in (1, 4)}, received, 14.0) == 0.0
    assert last_late({n: sent[n] for n in (1, 2)}, received, 14.0) == 11.2
    assert last_late({n: sent[n] for n in (1, 2, 3, 4)}, received, 14.0) == 12.0
    assert last_late({n: sent[n] for n in (1, 4, 5)}, received, 14.0) == 0.0
    assert last_late(sent, received, 14.0) == 14.0


def test_attacks_are_chosen_by_name():
    assert AttacksPlan().attack == tuple(ATTACKS)
    choose = AttacksPlan.__dataclass_fields__["attack"].metadata["option"].parse
    assert choose("--attack", ("tokens", "origins", "tokens")) == ("tokens", "origins")
    with pytest.raises(InputError, match="unknown attack 'worms'; use one of conditions, "):
        choose("--attack", ("worms",))


def test_every_attack_has_a_text_and_must_do_something():
    assert all(each.text and each.least for each in ATTACKS.values())
