import os
import subprocess
import sys
import time

import pytest

from cbnet.errors import CbnetError
from cbnet_lab.bench.timing import cpu_meter, process_tree_time


def test_a_busy_process_uses_time():
    used = cpu_meter([os.getpid()])
    until = time.process_time() + 0.2
    while time.process_time() < until:
        pass
    assert 0.15 <= used()[0] < 5


def test_an_ended_process_has_no_time():
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    with pytest.raises(CbnetError, match=f"process {ended.pid} has ended"):
        cpu_meter([ended.pid])


def test_time_of_descendants_is_separate_from_own_time():
    own_before, descendants_before = process_tree_time(os.getpid())
    code = "import time, sys\nwhile time.process_time() < 0.3: pass\nprint('done', flush=True)\nsys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout.readline() == b"done\n"
        own, descendants = process_tree_time(os.getpid())
        child.stdin.close()
    assert descendants - descendants_before >= 0.25
    assert own - own_before < 0.25
