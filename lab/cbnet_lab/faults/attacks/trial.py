"""The trial of attacks: a ring of routers, a prober and an attacker; the figures of each attack and what it broke.

prober ──► router a ──────────── router b ──► prober      before, during and after the attack
              ▲
attacker ─────┘     memory of all routers; links that routers closed since their neighbour was silent
"""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import psutil

from cbnet_lab.bench.plans import Report
from cbnet_lab.bench.processes import WorkerProcess
from cbnet_lab.bench.result_table import ResultTable, flat, percent
from cbnet_lab.faults.attacks.attacker import DELAYED, ENDED, AttackOutcome, attack
from cbnet_lab.faults.attacks.attacks import ATTACKS, Attack
from cbnet_lab.faults.attacks.ring import SecureRing
from cbnet_lab.faults.check.checker import settled_checker
from cbnet_lab.faults.plans import AttacksPlan
from cbnet_lab.faults.prober import PROBES, Probed, probe

GOAL_MS: Final = 100.0  # p99 of the prober's messages during an attack
_MAX_BUSY: Final = 0.5  # share of the processors in use before the attack with which latencies are judged
_BEFORE, _QUIET = 0.25, 0.1  # duration of the measurement before an attack, and of the quiet time after it, as shares
_SAMPLED: Final = 0.05  # interval of samples of the memory, in seconds
_POLL: Final = 0.1  # seconds
_RECOVERY: Final = 30.0  # timeout for the prober to be served as before, in seconds
_RETURN: Final = 30.0  # timeout for memory to be returned, in seconds
_END: Final = 10.0  # timeout for messages in flight, in seconds
_SETUP: Final = 120.0  # timeout for an attack to begin, in seconds
_READY: Final = "ready"
_SHOWN: Final = 3  # answers in the table


@dataclass(frozen=True)
class Latencies:
    """Latencies of the prober's messages, in milliseconds; a message that is lost has none."""

    probes: int  # sent
    p50_ms: float | None
    p99_ms: float | None
    max_ms: float | None
    connect_ms: float  # longest wait of a new client


@dataclass(frozen=True)
class AttackResult:
    """The figures of an attack, and what it broke."""

    attack: str
    seconds: float
    load: float  # of the machine before the attack: processes that run or wait, average of a minute
    busy: float  # share of all processors in use before the attack
    before: Latencies = field(metadata=flat("before_"))
    during: Latencies = field(metadata=flat("during_"))
    lost: int  # messages of the prober
    memory_before_mb: float  # of the router that grew most
    memory_peak_mb: float
    memory_after_mb: float
    dead_links: int  # that routers closed since their neighbour was silent
    tracebacks: int  # that routers wrote
    recovery_s: float | None  # from the end of the attack until probes were served as before; None: never
    did: dict[str, int]  # by the attacker
    told: dict[str, int]  # answers to the attacker
    broken: list[str]  # promises, whatever the speed of the machine
    late: list[str]  # promises that depend on the speed of the machine

    @property
    def is_timed(self) -> bool:
        """Whether the machine was idle enough for latencies."""
        return self.busy <= _MAX_BUSY

    @property
    def problem(self) -> str | None:
        """What was broken."""
        broken = [*self.broken, *(self.late if self.is_timed else ())]
        return f"{self.attack}: {'; '.join(broken)}" if broken else None

    @property
    def verdict(self) -> str:
        """Whether the routers held."""
        if self.problem is not None:
            return "BROKEN"
        return "held" if self.is_timed else "held; too busy for latencies"


def run(plan: AttacksPlan, report: Report) -> Iterator[AttackResult]:
    """Run each attack against a ring of its own."""
    for name in plan.attack:
        report(f"{name}: starting routers")
        with AttackTrial() as trial:
            yield trial.run(name, plan.seconds, report)


def tables(plan: AttacksPlan, rows: Sequence[AttackResult]) -> Iterator[str | ResultTable[AttackResult]]:
    """Yield the figures of each attack, and what it did and was told."""
    yield ResultTable(f"Four routers, attacked for {plan.seconds:g} s; latencies in ms, memory in MB", rows, {
        "attack": "attack",
        "p50 before": "before_p50_ms", "p99": "before_p99_ms", "max": "before_max_ms",
        "p50 during": "during_p50_ms", "p99 ": "during_p99_ms", "max ": "during_max_ms",
        "probes": "during_probes", "lost": "lost",
        "memory before": "memory_before_mb", "at most": "memory_peak_mb", "after": "memory_after_mb",
        "dead links": "dead_links", "recovery, s": "recovery_s",
        "load": "load", "busy": lambda row: percent(row.busy), "verdict": "verdict",
    })  # fmt: skip
    for row in rows:
        did = ", ".join(f"{count:,} {what}" for what, count in row.did.items())
        told = sorted(row.told.items(), key=lambda item: -item[1])[:_SHOWN]
        yield f"{row.attack}: {ATTACKS[row.attack].text}. It did: {did or 'nothing'}."
        yield from (f"    told {count:,} times: {answer}" for answer, count in told)
        yield from (f"    BROKEN: {text}" for text in row.broken)
        yield from (f"    {'BROKEN' if row.is_timed else 'not judged'}: {text}" for text in row.late)


class AttackTrial(ExitStack):
    """A ring, a prober and an attacker, for one attack after another."""

    def __init__(self) -> None:
        super().__init__()
        self._checker = settled_checker(PROBES)
        self._received: dict[int, float] = {}  # time by number
        with ExitStack() as starting:
            self._ring = starting.enter_context(SecureRing(ATTACKS))
            self._prober = starting.enter_context(closing(WorkerProcess("the prober", probe, self._ring.probed)))
            self._attacker = starting.enter_context(
                closing(WorkerProcess("the attacker", attack, self._ring.target))
            )  # fmt: skip
            self._take()  # it probes from now on
            self.push(starting.pop_all())

    def run(self, name: str, seconds: float, report: Report) -> AttackResult:
        """Run an attack; return its figures."""
        ring, told = self._ring, ATTACKS[name]
        self._take()  # the messages of before do not count
        report(f"{name}: before the attack")
        load, _ = os.getloadavg()[0], psutil.cpu_percent()
        memory, dead, tracebacks = _MemoryWatch(ring), ring.dead_links(), len(ring.output.tracebacks())
        time.sleep(_BEFORE * seconds)
        before, busy = self._take(), psutil.cpu_percent() / 100
        with memory:
            report(f"{name}: attacking")
            self._attacker.send(name)
            while self._attack_event(_SETUP) != _READY:
                pass
            time.sleep(seconds)
            self._attacker.send("stop")
            while not isinstance(outcome := self._attack_event(DELAYED + 2 * ENDED), AttackOutcome):
                pass
            during = self._take()
            report(f"{name}: waiting for recovery")
            recovery, after = self._recover(_QUIET * seconds)
            lost = self._end([before, during, *after])
            ring.wait()
            memory.settle(told.kept_mb)
        dead.subtract(ring.dead_links())
        figures = self._latencies(before), self._latencies(during)
        found = AttackResult(
            attack=name,
            seconds=seconds,
            load=round(load, 2),
            busy=busy,
            before=figures[0],
            during=figures[1],
            lost=lost,
            memory_before_mb=memory.before,
            memory_peak_mb=memory.peak,
            memory_after_mb=memory.after,
            dead_links=sum(-count for count in dead.values() if count < 0),
            tracebacks=len(ring.output.tracebacks()) - tracebacks,
            recovery_s=recovery,
            did=dict(outcome.did),
            told=dict(outcome.told),
            broken=[],
            late=outcome.timed_harm,
        )
        found.broken.extend(broken_promises(found, told, outcome.harm, [*during.failures]))
        wrong = self._checker.findings.violations
        found.broken.extend(f"{len(texts):,} violations, first: {kind}: {texts[0]}" for kind, texts in wrong.items())
        wrong.clear()
        if recovery is None:
            found.late.append(f"not recovered after {_RECOVERY:g} s")
        if (figures[1].p99_ms or 0.0) > GOAL_MS:
            found.late.append(f"p99 of {figures[1].p99_ms:,.0f} ms; the goal is {GOAL_MS:g}")
        return found

    # --- the attacker

    def _attack_event(self, timeout: float) -> object:
        """Return the next message of the attacker, after doing what it asks for."""
        event = self._attacker.receive(timeout)
        if isinstance(event, tuple):
            act, router = event
            (self._ring.network.kill if act == "kill" else self._ring.network.start)(router)
            self._ring.wait()
            self._attacker.send("done")
        return event

    # --- the prober

    def _take(self) -> Probed:
        """Return what was sent since the last call, and record what was received."""
        probed: Probed = self._prober.call(True)
        self._checker.add(*probed.events())
        for number, at in probed.received:
            self._received.setdefault(number, at)
        return probed

    def _recover(self, quiet: float) -> tuple[float | None, list[Probed]]:
        """Wait until all messages arrive in time again, for a while; return the seconds, and what was sent."""
        began = late = time.monotonic()
        taken: list[Probed] = []
        while (now := time.monotonic()) - late < quiet:
            if now - began > _RECOVERY:
                return None, taken
            time.sleep(_POLL)
            taken.append(self._take())
            sent = {number: at for each in taken for number, at in each.sent}
            late = max(late, last_late(sent, self._received, time.monotonic()))
        return round(late - began, 2), taken

    def _end(self, taken: Sequence[Probed]) -> int:
        """Wait for the messages in flight; return the number of lost ones."""
        end = time.monotonic() + _END
        sent = {number for each in taken for number, _ in each.sent}
        while (missing := sent - self._received.keys()) and time.monotonic() < end:
            time.sleep(_POLL)
            self._take()
        return len(missing)

    def _latencies(self, probed: Probed) -> Latencies:
        found = [1000 * (self._received[number] - at) for number, at in probed.sent if number in self._received]
        p50, p99, longest = np.percentile(found, (50, 99, 100)).tolist() if found else (None, None, None)
        return Latencies(len(probed.sent), p50, p99, longest, probed.waits.connect_ms)


def last_late(sent: Mapping[int, float], received: Mapping[int, float], now: float) -> float:
    """Return the last time at which a message was late: until it arrived, or when it was sent if it is lost.

    Messages arrive in order, so one is lost when a later one has arrived.
    """
    newest, late = max(received, default=0), 0.0
    for number, at in sent.items():
        arrived = received.get(number, now)
        if arrived - at > GOAL_MS / 1000:
            late = max(late, arrived if number in received or number > newest else at)
    return late


class _MemoryWatch:
    """The memory of the router that grows most, before, during and after a `with` block."""

    def __init__(self, ring: SecureRing) -> None:
        self._ring = ring
        self._is_over = threading.Event()
        self._first = ring.memory_mb()
        self._peak = dict(self._first)
        self.before = self.peak = self.after = 0.0  # of that router
        self._thread = threading.Thread(target=self._watch, daemon=True, name="cbnet-memory")

    def __enter__(self) -> None:
        self._thread.start()

    def settle(self, kept: float | None) -> None:
        """Wait until the memory has been returned, except so many megabytes; None: do not wait."""
        end = time.monotonic() + _RETURN
        while kept is not None and time.monotonic() < end:
            now = self._ring.memory_mb()
            if all(now[name] <= first + kept for name, first in self._first.items()):
                return
            time.sleep(_POLL)

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()
        largest = max(self._peak, key=lambda name: self._peak[name] - self._first[name])
        self.before, self.peak = self._first[largest], self._peak[largest]
        self.after = self._ring.memory_mb()[largest]

    def _watch(self) -> None:
        while not self._is_over.wait(_SAMPLED):
            for name, megabytes in self._ring.memory_mb().items():
                self._peak[name] = max(self._peak[name], megabytes)


def broken_promises(row: AttackResult, attack: Attack, harm: Sequence[str], refused: Sequence[str]) -> Iterator[str]:
    """Yield the broken promises that do not depend on the speed of the machine."""
    yield from attack.missing(row.did, row.told)
    for text, count in Counter(harm).items():
        yield f"{text} ({count:,} times)"
    for text, count in Counter(refused).items():
        yield f"an honest client failed: {text} ({count:,} times)"
    if row.lost:
        yield f"{row.lost:,} messages of the prober lost"
    if row.dead_links:
        yield f"{row.dead_links:,} links closed as dead"
    if row.tracebacks:
        yield f"{row.tracebacks:,} tracebacks of routers"
    if (growth := row.memory_peak_mb - row.memory_before_mb) > attack.growth_mb:
        yield f"a router grew by {growth:,.0f} MB, of {attack.growth_mb:,.0f} allowed"
    kept = row.memory_after_mb - row.memory_before_mb
    if attack.kept_mb is not None and kept > attack.kept_mb:
        yield f"a router kept {kept:,.0f} MB of its growth, of {attack.kept_mb:,.0f} allowed"
