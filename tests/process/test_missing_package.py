import subprocess
import sys


def test_command_without_its_package_ends_in_one_line():
    code = "import runpy, sys; sys.modules['psutil'] = None; runpy.run_module('cbnet', run_name='__main__')"
    command = [sys.executable, "-c", code, "bench", "router", "--seconds", "1"]  # other tests keep their modules
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "error: `cbnet bench` needs psutil; pip install 'cbnet[lab]'\n"
