"""Chromium from the Debian packages, installed if it is missing."""

import fcntl
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from playwright.sync_api import expect, sync_playwright

TIMEOUT = 60_000  # ms; on a busy machine
INSTALL = "apt-get install --yes --no-install-recommends chromium"


expect.set_options(timeout=TIMEOUT)


@pytest.fixture(scope="session")
def chromium():
    """The path of Chromium. If it can neither be found nor installed, tests fail with the command to run."""
    if shutil.which("chromium") is None and os.geteuid() == 0 and shutil.which("apt-get"):
        with Path(tempfile.gettempdir(), "cbnet-chromium.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # several test processes may come here at once
            _install()
    path = shutil.which("chromium")
    if path is None:
        pytest.fail(f"Chromium is missing; as root, run: {INSTALL}", pytrace=False)
    return path


def _install():
    quiet = {"stdout": subprocess.DEVNULL, "env": {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}}
    if shutil.which("chromium") is None and subprocess.run(INSTALL.split(), check=False, **quiet).returncode:
        subprocess.run(["apt-get", "update"], check=False, **quiet)  # the package lists may be old
        subprocess.run(INSTALL.split(), check=False, **quiet)


@pytest.fixture(scope="module")  # its event loop runs while it is open, and other tests have their own
def browser(chromium):
    with sync_playwright() as playwright:
        # Chromium has no sandbox as root; it opens only our own pages.
        opened = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield opened
        opened.close()
