"""The commands of the README's first screen, run in a copy of the checkout.

The environment is that of the tests, which `make test` has set up by the same rules.
"""

import os
import re
import shutil
import subprocess
import sys
import venv
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


def run(folder, *command, code=0, **variables):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=os.environ | variables, check=False)
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr


def test_every_command_of_the_first_screen_is_run_here():
    assert COMMANDS == [
        "make demo", ".venv/bin/cbnet demo --quick", ".venv/bin/cbnet --help", "make build", "make test",
    ]  # fmt: skip  # the last of them runs this


def test_demo_checks_every_delivery(checkout):
    shown = run(checkout, "make", "demo")
    for count in ("missed", "spurious", "duplicates"):
        assert re.search(rf"│ {count} +│ +0 │", shown), shown


def test_first_part_and_help(checkout):
    assert "30 messages, 8 receivers, 50 deliveries" in run(checkout, ".venv/bin/cbnet", "demo", "--quick")
    assert "match" in run(checkout, ".venv/bin/cbnet", "--help")


def test_wheel_alone_has_the_product_and_names_the_laboratory(checkout, tmp_path):
    run(checkout, "make", "build")
    product, laboratory = sorted((checkout / "dist").glob("*.whl"))
    assert (product.name.split("-")[0], laboratory.name.split("-")[0]) == ("cbnet", "cbnet_lab")
    checked = run(checkout, sys.executable, ".ci/check_wheels.py", "dist")
    assert "all complete" in checked
    venv.create(tmp_path / "env", with_pip=True)
    python = tmp_path / "env/bin/python"
    run(tmp_path, python, "-m", "pip", "install", "--quiet", product)
    assert "Laboratory" not in run(tmp_path, "env/bin/cbnet", "--help")
    assert "pip install ./lab" in run(tmp_path, "env/bin/cbnet", "bench", code=2)
    assert (
        run(tmp_path, python, "-c", "import cbnet; print(cbnet.Table.build({1: 'x > 5'}).match({'x': 6}))") == "[1]\n"
    )
