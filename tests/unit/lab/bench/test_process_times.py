import os
import subprocess
import sys
import time

from cbnet.lab.bench.process_times import used_by


def test_own_time_is_told_from_that_of_started_processes():
    before = used_by(os.getpid())
    while used_by(os.getpid()).own - before.own < 0.1:
        pass
    spent = used_by(os.getpid()) - before
    assert spent.own >= 0.1
    code = "import time, sys\nwhile time.process_time() < 0.3: pass\nprint('done', flush=True)\nsys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout.readline() == b"done\n"
        time.sleep(0.05)
        during = used_by(os.getpid()) - before
        child.stdin.close()
    assert during.started - spent.started >= 0.25
