"""The commands of the README's first screen, run in a copy of the checkout.

The environment is that of the tests, which `make test` has set up by the same rules.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BLOCK = re.search(r"^## Try it\n.*?^```text\n(.*?)^```", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
COMMANDS = [line.partition("#")[0].strip() for line in BLOCK[1].splitlines()]


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    folder = tmp_path_factory.mktemp("checkout")
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (ROOT / name).is_file():  # not one that is deleted and not yet committed
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    (folder / ".venv").symlink_to(sys.prefix)
    return folder


def run(folder, *command):

    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done


def test_every_command_of_the_first_screen_is_run_here():
    *here, last = COMMANDS
    assert here == ["make demo", ".venv/bin/cbnet demo --quick", ".venv/bin/cbnet --help"]
    assert last == "make test"  # which runs this


def test_demo_checks_every_delivery(checkout):
    done = run(checkout, "make", "demo", "--old-file", ".venv/dev")  # never install the copy
    for count in ("missed", "spurious", "duplicates"):
        assert re.search(rf"^ *{count} +0 *$", done.stdout, re.MULTILINE), done.stdout
    assert int(re.search(r"^ *delivered +([\d,]+) *$", done.stdout, re.MULTILINE)[1].replace(",", "")) > 1000
    for said in ("Messages", "A small Internet", "Table 1: router", "10,880,657", "60 routers", "Path of one message"):
        assert said in done.stdout
    assert "Every message reached exactly the nodes" in done.stdout
    first, second, *steps = done.stderr.splitlines()
    assert first == "starting Spark …"
    assert second.startswith("Spark ")
    assert all(line.endswith(" …") for line in steps), done.stderr  # progress, and nothing else


def test_first_part_and_help(checkout):
    assert "30 messages, 8 receivers, 50 deliveries" in run(checkout, ".venv/bin/cbnet", "demo", "--quick").stdout
    assert "match" in run(checkout, ".venv/bin/cbnet", "--help").stdout
