import os
import subprocess
import sys
import time

from cbnet_lab.bench.cpu import cpu_of, cpu_seconds, process_tree_time, used_since


def test_a_busy_process_uses_time():
    own = os.getpid()
    before = cpu_of([own])
    until = time.process_time() + 0.2
    while time.process_time() < until:
        pass
    (used,) = used_since(before, [own])
    assert 0.15 <= used < 5


def test_an_ended_process_has_no_time():
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    assert cpu_seconds(ended.pid) is None
    assert used_since(cpu_of([ended.pid]), [ended.pid]) == []


def test_time_of_descendants_is_separate_from_own_time():
    before = process_tree_time(os.getpid())
    code = "import time, sys\nwhile time.process_time() < 0.3: pass\nprint('done', flush=True)\nsys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout.readline() == b"done\n"
        used = process_tree_time(os.getpid()) - before
        child.stdin.close()
    assert used.descendants >= 0.25
    assert used.own < 0.25
