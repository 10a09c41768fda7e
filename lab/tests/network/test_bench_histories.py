"""Histories over real processes: kill -9, SIGSTOP, broken links, full disks and torn journals, each checked."""

import json
from dataclasses import replace

from cbnet.network.transport.journals.sqlite_journal import FILE
from cbnet_lab.bench.plan_options import Routing
from cbnet_lab.faults import process_history
from cbnet_lab.faults.check.checker import check_record
from cbnet_lab.faults.driver.driver import Fault
from cbnet_lab.faults.driver.processes import ProcessFaults, committed_end
from cbnet_lab.faults.history_plan import HistoryPlan, PlannedSubscription
from cbnet_lab.faults.process_history import run_process_history
from cbnet_lab.faults.record import FIRST

HOME = PlannedSubscription("all", "r1", "k >= 0", ["c0"])
READER = PlannedSubscription("log of r1", "r1", "k in (0, 2, 4)", ["reader"], "replay", FIRST)


def plan(*faults, seconds, others=()):
    """Return a plan of two routers: publishers at r0, a durable subscription and others at r1."""
    logs = {each.home: "k >= 0" for each in others}
    return HistoryPlan(["r0", "r1"], [("r0", "r1")], [HOME, *others], {"p0": ["r0"]}, faults, seconds, logs)


def test_no_fault_of_processes_links_and_disks_loses_what_was_acknowledged(monkeypatch):
    faults = [
        Fault(at, kind, of, 0.7)
        for at, kind, of in (
            (3.5, "torn write", "r1"), (5.0, "full disk", "r1"), (5.2, "slow link", "r0-r1"), (6.5, "stop", "r1"),
            (6.6, "leave", "c0"), (6.7, "leave", "reader"), (8.0, "cut", "r0-r1"), (8.1, "kill", "r0"),
        )
    ]  # fmt: skip
    monkeypatch.setattr(HistoryPlan, "of_processes", lambda _: plan(*faults, seconds=9.0, others=[READER]))
    check = check_record(run_process_history(0, Routing(1)))
    assert check.violations == {}
    assert check.counts["stored"] > 20
    assert check.counts["due"] == check.counts["stored"]
    assert check.counts["replayed"] > 10
    assert {"torn write", "full disk", "slow link", "stop", "leave", "cut", "kill"} <= set(check.faults)


def test_no_fault_of_the_database_of_a_home_group_loses_what_was_acknowledged(monkeypatch):
    """A subscription of another account is often full, and loses nothing of the others."""
    faults = [
        Fault(at, kind, of, seconds)
        for at, kind, of, seconds in (
            (3.5, "database away", "g", 0.7), (3.6, "kill", "r1", 0.1), (5.5, "database silent", "g", 0.5),
            (6.5, "failover", "g", 0.1), (7.5, "stop", "r0", 3.5),
        )
    ]  # fmt: skip
    full = PlannedSubscription("full", "g", "k < 2", ["limited"], limit=3)
    of_processes = HistoryPlan(
        ["r0", "r1"], [("r0", "r1")], [replace(HOME, home="g"), full], {"p0": ["r1", "r0"]}, faults, 11.0,
        groups={"g": ["r0", "r1"]}, database="replicated",
    )  # fmt: skip
    monkeypatch.setattr(HistoryPlan, "of_processes", lambda _: of_processes)
    check = check_record(run_process_history(0, Routing(1)))
    assert check.violations == {}
    assert check.counts["stored"] > 20
    assert check.counts["refused by others"] > 0
    assert {"database away", "database silent", "failover", "kill", "stop"} <= set(check.faults)


def test_a_disk_that_loses_a_synced_transaction_is_found(monkeypatch):
    def lose(self, fault):
        log = self.network.journals / fault.of / f"{FILE}-wal"
        data = log.read_bytes()
        log.write_bytes(data[: committed_end(log) // 2])
        self.network.start(fault.of)

    # Routers that have just started answer after 3 s.
    away, kill = Fault(0.1, "leave", "c0", 6.0), Fault(5.0, "kill", "r1", 0.5)

    monkeypatch.setattr(HistoryPlan, "of_processes", lambda _: plan(away, kill, seconds=7.0))
    monkeypatch.setattr(process_history, "_DRAIN", 3.0)
    monkeypatch.setattr(ProcessFaults, "end", lose)
    check = check_record(run_process_history(0, Routing(1)))
    assert "lost" in check.violations


def test_an_exception_in_a_router_is_a_violation(monkeypatch, tmp_path, capfd):
    """The process goes on: its event loop only logs the exception."""
    (tmp_path / "sitecustomize.py").write_text(
        "import asyncio\n"
        "from cbnet.network.durable.home import Home\n"
        "finish = Home.finish_turn\n"
        "def finish_turn(self):\n"
        "    Home.finish_turn = finish\n"
        "    asyncio.get_running_loop().call_soon(lambda: 1 // 0)\n"
        "    finish(self)\n"
        "Home.finish_turn = finish_turn\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(HistoryPlan, "of_processes", lambda _: plan(seconds=1.0))
    found = check_record(run_process_history(0, Routing(1))).violations
    assert list(found) == ["crashed"]
    assert "ZeroDivisionError" in found["crashed"][0]
    assert "Traceback" in capfd.readouterr().err


def test_a_router_that_does_not_start_again_is_a_violation(cbnet, monkeypatch):
    def garble(self, fault):
        (self.network.journals / fault.of / FILE).write_bytes(b"garbage" * 1000)
        (self.network.journals / fault.of / f"{FILE}-wal").unlink()
        self.network.start(fault.of)

    monkeypatch.setattr(HistoryPlan, "of_processes", lambda _: plan(Fault(0.5, "kill", "r1", 0.2), seconds=1.0))
    monkeypatch.setattr(ProcessFaults, "end", garble)
    outcome = cbnet("bench", "histories", "--histories", 1, "--trees", "1", "--json")
    assert outcome.code == 1
    row = json.loads(outcome.out.splitlines()[0])
    assert (row["kind"], list(row["violations"])) == ("processes", ["failed"])
    assert "damaged" in row["violations"]["failed"][0]
