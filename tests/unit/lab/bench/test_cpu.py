import os
import subprocess
import sys
import time

from cbnet.lab.bench.cpu import cpu_of, cpu_seconds, session, used_since


def test_a_busy_process_uses_time():
    own = os.getpid()
    before = cpu_of([own])
    until = time.process_time() + 0.2
    while time.process_time() < until:
        pass
    (used,) = used_since(before, [own])
    assert 0.15 <= used < 5


def test_of_a_process_that_is_not_there_nothing_is_told():
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    assert cpu_seconds(ended.pid) is None
    assert used_since(cpu_of([ended.pid]), [ended.pid]) == []


def test_a_session_has_all_that_its_leader_started():
    leader = subprocess.Popen(["sh", "-c", "sleep 30 & echo; wait"], stdout=subprocess.PIPE, start_new_session=True)
    try:
        leader.stdout.readline()
        assert len(session(leader.pid)) == 2
    finally:
        os.killpg(leader.pid, 9)
        leader.wait()
        leader.stdout.close()
