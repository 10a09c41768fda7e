"""A self-signed certificate for 127.0.0.1, made for one run."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from cbnet.errors import CbnetError, InputError

PROGRAM = "openssl"


@dataclass(frozen=True)
class Certificate:
    """The files of a certificate, which clients trust, and of its key."""

    file: str
    key: str


def new_certificate(folder: Path) -> Certificate:
    """Create a certificate with an elliptic key, valid for a day."""
    if shutil.which(PROGRAM) is None:
        raise InputError(f"TLS needs {PROGRAM}, which is not installed", hint="leave out the case tls")
    made = Certificate(str(folder / "certificate.pem"), str(folder / "key.pem"))
    new_key = ("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1")
    names = ("-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1")
    command = [PROGRAM, *new_key, *names, "-keyout", made.key, "-out", made.file]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    if ran.returncode:
        raise CbnetError(f"{PROGRAM} failed: {ran.stderr.strip()}")
    return made
